"""Resume a paused run, and edit the outputs of a finished node."""

from collections.abc import Iterable, Mapping
from typing import Literal

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.engine.language.document import Json
from workflows.engine.runtime.events import RunResumed, StepEdited
from workflows.engine.runtime.step_reports import measure_size
from workflows.errors import InvalidValue, RunNotPaused
from workflows.models import Run, Step
from workflows.models.documents import from_json
from workflows.models.run import RunStatus
from workflows.services import audit_lines
from workflows.services.debugging.pins import check_types
from workflows.services.runs.runs import add_event, cancel_run
from workflows.tasks import wake_worker


Mode = Literal["continue", "step", "stop"]


def resume_run(
    principal: Principal, run: Run, *, mode: Mode, breakpoints: Iterable[str] | None = None
) -> Run:
    """Resume, step or stop a paused run, by default with its previous ``breakpoints``. Raises RunNotPaused."""
    if mode == "stop":
        return cancel_run(principal, run)
    permissions.check_cancel(principal, run)
    with tenant([run.team_id]):
        locked = _lock_paused(run)
        now = timezone.now()
        state = dict(locked.pause or {})
        if state.get("reason") in ("input", "time"):  # it continues with the answer, or by itself
            raise RunNotPaused
        paused_for = now.timestamp() - float(state.get("at") or now.timestamp())
        locked.pause = {**state, "mode": mode, "slept": float(state.get("slept") or 0) + paused_for}
        if breakpoints is not None:
            locked.debug = {**(locked.debug or {}), "breakpoints": list(breakpoints)}
        locked.status, locked.queued_at = RunStatus.QUEUED, now
        add_event(locked, RunResumed(mode, now.timestamp()))
        locked.save()
        audit_lines.record(principal, locked, "run.resumed", mode=mode)
        transaction.on_commit(lambda: wake_worker(locked.pk))
    return locked


def edit_step(principal: Principal, run: Run, *, node: str, outputs: Mapping[str, Json]) -> Step:
    """Replace the outputs of a finished node for the rest of this run.

    Raises RunNotPaused, or InvalidValue for an unfinished node or an output of another type than the declared one, and
    NotAllowed for who may not start a run with such outputs either.
    """
    permissions.check_cancel(principal, run)
    permissions.check_start_draft(principal, run.workflow)
    with tenant([run.team_id]):
        locked = _lock_paused(run)
        step = (
            Step.objects.unscoped()
            .filter(run=locked, node_key=node, rounds=[], status__in=("succeeded", "exception"))
            .first()
        )
        if step is None:
            raise InvalidValue(_("This node has not finished in this run."), field="node")
        _check_types(locked, node, outputs)
        step.outputs = dict(outputs)
        step.edited_by, step.edited_at = principal.actor, timezone.now()
        # By its run as well: the id alone would be looked for in every partition.
        Step.objects.unscoped().filter(run=locked, pk=step.pk).update(
            outputs=step.outputs, edited_by=step.edited_by, edited_at=step.edited_at
        )
        at = step.edited_at.timestamp()
        add_event(locked, StepEdited(node, principal.actor, measure_size(step.outputs), at))
        locked.save(update_fields=["last_seq"])
        audit_lines.record(principal, locked, "run.step_edited", node=node)
    return step


def _check_types(run: Run, node: str, outputs: Mapping[str, Json]) -> None:
    """Check the outputs against the document of the run, because the draft may have changed since."""
    for spec in from_json(run.snapshot.document).nodes:
        if spec.id == node:
            check_types(spec.id, spec.kind, spec.data, outputs)


def _lock_paused(run: Run) -> Run:
    locked = Run.objects.unscoped().select_for_update(of=("self",)).get(pk=run.pk)
    if locked.status != RunStatus.PAUSED or locked.debug is None:
        raise RunNotPaused
    return locked
