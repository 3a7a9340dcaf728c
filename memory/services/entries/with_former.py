"""Forget entries with what they replaced, as a person means it who forgets a phone number, and restore both."""

from collections.abc import Sequence
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.request_transaction import pausable_tenant
from config.retry import retry_on_conflict
from memory.core.errors import NotFound
from memory.models import Entry, Namespace, Revision
from memory.models.entries import Operation
from memory.providers.postgres import rows
from memory.services.entries.forget import check_entry_count, forget_selected
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import get_shared_namespace, open_entry, open_namespace
from memory.services.history.restore import restore


@retry_on_conflict
def forget_with_former(
    caller: MemoryCaller, *, entry_ids: Sequence[UUID | str], reason: str = ""
) -> None:
    """Forget entries of one namespace, and those whose place they took, as one change. Raise NotFound if one is missing."""
    check_entry_count(entry_ids)
    ids = {UUID(str(entry_id)) for entry_id in entry_ids}
    text = get_shared_namespace(caller, entry_ids)
    with open_namespace(caller, "forget", "memory.forgotten", namespace=text) as access:
        namespace = access.lock()
        replaced_ids = rows.list_replaced_ids(namespace, map(str, ids)) if namespace else []
        if namespace is None or rows.find_living(namespace).filter(pk__in=ids).count() < len(ids):
            raise NotFound(_("Memory not found. It may have been forgotten already."))
        forget_selected(access, lambda query: query.filter(pk__in=[*ids, *replaced_ids]), reason)


@retry_on_conflict
def restore_with_former(caller: MemoryCaller, *, entry_id: UUID | str, reason: str = "") -> None:
    """Restore a forgotten entry, and what it had replaced as far as the same change forgot it."""
    with pausable_tenant([caller.team_id]):
        with open_entry(caller, "view", "memory.listed", entry_id) as access:
            row = access.target.row
            former_ids = _list_forgotten_with(row, UUID(str(entry_id))) if row else []
        restore(caller, entry_id=entry_id, reason=reason)
        for former_id in former_ids:
            restore(caller, entry_id=former_id, reason=reason)


def _list_forgotten_with(namespace: Namespace, entry_id: UUID) -> list[UUID]:
    """Return the ids of the entries that the entry had replaced, and that the change forgot which forgot it."""
    revisions = Revision.objects.unscoped().filter(operation=Operation.FORGET)
    last = revisions.filter(entry_id=entry_id).order_by("-number").first()
    if last is None:
        return []
    replaced_ids = rows.list_replaced_ids(namespace, [str(entry_id)])
    forgotten = Entry.objects.unscoped().filter(pk__in=replaced_ids).exclude(deleted_at=None)
    revisions = revisions.filter(change_id=last.change_id, entry_id__in=forgotten.values("pk"))
    return [*revisions.order_by("entry_id").values_list("entry_id", flat=True)]
