"""Undo everything that a run wrote, in all namespaces, as one change that can be undone as a whole.

Each entry gets the state from before the run. Entries that have been changed since, or that the caller may not
change, are left as they are.
"""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from uuid import UUID

from django.db.models import QuerySet

from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from memory import permissions
from memory.core.errors import InvalidInput, NotFound
from memory.core.recall.selection import is_expired
from memory.host import get_host
from memory.models import Entry, Namespace, Revision
from memory.models.entries import Operation
from memory.providers.postgres import bulk, rows
from memory.providers.postgres.snapshots import REMOVING_OPERATIONS
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import open_namespace
from memory.services.gateway.namespace_access import NamespaceAccess
from memory.services.history.restore import restore_revisions
from memory.services.history.revert import UNDONE, can_forget
from memory.upkeep.promotion import ACTOR as PROMOTION


@dataclass(frozen=True, slots=True)
class RunUndoResult:
    """The numbers of undone and of skipped entries, and the id of the change, or None if nothing was changed.

    An entry is skipped if it has been changed since the run, or the caller may not forget it.
    """

    count: int
    skipped: int
    change_id: UUID | None = None


@retry_on_conflict
def undo_run(
    caller: MemoryCaller, *, run_id: str, reason: str = "", dry_run: bool = False
) -> RunUndoResult:
    """Undo the run in all namespaces that the caller may write to. A dry run only counts the entries."""
    if not run_id:
        raise InvalidInput("run: required.")
    action = "memory.listed" if dry_run else "memory.undone"
    with ExitStack() as stack:
        # All namespaces are opened before any is locked, and then locked in id order.
        accesses = [
            stack.enter_context(open_namespace(caller, "write", action, namespace=text))
            for text in _list_writable_namespaces(caller, run_id)
        ]
        rows.lock_namespaces(caller.team_id, [access.text for access in accesses])
        plans = [_plan_namespace(access, run_id) for access in accesses]
        for plan in plans:
            plan.access.detail.update(keys=plan.count, run=run_id)
        count, skipped = sum(plan.count for plan in plans), sum(plan.skipped for plan in plans)
        if dry_run or not count:
            return RunUndoResult(count, skipped)
        reason = reason or UNDONE
        # The change is recorded in the first namespace with entries to undo; the revisions of all refer to it.
        main = next(plan for plan in plans if plan.count)
        change = main.access.record_change(main.namespace, Operation.EDIT, count, reason)
        for plan in plans:
            _execute_plan(plan, reason, change.pk)
        return RunUndoResult(count, skipped, change.pk)


def check_run_known(caller: MemoryCaller, *, run_id: str) -> None:
    """Raise NotFound unless the caller may see the run, or memory that it wrote."""
    with tenant([caller.team_id]):
        if any(
            permissions.is_allowed(caller.principal, "view", permissions.build_target(row))
            for row in _list_namespaces(caller, run_id)
        ):
            return
        if run_id not in get_host().describe_runs(caller.principal, [run_id]):
            raise NotFound


@dataclass(frozen=True, slots=True)
class _NamespacePlan:
    access: NamespaceAccess
    namespace: Namespace
    removals: Sequence[Entry]  # entries that were not there before, or would have expired by now
    restores: Sequence[bulk.RestorePair]
    skipped: int

    @property
    def count(self) -> int:
        return len(self.removals) + len(self.restores)


def _list_writable_namespaces(caller: MemoryCaller, run_id: str) -> list[str]:
    """Return the namespaces that the run wrote to and the caller may write to."""
    with tenant([caller.team_id]):
        return [
            row.text
            for row in _list_namespaces(caller, run_id)
            if permissions.is_allowed(caller.principal, "write", permissions.build_target(row))
        ]


def _list_namespaces(caller: MemoryCaller, run_id: str) -> QuerySet[Namespace]:
    revisions = Revision.objects.unscoped().filter(team_id=caller.team_id, run_id=run_id)
    ids = revisions.order_by().values_list("entry__namespace_id", flat=True).distinct()
    return Namespace.objects.unscoped().filter(pk__in=ids).order_by("text")


def _plan_namespace(access: NamespaceAccess, run_id: str) -> _NamespacePlan:
    namespace = access.claim()
    rows.expire(namespace, access.now)
    revisions = Revision.objects.unscoped().filter(
        team_id=access.caller.team_id, run_id=run_id, entry__namespace=namespace
    )
    ids = revisions.order_by("entry_id").values_list("entry_id", flat=True).distinct()
    entries = list(Entry.objects.unscoped().filter(pk__in=ids).order_by("id"))
    revisions_by_entry = _load_revisions([entry.pk for entry in entries])
    removals: list[Entry] = []
    restores: list[bulk.RestorePair] = []
    skipped = 0
    for entry in entries:
        entry_revisions = revisions_by_entry[entry.pk]
        first_number = _find_first_of_last_writes(entry_revisions, run_id)
        if first_number is None:
            skipped += not entry.is_forgotten
            continue
        before = entry_revisions.get(first_number - 1)
        was_living = before is not None and before.operation not in REMOVING_OPERATIONS
        if before is not None and was_living and not is_expired(before, access.now):
            restores.append((entry, before))
        elif not entry.is_forgotten:
            removals.append(entry)
    if removals and not can_forget(access):
        skipped += len(removals)
        removals = []
    restorable = _drop_taken_keys(namespace, removals, restores)
    skipped += len(restores) - len(restorable)
    return _NamespacePlan(access, namespace, removals, restorable, skipped)


def _load_revisions(entry_ids: Iterable[UUID]) -> dict[UUID, dict[int, Revision]]:
    """Return the revisions of each entry by number, newest first."""
    revisions_by_entry: dict[UUID, dict[int, Revision]] = {}
    revisions = Revision.objects.unscoped().filter(entry_id__in=list(entry_ids))
    for revision in revisions.order_by("entry_id", "-number"):
        revisions_by_entry.setdefault(revision.entry_id, {})[revision.number] = revision
    return revisions_by_entry


def _find_first_of_last_writes(revisions: dict[int, Revision], run_id: str) -> int | None:
    """Return the number of the first of the run's last consecutive revisions, or None if the content changed later."""
    first_number = None
    for number, revision in revisions.items():
        if revision.run_id == run_id:
            first_number = number
        elif first_number is not None or not _preserves_content(revision):
            break
    return first_number


def _preserves_content(revision: Revision) -> bool:
    return revision.operation == Operation.EXPIRE or revision.actor == PROMOTION


def _drop_taken_keys(
    namespace: Namespace, removals: Sequence[Entry], restores: Sequence[bulk.RestorePair]
) -> list[bulk.RestorePair]:
    """Return the restores, except those of forgotten entries whose key a newer entry has."""
    removed_ids = [entry.pk for entry in removals]
    restored_keys = [entry.key for entry, _before in restores if entry.is_forgotten]
    living = rows.find_living(namespace).filter(key__in=restored_keys).exclude(pk__in=removed_ids)
    taken_keys = set(living.values_list("key", flat=True))
    return [pair for pair in restores if not (pair[0].is_forgotten and pair[0].key in taken_keys)]


def _execute_plan(plan: _NamespacePlan, reason: str, change_id: UUID) -> None:
    """Execute the plan, removals first, so that restored entries find their keys free and enough room."""
    plan.access.detail["change"] = str(change_id)
    context = plan.access.build_context(Operation.FORGET, reason, change_id)
    rows.forget(plan.namespace, plan.removals, context)
    restore_revisions(plan.access, plan.namespace, plan.restores, reason, change_id)
