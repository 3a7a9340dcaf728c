"""Undo a change as a whole: forgotten entries are restored, and changed ones are reverted."""

from dataclasses import dataclass
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from memory.core.errors import AlreadyExists, NotFound
from memory.models import Change, Entry, Revision
from memory.models.entries import Operation
from memory.providers.postgres import rows
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import open_namespace
from memory.services.gateway.namespace_access import NamespaceAccess
from memory.services.history.restore import restore_revisions
from memory.services.history.revert import UNDONE, revert_change


@dataclass(frozen=True, slots=True)
class UndoResult:
    count: int
    entry_ids: tuple[str, ...]


@retry_on_conflict
def undo(caller: MemoryCaller, *, change_id: UUID | str) -> UndoResult:
    """Undo the change in every namespace that it wrote to, or nowhere. Raise AlreadyExists if it was undone before."""
    namespace = _find_namespace(caller, change_id)
    with open_namespace(caller, "write", "memory.undone", namespace=namespace) as access:
        other_namespaces = _list_other_namespaces(Change.objects.unscoped().get(pk=change_id))
        rows.lock_namespaces(caller.team_id, [namespace, *other_namespaces])
        locked = access.claim()
        change = Change.objects.unscoped().select_for_update().get(pk=change_id)
        if change.undone_at is not None:
            raise AlreadyExists(_("This change was already undone."))
        rows.expire(locked, access.now)
        is_forgetting = change.operation == Operation.FORGET
        undo_entries = _restore_forgotten if is_forgetting else _revert_entries
        ids = undo_entries(access, change)
        access.detail.update(change=str(change.pk), keys=len(ids))
        for text in other_namespaces:
            with open_namespace(caller, "write", "memory.undone", namespace=text) as other_access:
                other_ids = _revert_entries(other_access, change)
                other_access.detail.update(change=str(change.pk), keys=len(other_ids))
            ids = (*ids, *other_ids)
        change.undone_at, change.undone_by = access.now, caller.principal.actor
        change.save(update_fields=["undone_at", "undone_by"])
        return UndoResult(len(ids), ids)


def _restore_forgotten(access: NamespaceAccess, change: Change) -> tuple[str, ...]:
    """Restore the entries that the change forgot and that are still forgotten, and return their ids."""
    revisions = Revision.objects.unscoped().filter(change_id=change.pk, operation=Operation.FORGET)
    targets = {revision.entry_id: revision for revision in revisions.order_by("entry_id")}
    forgotten = Entry.objects.unscoped().filter(pk__in=targets).exclude(deleted_at=None)
    pairs = [(entry, targets[entry.pk]) for entry in forgotten.order_by("id")]
    restore_revisions(access, change.namespace, pairs, UNDONE)
    return tuple(str(entry.pk) for entry, _revision in pairs)


def _revert_entries(access: NamespaceAccess, change: Change) -> tuple[str, ...]:
    """Revert the entries of the change here, and return their ids. Raise OutdatedProposal if one has changed since."""
    revisions = Revision.objects.unscoped().filter(
        team_id=change.team_id, change_id=change.pk, entry__namespace__text=access.text
    )
    ids = revisions.order_by("entry_id").values_list("entry_id", flat=True).distinct()
    entry_ids = tuple(map(str, ids))
    revert_change(access, change.pk, UNDONE)
    return entry_ids


def _list_other_namespaces(change: Change) -> list[str]:
    """Return the namespaces that the change wrote to besides its own. A change that forgets entries has none."""
    if change.operation == Operation.FORGET:
        return []
    revisions = Revision.objects.unscoped().filter(team_id=change.team_id, change_id=change.pk)
    other_revisions = revisions.exclude(entry__namespace=change.namespace_id)
    texts = other_revisions.order_by("entry__namespace__text").values_list(
        "entry__namespace__text", flat=True
    )
    return list(texts.distinct())


def _find_namespace(caller: MemoryCaller, change_id: UUID | str) -> str:
    try:
        parsed_id = UUID(str(change_id))
    except ValueError:
        raise NotFound(_("Change not found.")) from None
    with tenant([caller.team_id]):
        changes = Change.objects.unscoped().filter(team_id=caller.team_id, pk=parsed_id)
        namespace = changes.values_list("namespace__text", flat=True).first()
    if namespace is None:
        raise NotFound(_("Change not found."))
    return namespace
