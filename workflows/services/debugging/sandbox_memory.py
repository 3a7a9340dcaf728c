"""Apply or discard the memory changes of a dry run."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from django.db.models import QuerySet

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import memory_app, permissions
from workflows.engine.language.document import Json
from workflows.execution.ports.adapters import build_memory_caller
from workflows.execution.ports.client_calls import ClientCall
from workflows.models import DryRunChange, Run
from workflows.services import audit_lines


@dataclass(frozen=True, slots=True)
class SandboxDecision:
    """The number of decided changes, and the reasons for which memory refused changes, by the changes' numbers."""

    count: int
    refusals: dict[int, str]


def keep_memories(
    principal: Principal, run: Run, *, numbers: Collection[int] | None = None
) -> SandboxDecision:
    """Apply the undecided changes, or those with these ``numbers``, in the run's order and with its permissions.

    A change that memory refuses stays undecided, and the reason is returned.
    """
    permissions.check_run(principal, run.workflow)
    permissions.check_cancel(principal, run)
    refusals: dict[int, str] = {}
    count = 0
    with tenant([run.team_id]):
        rows = list(_list_open(run, numbers).select_for_update(of=("self",)))
        memory_app.lock_namespaces(run.team_id, {row.namespace for row in rows})
    for row in rows:
        with tenant([run.team_id]):
            try:
                _apply(run, row)
            except memory_app.MemoryFault as fault:
                refusals[row.number] = str(fault)
                continue
            row.fate = DryRunChange.Fate.KEPT
            row.save(update_fields=["fate"])
            count += 1
    if count:
        with tenant([run.team_id]):
            audit_lines.record(principal, run, "run.memory_kept", changes=count)
    return SandboxDecision(count, refusals)


def drop_memories(
    principal: Principal, run: Run, *, numbers: Collection[int] | None = None
) -> SandboxDecision:
    """Discard the undecided changes of a dry run, or those with these ``numbers``."""
    permissions.check_cancel(principal, run)
    with tenant([run.team_id]):
        count = _list_open(run, numbers).update(fate=DryRunChange.Fate.DROPPED)
        if count:
            audit_lines.record(principal, run, "run.memory_dropped", changes=count)
    return SandboxDecision(count, {})


def _list_open(run: Run, numbers: Collection[int] | None) -> QuerySet[DryRunChange]:
    """Return the undecided changes. Nobody can keep those in the scopes that the run leaves out."""
    rows = (
        DryRunChange.objects.unscoped()
        .filter(run=run, fate=DryRunChange.Fate.OPEN)
        .exclude(scope__in=ClientCall.from_json(run.client_call).list_left_out_scopes())
        .order_by("number")
    )
    return rows if numbers is None else rows.filter(number__in=list(numbers))


def _apply(run: Run, row: DryRunChange) -> None:
    """Store or forget the entry on behalf of the run, with the idempotency key of its node's call."""
    origin = memory_app.CallOrigin(str(run.pk), row.node_key, row.origin_key)
    caller = replace(
        build_memory_caller(run.pk, run.team_id, _build_claim_columns(run)), origin=origin
    )
    if row.entry is None:
        memory_app.forget(caller, scope=row.scope, key=row.key)
        return
    entry: dict[str, Json] = row.entry
    memory_app.remember(
        caller,
        scope=row.scope,
        key=row.key,
        ttl_seconds=entry.get("ttl_seconds"),
        **memory_app.read_content(entry),
    )


def _build_claim_columns(run: Run) -> dict[str, Json]:
    """Return the columns of the run that ``build_memory_caller`` needs."""
    return {
        "subject_user_id": run.subject_user_id,
        "started_by_id": run.started_by_id,
        "api_key_id": run.api_key_id,
        "system": run.system,
    }
