"""The earlier run whose results a debug run reuses: its steps, and the state of its conversation."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from uuid import UUID

from accounts.access import Principal
from accounts.errors import NotFound
from workflows import permissions
from workflows.engine.errors import DocumentInvalid
from workflows.engine.language.document import Document, Json, NodeSpec
from workflows.engine.language.graph import include_inner_nodes
from workflows.engine.runtime.partial_runs import (
    Extent,
    Part,
    find_descendants,
    find_outermost,
    is_completed,
    select_reusable_steps,
    select_valid_steps,
)
from workflows.engine.runtime.step_records import StepRecord, StepStatus
from workflows.execution.debugging.run_options import prepare_part
from workflows.execution.journal.codec import parse_step_record
from workflows.execution.plans import prepare_document
from workflows.models import Message, Run, Step, Workflow
from workflows.models.documents import from_json


DISPLAY_FIELDS = frozenset({"title", "desc", "selected", "position"})  # which don't affect a result


@dataclass(frozen=True, slots=True)
class PreviousRun:
    """A run that the principal may see, with its finished steps in order."""

    run: Run
    steps: tuple[Step, ...]
    pinned: frozenset[str] = frozenset()  # nodes whose pins replace the outputs of that run

    def list_records(self) -> list[StepRecord]:
        return [build_record(step) for step in self.steps]

    def map_handles(self) -> dict[str, str | None]:
        """Return for each node that succeeded the handle at which the run continued."""
        succeeded = StepStatus.SUCCEEDED.value
        return {
            step.node_key: step.handle
            for step in self.steps
            if step.status == succeeded and not step.rounds
        }


def load_previous_run(
    principal: Principal, workflow: Workflow, run_id: UUID | None
) -> PreviousRun | None:
    """Return a run of this workflow with its finished steps; raises NotFound if the principal may not see it."""
    if run_id is None:
        return None
    run = Run.objects.visible_to(principal).select_related("snapshot").filter(pk=run_id).first()
    if run is None or run.workflow_id != workflow.pk:
        raise NotFound(field="reuse")
    permissions.check_view_run(principal, run)
    steps = Step.objects.unscoped().filter(run=run).order_by("id")
    return PreviousRun(run, tuple(step for step in steps if is_completed(build_record(step))))


def apply_pins(previous: PreviousRun, document: Document, mocks: Mapping[str, Json]) -> PreviousRun:
    """Return the earlier run as if its nodes had returned their current pins.

    A pinned step keeps the position of the step that it replaces, because history is replayed in order. Mocks that do
    more than return outputs are not applied here, but when their node runs.
    """
    pins = {
        step.node_key: mocks[step.node_key]
        for step in previous.steps
        if not step.rounds and _has_outputs_only(mocks.get(step.node_key) or {})
    }
    inner_nodes = include_inner_nodes(document, pins) - pins.keys()
    steps = tuple(
        _build_pinned_step(step, pins[step.node_key]) if step.node_key in pins else step
        for step in previous.steps
        if step.node_key not in inner_nodes
    )
    return PreviousRun(previous.run, steps, frozenset(pins))


def _has_outputs_only(mock: Mapping[str, Json]) -> bool:
    return mock.get("outputs") is not None and mock.keys() <= {"outputs", "handle"}


def _build_pinned_step(step: Step, mock: Mapping[str, Json]) -> Step:
    pinned = copy(step)
    pinned.outputs, pinned.handle = mock["outputs"], mock.get("handle")
    pinned.status, pinned.error, pinned.error_type = StepStatus.SUCCEEDED.value, "", ""
    pinned.writes = []
    return pinned


def build_record(step: Step) -> StepRecord:
    names = (
        *("node_key", "rounds", "kind", "status", "handle", "outputs", "inputs", "error"),
        *("error_type", "writes", "tries", "started_at", "elapsed"),
        *("prompt_tokens", "completion_tokens"),
    )
    return parse_step_record({name: getattr(step, name) for name in names})


def select_reused_steps(previous: PreviousRun, document: Document, part: Part) -> list[Step]:
    """Return the steps of the earlier run whose results a run of this part reuses."""
    records = previous.list_records()
    if part.extent is Extent.ONLY:
        inner_nodes = {
            node.id for node in document.nodes if find_outermost(document, node.id) in part.nodes
        }
        excluded = inner_nodes | set(part.nodes)
        reused = [record for record in records if record.key.node_id not in excluded]
    else:
        reused = _fit_to_plan(document, part, select_reusable_steps(document, records, part.nodes))
    keys = {(record.key.node_id, record.key.rounds) for record in reused}
    return [step for step in previous.steps if (step.node_key, tuple(step.rounds)) in keys]


def list_warnings(
    previous: PreviousRun, document: Document, part: Part, reused: Sequence[Step]
) -> list[Json]:
    """Return warnings for reused results whose node has changed since, and for other nodes that run again."""
    old_nodes = {node.id: node for node in from_json(previous.run.snapshot.document).nodes}
    new_nodes = {node.id: node for node in document.nodes}
    names = dict.fromkeys(step.node_key for step in reused)
    older = [
        {"node": name, "code": "older"}
        for name in names
        if name in new_nodes
        and name not in previous.pinned
        and _select_settings(old_nodes.get(name)) != _select_settings(new_nodes[name])
    ]
    if part.extent is Extent.ONLY:
        return older
    selected = {find_outermost(document, node) for node in part.nodes}
    rerun = find_descendants(document, selected) | selected
    not_reused = {step.node_key for step in previous.steps} - names.keys() - rerun
    repeated = [
        {"node": node.id, "code": "again"}
        for node in document.nodes
        if node.id in not_reused and node.parent is None
    ]
    return [*older, *repeated]


def get_turn(previous: PreviousRun) -> Mapping[str, Json]:
    """Return the position of a repeated turn in its conversation, and the conversation's variables at that time."""
    run = previous.run
    debug = run.debug or {}
    if debug.get("turn") is not None or debug.get("variables") is not None:
        return {"turn": debug.get("turn"), "variables": debug.get("variables")}
    if run.conversation_id is None:
        return {}
    number = Message.objects.unscoped().filter(run=run).values_list("number", flat=True).first()
    turn = {"conversation": str(run.conversation_id), "before": number} if number else None
    return {"turn": turn, "variables": _load_variables_before(run)}


def _load_variables_before(run: Run) -> dict[str, Json]:
    """Return the values of the conversation's variables before the run, as earlier turns last wrote them."""
    earlier = Run.objects.unscoped().filter(conversation=run.conversation, pk__lt=run.pk)
    writes_of_steps = (
        Step.objects.unscoped()
        .filter(run__in=earlier)
        .order_by("run_id", "id")
        .values_list("writes", flat=True)
    )
    variables: dict[str, Json] = {}
    for writes in writes_of_steps:
        for selector, value in writes:
            if selector[0] == "conversation":
                variables[selector[1]] = value
    return variables


def _fit_to_plan(document: Document, part: Part, records: list[StepRecord]) -> list[StepRecord]:
    try:
        prepared = prepare_document(document) if part.is_whole else prepare_part(document, part)
    except DocumentInvalid:
        return []  # the run will report the problem at its nodes
    return select_valid_steps(prepared.plan, records)


def _select_settings(node: NodeSpec | None) -> dict[str, Json] | None:
    """Return the node's data without the fields that only change its display, or None for a missing node."""
    if node is None:
        return None
    return {name: value for name, value in node.data.items() if name not in DISPLAY_FIELDS}
