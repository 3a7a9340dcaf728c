"""Restore entries, forgotten or not, to earlier revisions. A restore is a new revision."""

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
from memory.services.gateway.gateway import open_entry
from memory.services.gateway.namespace_access import NamespaceAccess


@retry_on_conflict
def restore(
    caller: MemoryCaller, *, entry_id: UUID | str, revision: int | None = None, reason: str = ""
) -> MemoryEntry:
    """Restore the entry to the revision with this number. Without one, a forgotten entry gets its last state back.

    Raise NotFound if there is no such revision.
    """
    with open_entry(caller, "write", "memory.restored", entry_id) as access:
        namespace = access.claim()
        entry = Entry.objects.unscoped().get(namespace=namespace, pk=UUID(str(entry_id)))
        before = entry.revision
        number = before if revision is None else revision
        target = Revision.objects.unscoped().filter(entry=entry, number=number).first()
        if target is None:
            raise NotFound(_("Revision not found."))
        rows.expire(namespace, access.now)
        entry.refresh_from_db()
        restore_revisions(access, namespace, [(entry, target)], reason)
        access.detail.update(entry=str(entry.pk), before=before, after=entry.revision, to=number)
        return rows.build_entry(entry, namespace.text)


def restore_revisions(
    access: NamespaceAccess,
    namespace: Namespace,
    pairs: Sequence[bulk.RestorePair],
    reason: str,
    change_id: UUID | None = None,
) -> None:
    """Restore each entry to its revision, all or none, as one change. The caller has locked the namespace."""
    for entry, target in pairs:
        check_value(access.policy, target.value, key=entry.key, metadata=target.metadata)
    context = access.build_context(Operation.RESTORE, reason, change_id)
    bulk.restore_entries(namespace, pairs, context, access.policy)
