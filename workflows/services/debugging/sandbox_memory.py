"""What a run in the sandbox would have remembered: keep it, or drop it."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from uuid import UUID

from django.db.models import QuerySet

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import memory_app, permissions
from workflows.engine.language.document import Json
from workflows.execution.ports.adapters import build_memory_caller
from workflows.models import Run, WouldBe
from workflows.services import audit_lines


@dataclass(frozen=True, slots=True)
class Decided:
    """``refused``: number of the change → why memory's door didn't take it."""

    done: int
    refused: dict[int, str]


def keep_memories(
    principal: Principal, run: Run, *, numbers: Collection[int] | None = None
) -> Decided:
    """Through the real door, as the run itself: its reach, its provenance. In the run's order.

    One change that the door refuses stays undecided and says why; the others are kept.
    """
    permissions.check_run(principal, run.workflow)
    permissions.check_cancel(principal, run)
    refused: dict[int, str] = {}
    done = 0
    with tenant([run.team_id]):
        chosen = list(_open(run, numbers).select_for_update(of=("self",)))
        memory_app.hold(run.team_id, {row.namespace for row in chosen})
    for row in chosen:
        with tenant([run.team_id]):
            try:
                _apply(run, row)
            except memory_app.MemoryFault as fault:
                refused[row.number] = str(fault)
                continue
            row.fate = WouldBe.Fate.KEPT
            row.save(update_fields=["fate"])
            done += 1
    if done:
        with tenant([run.team_id]):
            audit_lines.note(principal, run, "run.memory_kept", changes=done)
    return Decided(done, refused)


def drop_memories(
    principal: Principal, run: Run, *, numbers: Collection[int] | None = None
) -> Decided:
    permissions.check_cancel(principal, run)
    with tenant([run.team_id]):
        done = _open(run, numbers).update(fate=WouldBe.Fate.DROPPED)
        if done:
            audit_lines.note(principal, run, "run.memory_dropped", changes=done)
    return Decided(done, {})


def _open(run: Run, numbers: Collection[int] | None) -> QuerySet[WouldBe]:
    found = WouldBe.objects.unscoped().filter(run=run, fate=WouldBe.Fate.OPEN).order_by("number")
    return found if numbers is None else found.filter(number__in=list(numbers))


def _apply(run: Run, row: WouldBe) -> None:
    origin = memory_app.CallOrigin(str(run.pk), row.node_key, row.origin_key)
    caller = replace(build_memory_caller(run.pk, run.team_id, _row(run)), origin=origin)
    if row.entry is None:
        memory_app.forget(caller, scope=row.scope, key=row.key)
        return
    entry: dict[str, Json] = row.entry
    memory_app.remember(
        caller,
        scope=row.scope,
        key=row.key,
        value=entry["value"],
        metadata=entry["metadata"],
        category=entry["category"],
        tier=entry["tier"],
        importance=entry["importance"],
        ttl_seconds=entry.get("ttl_seconds"),
    )


def _row(run: Run) -> dict[str, Json]:
    """The columns a claim has too."""
    ids: dict[str, UUID | None] = {
        "subject_user_id": run.subject_user_id,
        "started_by_id": run.started_by_id,
        "api_key_id": run.api_key_id,
    }
    return {**ids, "system": run.system}
