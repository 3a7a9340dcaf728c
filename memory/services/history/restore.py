"""Restore: an entry as one of its revisions had it, forgotten or not. The way back is a revision too."""

from collections.abc import Sequence
from uuid import UUID

from django.utils.translation import gettext as _

from config.retry import retry_on_conflict
from memory.core.errors import NotFound
from memory.core.policy import check_value
from memory.core.records import MemoryEntry
from memory.models import Entry, Namespace, Revision
from memory.models.entries import Operation
from memory.providers.postgres import bulk, rows
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import MemoryGateway, get_entry_namespace
from memory.services.gateway.namespace_access import NamespaceAccess


@retry_on_conflict
def restore(
    caller: MemoryCaller, *, entry_id: UUID | str, revision: int | None = None, reason: str = ""
) -> MemoryEntry:
    """Without a number: what the entry was before it was forgotten, or as it is."""
    with MemoryGateway(caller).open_namespace(
        "write", "memory.restored", namespace=get_entry_namespace(caller, entry_id)
    ) as access:
        namespace = access.claim()
        entry = Entry.objects.unscoped().get(namespace=namespace, pk=UUID(str(entry_id)))
        wanted = Revision.objects.unscoped().filter(
            entry=entry, number=entry.revision if revision is None else revision
        )
        return put_back(access, namespace, entry, wanted.first(), reason)


def put_back(
    access: NamespaceAccess,
    namespace: Namespace,
    entry: Entry,
    wanted: Revision | None,
    reason: str,
    change_id: UUID | None = None,
) -> MemoryEntry:
    if wanted is None:
        raise NotFound(_("Revision not found."))
    check_value(access.policy, wanted.value)
    before = entry.revision
    act = access.act(Operation.RESTORE, reason, change_id)
    entry = rows.put_back(namespace, entry, wanted, act, access.policy)
    access.detail.update(entry=str(entry.pk), before=before, after=entry.revision, to=wanted.number)
    return rows.entry_of(entry, namespace.text)


def put_back_all(
    access: NamespaceAccess, namespace: Namespace, pairs: Sequence[bulk.Returning], reason: str
) -> None:
    """Each entry as its revision has it, all or none, as one act. They were read under the lock."""
    for _entry, wanted in pairs:
        check_value(access.policy, wanted.value)
    bulk.put_back(namespace, pairs, access.act(Operation.RESTORE, reason), access.policy)
