"""Build the lines of an export from entries, revisions and reads."""

from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone

from memory.core.entry_codec import get_columns
from memory.core.records import MemoryEntry
from memory.models import Read, Revision
from memory.services.transfer import file_format


def build_entry_line(entry: MemoryEntry, forgotten_at: datetime | None) -> file_format.EntryLine:
    """Build the line of an entry. The present time replaces times that the entry lacks."""
    created_at = entry.created_at or entry.updated_at or timezone.now()
    return file_format.EntryLine(
        namespace=entry.namespace,
        id=UUID(entry.id),
        key=entry.key,
        revision=entry.revision,
        created_at=created_at,
        updated_at=entry.updated_at or created_at,
        forgotten_at=forgotten_at,
        source=file_format.Source(**asdict(entry.source)),
        **get_columns(entry),
    )


def build_revision_line(revision: Revision) -> file_format.RevisionLine:
    """Build the line of a stored revision."""
    operation: Any = revision.operation  # a database constraint allows only these words
    return file_format.RevisionLine(
        entry=revision.entry_id,
        number=revision.number,
        operation=operation,
        actor=revision.actor,
        reason=revision.reason,
        run_id=revision.run_id,
        node_id=revision.node_id,
        at=revision.at,
        **get_columns(revision),
    )


def build_external_revision_line(
    entry: MemoryEntry, value: MemoryEntry
) -> file_format.RevisionLine:
    """Build the line of a past or present value of an entry of an external provider, which counts as a revision."""
    at = value.updated_at or value.created_at or timezone.now()
    return file_format.RevisionLine(
        entry=UUID(entry.id),
        number=value.revision,
        operation="store",
        actor=value.source.actor,
        run_id=value.source.run_id,
        node_id=value.source.node_id,
        at=at,
        **get_columns(value),
    )


def build_read_line(read: Read) -> file_format.ReadLine:
    """Build the line of a recall of the entry by a run."""
    return file_format.ReadLine(
        entry=read.entry_id,
        revision=read.revision,
        run_id=read.run_id,
        node_id=read.node_id,
        score=read.score,
        injected=read.injected,
        at=read.at,
    )
