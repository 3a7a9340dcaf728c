"""Undo everything a run wrote, wherever that is: one act, which undoes as one.

Each memory becomes what it was before the run touched it. One that somebody changed since is theirs,
and is left as it is; so is what the caller may not change.
"""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from memory import permissions
from memory.core.errors import InvalidInput
from memory.core.policy import check_value
from memory.core.scopes import parse_namespace
from memory.models import Entry, Namespace, Revision
from memory.models.entries import Operation
from memory.permissions import Place
from memory.providers.postgres import bulk, rows
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import MemoryGateway
from memory.services.gateway.namespace_access import NamespaceAccess
from memory.services.history.revert import AWAY, is_over, may_take_away
from memory.upkeep.settling import ACTOR as PROMOTION


@dataclass(frozen=True, slots=True)
class RunUndone:
    """``left``: written by the run, but changed by somebody since, or not the caller's to forget.

    No ``change_id``: nothing was done.
    """

    count: int
    left: int
    change_id: UUID | None = None


@retry_on_conflict
def undo_run(
    caller: MemoryCaller, *, run_id: str, reason: str = "", dry_run: bool = False
) -> RunUndone:
    if not run_id:
        raise InvalidInput("run: required.")
    act = "memory.listed" if dry_run else "memory.undone"
    with ExitStack() as stack:
        # All open before anything is locked, and then locked in the one order.
        doors = [
            stack.enter_context(MemoryGateway(caller).open_namespace("write", act, namespace=text))
            for text in _places(caller, run_id)
        ]
        rows.lock_namespaces(caller.team_id, [access.text for access in doors])
        plans = [_plan(access, run_id) for access in doors]
        count, left = sum(one.count for one in plans), sum(one.left for one in plans)
        for access, plan in zip(doors, plans, strict=True):
            access.detail.update(keys=plan.count, run=run_id)
        if dry_run or not count:
            return RunUndone(count, left)
        why = reason or _("undone at")
        change_id = _change(doors, plans, why)
        for access, plan in zip(doors, plans, strict=True):
            _do(access, plan, why, change_id)
        return RunUndone(count, left, change_id)


@dataclass(frozen=True, slots=True)
class _Plan:
    namespace: Namespace
    gone: Sequence[Entry]  # what was not there before, or would be over by now
    back: Sequence[bulk.Returning]
    left: int

    @property
    def count(self) -> int:
        return len(self.gone) + len(self.back)


def _places(caller: MemoryCaller, run_id: str) -> list[str]:
    """Namespaces the run wrote to, of those the caller may change."""
    with tenant([caller.team_id]):
        written = Revision.objects.unscoped().filter(team_id=caller.team_id, run_id=run_id)
        ids = written.order_by("entry__namespace_id").values_list("entry__namespace_id", flat=True)
        found = Namespace.objects.unscoped().filter(pk__in=ids.distinct()).order_by("text")
        return [one.text for one in found if _may(caller, one)]


def _may(caller: MemoryCaller, row: Namespace) -> bool:
    place = Place(caller.team_id, parse_namespace(row.text), row)
    return permissions.may(caller.principal, "write", place)


def _plan(access: NamespaceAccess, run_id: str) -> _Plan:
    namespace = access.claim()
    rows.expire(namespace, access.now)
    written = Revision.objects.unscoped().filter(
        team_id=access.caller.team_id, run_id=run_id, entry__namespace=namespace
    )
    ids = written.order_by("entry_id").values_list("entry_id", flat=True).distinct()
    entries = list(Entry.objects.unscoped().filter(pk__in=ids).order_by("id"))
    pasts = _pasts([one.pk for one in entries])
    gone: list[Entry] = []
    back: list[bulk.Returning] = []
    left = 0
    for entry in entries:
        past = pasts[entry.pk]
        first = _first_of_the_last(past, run_id)
        if first is None:
            left += not entry.is_forgotten
            continue
        before = past.get(first - 1)
        if before is not None and before.operation not in AWAY and not is_over(before, access.now):
            back.append((entry, before))
        elif not entry.is_forgotten:
            gone.append(entry)
    if gone and not may_take_away(access):
        left += len(gone)
        gone = []
    free = _with_room(namespace, gone, back)
    return _Plan(namespace, gone, free, left + len(back) - len(free))


def _pasts(entry_ids: Iterable[UUID]) -> dict[UUID, dict[int, Revision]]:
    """By entry, its revisions by number, the newest first."""
    found: dict[UUID, dict[int, Revision]] = {}
    rows_ = Revision.objects.unscoped().filter(entry_id__in=list(entry_ids))
    for one in rows_.order_by("entry_id", "-number"):
        found.setdefault(one.entry_id, {})[one.number] = one
    return found


def _first_of_the_last(past: dict[int, Revision], run_id: str) -> int | None:
    """Where the run's last writing began; none where something came after it.

    That it was kept for good, or found to be over, changed nothing of what it says.
    """
    first = None
    for number, one in past.items():
        if one.run_id == run_id:
            first = number
        elif first is not None or not _changes_nothing(one):
            break
    return first


def _changes_nothing(one: Revision) -> bool:
    return one.operation == Operation.EXPIRE or one.actor == PROMOTION


def _with_room(
    namespace: Namespace, gone: Sequence[Entry], back: Sequence[bulk.Returning]
) -> list[bulk.Returning]:
    """Without those whose key somebody gave to another memory since."""
    leaving = [one.pk for one in gone]
    returning = [entry.key for entry, _before in back if entry.is_forgotten]
    living = rows.living(namespace).filter(key__in=returning).exclude(pk__in=leaving)
    taken = set(living.values_list("key", flat=True))
    return [pair for pair in back if not (pair[0].is_forgotten and pair[0].key in taken)]


def _change(doors: Sequence[NamespaceAccess], plans: Sequence[_Plan], reason: str) -> UUID:
    """It stands with the first of the namespaces; its revisions say which others it is about."""
    access, plan = next((d, p) for d, p in zip(doors, plans, strict=True) if p.count)
    count = sum(one.count for one in plans)
    return access.change(plan.namespace, Operation.EDIT, count, reason).pk


def _do(access: NamespaceAccess, plan: _Plan, reason: str, change_id: UUID) -> None:
    """What came goes first, so that what went finds its key and its room again."""
    access.detail["change"] = str(change_id)
    rows.forget(plan.namespace, plan.gone, access.act(Operation.FORGET, reason, change_id))
    for _entry, before in plan.back:
        check_value(access.policy, before.value)
    act = access.act(Operation.RESTORE, reason, change_id)
    bulk.put_back(plan.namespace, plan.back, act, access.policy)
