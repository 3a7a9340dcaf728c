"""Originals of documents in knowledge bases: files of the store that belong to no run, and the reading of their text."""

import atexit
from collections.abc import Sequence
from functools import cache
from uuid import UUID

from asgiref.sync import async_to_sync
from django.db.models import QuerySet

from accounts.access import Principal
from accounts.errors import NotFound
from accounts.principals import get_key_id
from accounts.request_transaction import pausable_tenant, without_connection
from accounts.tenancy import tenant
from workflows.engine.files.ports import DocumentRequest
from workflows.files import contents
from workflows.files.records import Owner, create_file
from workflows.files.removal import remove_files
from workflows.models import StoredFile
from workflows.sandbox.documents.extractor import DocumentPool
from workflows.services import audit_lines
from workflows.services.runs.runs import resolve_subject


def store_original(principal: Principal, team_id: UUID, content: bytes, name: str) -> StoredFile:
    """Store a document for the principal. Memory has checked that they may. Raises FileRefused for one that is too large."""
    with pausable_tenant([team_id]):
        person = resolve_subject(principal, None)
        owner = Owner(team_id, person.id, person.user_id, principal.user_id, get_key_id(principal))
        file = create_file(owner, content, name, origin=StoredFile.Origin.DOCUMENT)
        audit_lines.record(principal, file, "file.uploaded", kind=file.kind, bytes=file.size)
    return file


def read_original(team_id: UUID, file_id: UUID) -> bytes:
    """Return the content of an original. Raises NotFound if it was deleted."""
    with tenant([team_id]):
        file = _select(team_id, [file_id]).first()
    try:
        if file is not None:
            return contents.read(file.path)
    except FileNotFoundError:
        pass
    raise NotFound


def remove_originals(team_id: UUID, file_ids: Sequence[UUID], *, dry_run: bool = False) -> int:
    with tenant([team_id]):
        rows = _select(team_id, file_ids)
        return rows.count() if dry_run else remove_files(team_id, rows)


def extract_text(content: bytes, name: str) -> str:
    """Return the text of a document, read in a runner. Raises DocumentUnreadable."""
    request = DocumentRequest(content, name, marks_pages=True)
    with without_connection(is_required=False):
        return async_to_sync(_get_pool().extract_text)(request)


@cache
def _get_pool() -> DocumentPool:
    """Return the runners of this process, which start with its first document."""
    pool = DocumentPool()
    atexit.register(pool.close)
    return pool


def _select(team_id: UUID, file_ids: Sequence[UUID]) -> "QuerySet[StoredFile]":
    return StoredFile.objects.unscoped().filter(
        team_id=team_id,
        pk__in=file_ids,
        origin=StoredFile.Origin.DOCUMENT,
        removed_at__isnull=True,
    )
