"""Undo a change as one: what it forgot comes back, what it moved goes back, or nothing does."""

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
from memory.services.gateway.gateway import MemoryGateway
from memory.services.gateway.namespace_access import NamespaceAccess
from memory.services.history.restore import put_back_all
from memory.services.history.revert import take_back


@dataclass(frozen=True, slots=True)
class Undone:
    count: int
    entry_ids: tuple[str, ...]


@retry_on_conflict
def undo(caller: MemoryCaller, *, change_id: UUID | str) -> Undone:
    namespace = _place_of(caller, change_id)
    with MemoryGateway(caller).open_namespace(
        "write", "memory.undone", namespace=namespace
    ) as access:
        beside = _beside(Change.objects.unscoped().get(pk=UUID(str(change_id))))
        rows.lock_namespaces(caller.team_id, [namespace, *beside])
        locked = access.claim()
        change = Change.objects.unscoped().select_for_update().get(pk=UUID(str(change_id)))
        if change.undone_at is not None:
            raise AlreadyExists(_("This change was already undone."))
        rows.expire(locked, access.now)
        undone = _undo if change.operation == Operation.FORGET else _take_back
        ids = undone(access, change)
        access.detail.update(change=str(change.pk), keys=len(ids))
        for text in beside:
            with MemoryGateway(caller).open_namespace(
                "write", "memory.undone", namespace=text
            ) as other:
                more = _take_back(other, change)
                other.detail.update(change=str(change.pk), keys=len(more))
            ids = (*ids, *more)
        change.undone_at, change.undone_by = access.now, caller.principal.actor
        change.save(update_fields=["undone_at", "undone_by"])
        return Undone(len(ids), ids)


def _undo(access: NamespaceAccess, change: Change) -> tuple[str, ...]:
    """Entries that were put back by hand since are left as they are."""
    made = Revision.objects.unscoped().filter(change_id=change.pk, operation=Operation.FORGET)
    wanted = {revision.entry_id: revision for revision in made.order_by("entry_id")}
    forgotten = Entry.objects.unscoped().filter(pk__in=wanted).exclude(deleted_at=None)
    pairs = [(entry, wanted[entry.pk]) for entry in forgotten.order_by("id")]
    put_back_all(access, change.namespace, pairs, _("undone at"))
    return tuple(str(entry.pk) for entry, _revision in pairs)


def _take_back(access: NamespaceAccess, change: Change) -> tuple[str, ...]:
    """Each as it was before; refused where one of them was changed since."""
    made = Revision.objects.unscoped().filter(
        team_id=change.team_id, change_id=change.pk, entry__namespace__text=access.text
    )
    ids = made.order_by("entry_id").values_list("entry_id", flat=True).distinct()
    found = tuple(map(str, ids))
    take_back(access, change.pk, _("undone at"))
    return found


def _beside(change: Change) -> list[str]:
    """What a run wrote is undone in all the namespaces it wrote to; to forget is of one place."""
    if change.operation == Operation.FORGET:
        return []
    made = Revision.objects.unscoped().filter(team_id=change.team_id, change_id=change.pk)
    places = made.exclude(entry__namespace=change.namespace_id).order_by("entry__namespace__text")
    return list(places.values_list("entry__namespace__text", flat=True).distinct())


def _place_of(caller: MemoryCaller, change_id: UUID | str) -> str:
    try:
        wanted = UUID(str(change_id))
    except ValueError:
        raise NotFound(_("Change not found.")) from None
    with tenant([caller.team_id]):
        changes = Change.objects.unscoped().filter(team_id=caller.team_id, pk=wanted)
        found = changes.values_list("namespace__text", flat=True).first()
    if found is None:
        raise NotFound(_("Change not found."))
    return found
