"""Creates the rows of files with their contents, and finds those that a run may read."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from config.ids import uuid7
from workflows.engine.files.media_types import clean_name, detect_type
from workflows.engine.language.document import Json
from workflows.engine.language.values import is_file
from workflows.files import contents
from workflows.files.limits import check_quota, check_size
from workflows.files.values import find_id
from workflows.models import Run, StoredFile
from workflows.models.personal import match_keys_like


# A file that no run has used by then is removed.
UNUSED_FOR: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Owner:
    """The person a file belongs to, and the member or API key that stored it."""

    team_id: UUID
    subject: str
    subject_user_id: UUID | None = None
    started_by_id: UUID | None = None
    api_key_id: UUID | None = None

    @classmethod
    def of_run(cls, team_id: UUID, row: Mapping[str, Json]) -> "Owner":
        """Return the owner of the files of a run, from the run's row."""
        ids = ("subject_user_id", "started_by_id", "api_key_id")
        users = (UUID(str(row[name])) if row[name] else None for name in ids)
        return cls(team_id, str(row["subject"]), *users)

    def match(self) -> Q:
        """Return the condition for the files of this person that the same member brought, or a key of the same service account."""
        own = Q(team_id=self.team_id, subject=self.subject, removed_at__isnull=True)
        if self.api_key_id is not None:
            return own & match_keys_like(self.api_key_id)
        return own & (Q(started_by_id=self.started_by_id) | Q(subject_user_id=self.started_by_id))


def create_file(
    owner: Owner,
    content: bytes,
    name: str,
    *,
    origin: StoredFile.Origin = StoredFile.Origin.UPLOAD,
    run_ids: Sequence[UUID] = (),
) -> StoredFile:
    """Store a content with its row, in the tenant's transaction. Raises FileRefused for one that is too large.

    If the transaction is rolled back, the content has no row, and upkeep deletes it. A content for a bucket divides the
    transaction, if it may pause: nobody who waits for the bucket holds a connection, or the lock of the quota.
    """
    is_for_runs = origin is not StoredFile.Origin.DOCUMENT
    media_type = detect_type(content, name)
    check_size(len(content), media_type.kind)
    check_quota(owner.team_id, len(content))
    file = StoredFile(
        id=uuid7(),
        team_id=owner.team_id,
        subject=owner.subject,
        subject_user_id=owner.subject_user_id,
        started_by_id=owner.started_by_id,
        api_key_id=owner.api_key_id,
        name=clean_name(name),
        extension=media_type.extension,
        media_type=media_type.name,
        kind=media_type.kind,
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        path=contents.make_path(owner.team_id),
        origin=origin,
        run_ids=[*run_ids],
        expires_at=timezone.now() + UNUSED_FOR if not run_ids and is_for_runs else None,
    )
    contents.write(file.path, content)
    if contents.is_outside():
        check_quota(owner.team_id, len(content))  # others may have stored files meanwhile
    file.save(force_insert=True)
    return file


def find_file(owner: Owner, file_id: UUID | None) -> StoredFile | None:
    """Return a file of this owner; None if there is none with this id, or it is another's."""
    if file_id is None:
        return None
    return StoredFile.objects.unscoped().filter(owner.match(), pk=file_id).first()


def note_child(owner: Owner, values: Iterable[Json], run_id: UUID) -> None:
    """Note a child run at the files that it is given, which are kept as long as one of their runs."""
    ids = list_file_ids(values)
    if not ids:
        return
    rows = StoredFile.objects.unscoped().filter(owner.match(), pk__in=ids)
    for file in rows.select_for_update(of=("self",)).order_by("pk"):
        if run_id not in file.run_ids:
            file.run_ids = [*file.run_ids, run_id]
            file.save(update_fields=["run_ids"])


def list_with_parents(run_id: UUID) -> list[UUID]:
    """Return the ids of a run and of the runs around it: what a child stores may be an output of its parent."""
    ids: list[UUID] = []
    next_id: UUID | None = run_id
    while next_id is not None and next_id not in ids:
        ids.append(next_id)
        next_id = (
            Run.objects.unscoped().filter(pk=next_id).values_list("parent_id", flat=True).first()
        )
    return ids


def list_file_ids(values: Iterable[Json]) -> list[UUID]:
    """Return the ids of the stored files anywhere in these values."""
    ids: dict[UUID, None] = {}
    stack = [*values]
    while stack:
        value = stack.pop()
        if isinstance(value, Mapping):
            file_id = find_id(value) if is_file(value) else None
            if file_id is not None:
                ids[file_id] = None
            else:
                stack += value.values()
        elif isinstance(value, list | tuple):
            stack += value
    return [*ids]
