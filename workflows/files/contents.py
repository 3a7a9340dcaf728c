"""The contents of files, in a folder or in an S3-compatible bucket, behind Django's storage API.

A path consists of ids alone: the team, the day and a random name. No part of it comes from a person or a program. A bucket
is outside: while it is waited for, no database connection is held.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import date, timedelta
from functools import cache
from secrets import token_hex
from typing import Final
from uuid import UUID

from django.core.files.base import ContentFile, File
from django.core.files.storage import FileSystemStorage, Storage, storages
from django.utils import timezone

from accounts.request_transaction import without_connection


CHUNK_BYTES: Final = 64 * 1024
STORE: Final = "files"  # of ``settings.STORAGES``
# The packages of the client of S3, whose errors are no OSErrors. They are named, because they may not be installed.
_CLIENTS: Final = frozenset({"boto3", "botocore", "s3transfer"})
_SWEPT_DAYS: Final = range(2, 9)  # days ago; a younger content may belong to an open transaction


@cache
def get_storage() -> Storage:
    return storages[STORE]


def make_path(team_id: UUID) -> str:
    return f"{team_id}/{timezone.now():%Y-%m-%d}/{token_hex(20)}"


def is_outside() -> bool:
    """Return whether the contents are at a server, which may be slow, and not in a folder."""
    return not isinstance(get_storage(), FileSystemStorage)


@contextmanager
def _wait_for_store() -> Iterator[None]:
    """Give the connection back while a bucket is waited for, and turn its client's errors into OSError, as a folder has."""
    waiting = without_connection(is_required=False) if is_outside() else nullcontext()
    with waiting, _as_os_error():
        yield


@contextmanager
def _as_os_error() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in _CLIENTS:
            raise
        raise OSError(f"The bucket can't be reached: {type(error).__name__}") from error


def write(path: str, content: bytes) -> None:
    """Store a content under a new path. Raises OSError if the store can't be reached."""
    with _wait_for_store():
        stored = get_storage().save(path, ContentFile(content))
        if stored != path:  # the storage found the path taken, which a random one never is
            get_storage().delete(stored)
            raise FileExistsError(path)


def read(path: str) -> bytes:
    """Return a content. Raises FileNotFoundError, or another OSError if the store can't be reached."""
    with _wait_for_store(), open_content(path) as file:
        return bytes(file.read())


def exists(path: str) -> bool:
    with _wait_for_store():
        return get_storage().exists(path)


def open_content(path: str) -> "File[bytes]":
    with _wait_for_store():
        return get_storage().open(path, "rb")


def iter_chunks(path: str) -> Iterator[bytes]:
    """Yield a content piece by piece. It is opened when the first one is asked for."""
    with open_content(path) as file:
        while chunk := _read_chunk(file):
            yield chunk


def _read_chunk(file: "File[bytes]") -> bytes:
    with _wait_for_store():
        return bytes(file.read(CHUNK_BYTES))


def delete(path: str) -> None:
    """Delete a content. One that is gone already is no error."""
    with _wait_for_store():
        get_storage().delete(path)


def list_recent(team_id: UUID) -> Iterator[str]:
    """Yield the paths of a team's contents of the last days, without today's and yesterday's."""
    today = timezone.now().date()
    for days in _SWEPT_DAYS:
        yield from _list_day(team_id, today - timedelta(days=days))


def _list_day(team_id: UUID, day: date) -> Iterator[str]:
    folder = f"{team_id}/{day:%Y-%m-%d}"
    try:
        with _wait_for_store():
            names = get_storage().listdir(folder)[1]
    except FileNotFoundError:
        return
    yield from (f"{folder}/{name}" for name in names)
