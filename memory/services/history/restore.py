"""Restore: an entry as one of its revisions had it, forgotten or not. The way back is a revision too."""

from collections.abc import Sequence
from uuid import UUID

from django.utils.translation import gettext as _

from config.again import tried_again
from memory.core.errors import NotFound
from memory.core.policy import check_value
from memory.core.records import MemoryEntry
from memory.models import Entry, Namespace, Revision
from memory.models.entries import Operation
from memory.providers.postgres import many, rows
from memory.services.caller import MemoryCaller
from memory.services.door import Door, entry_place, opened


@tried_again
def restore(
    caller: MemoryCaller, *, entry_id: UUID | str, revision: int | None = None, reason: str = ""
) -> MemoryEntry:
    """Without a number: what the entry was before it was forgotten, or as it is."""
    with opened(
        caller, "write", "memory.restored", namespace=entry_place(caller, entry_id)
    ) as door:
        namespace = door.claim()
        entry = Entry.objects.unscoped().get(namespace=namespace, pk=UUID(str(entry_id)))
        wanted = Revision.objects.unscoped().filter(
            entry=entry, number=entry.revision if revision is None else revision
        )
        return put_back(door, namespace, entry, wanted.first(), reason)


def put_back(
    door: Door,
    namespace: Namespace,
    entry: Entry,
    wanted: Revision | None,
    reason: str,
    change_id: UUID | None = None,
) -> MemoryEntry:
    if wanted is None:
        raise NotFound(_("There is no such revision."))
    check_value(door.policy, wanted.value)
    before = entry.revision
    act = door.act(Operation.RESTORE, reason, change_id)
    entry = rows.put_back(namespace, entry, wanted, act, door.policy)
    door.detail.update(entry=str(entry.pk), before=before, after=entry.revision, to=wanted.number)
    return rows.entry_of(entry, namespace.text)


def put_back_all(
    door: Door, namespace: Namespace, pairs: Sequence[many.Returning], reason: str
) -> None:
    """Each entry as its revision has it, all or none, as one act. They were read under the lock."""
    for _entry, wanted in pairs:
        check_value(door.policy, wanted.value)
    many.put_back(namespace, pairs, door.act(Operation.RESTORE, reason), door.policy)
