"""An earlier run to go on from: which of its steps count, and where its conversation stood then."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from uuid import UUID

from accounts.access import Principal
from accounts.errors import NotFound
from workflows import permissions
from workflows.engine.errors import DocumentInvalid
from workflows.engine.language.document import Document, Json
from workflows.engine.runtime.partial_runs import (
    Extent,
    Part,
    descendants,
    fitting,
    is_done,
    kept_before,
    outermost,
    with_insides,
)
from workflows.engine.runtime.step_records import StepRecord, StepStatus
from workflows.execution.debugging.run_options import prepare_part
from workflows.execution.journal.codec import step_record
from workflows.execution.plans import prepare
from workflows.models import Message, Run, Step, Workflow
from workflows.models.documents import from_json


@dataclass(frozen=True, slots=True)
class Former:
    """A run somebody may see, with its finished steps in order."""

    run: Run
    steps: tuple[Step, ...]
    pinned: frozenset[str] = frozenset()  # nodes whose pins stand in for what they gave then

    def records(self) -> list[StepRecord]:
        return [record_of(step) for step in self.steps]

    def ways(self) -> dict[str, str | None]:
        """By node, the handle by which it was left when it succeeded."""
        done = StepStatus.SUCCEEDED.value
        return {
            step.node_key: step.handle
            for step in self.steps
            if step.status == done and not step.rounds
        }


def former_run(principal: Principal, workflow: Workflow, run_id: UUID | None) -> Former | None:
    if run_id is None:
        return None
    run = Run.objects.visible_to(principal).select_related("snapshot").filter(pk=run_id).first()
    if run is None or run.workflow_id != workflow.pk:
        raise NotFound(field="reuse")
    permissions.check_view_run(principal, run)
    steps = Step.objects.unscoped().filter(run=run).order_by("id")
    return Former(run, tuple(step for step in steps if is_done(record_of(step))))


def with_pins(former: Former, document: Document, mocks: Mapping[str, Json]) -> Former:
    """The earlier run as if its nodes had given what is pinned now: a pin counts before a result.

    In the places of the steps they replace, because history is replayed in its order. A mock that does
    more than give outputs is left for its node to play.
    """
    pins = {
        step.node_key: mocks[step.node_key]
        for step in former.steps
        if not step.rounds and _is_plain(mocks.get(step.node_key) or {})
    }
    inside = with_insides(document, pins) - pins.keys()
    steps = tuple(
        _as_pinned(step, pins[step.node_key]) if step.node_key in pins else step
        for step in former.steps
        if step.node_key not in inside
    )
    return Former(former.run, steps, frozenset(pins))


def _is_plain(mock: Mapping[str, Json]) -> bool:
    return mock.get("outputs") is not None and mock.keys() <= {"outputs", "handle"}


def _as_pinned(step: Step, mock: Mapping[str, Json]) -> Step:
    pinned = copy(step)
    pinned.outputs, pinned.handle = mock["outputs"], mock.get("handle")
    pinned.status, pinned.error, pinned.error_type = StepStatus.SUCCEEDED.value, "", ""
    pinned.writes = []
    return pinned


def record_of(step: Step) -> StepRecord:
    names = (
        *("node_key", "rounds", "kind", "status", "handle", "outputs", "inputs", "error"),
        *("error_type", "writes", "tries", "started_at", "elapsed"),
        *("prompt_tokens", "completion_tokens"),
    )
    return step_record({name: getattr(step, name) for name in names})


def kept_steps(former: Former, document: Document, part: Part) -> list[Step]:
    """The steps a partial run begins with."""
    records = former.records()
    if part.extent is Extent.ONLY:
        insides = {node.id for node in document.nodes if outermost(document, node.id) in part.nodes}
        apart = insides | set(part.nodes)
        kept = [record for record in records if record.key.node_id not in apart]
    else:
        kept = _following(document, part, kept_before(document, records, part.nodes))
    wanted = {(record.key.node_id, record.key.rounds) for record in kept}
    return [step for step in former.steps if (step.node_key, tuple(step.rounds)) in wanted]


def warnings_about(
    former: Former, document: Document, part: Part, kept: Sequence[Step]
) -> list[Json]:
    """What may surprise: results older than the settings they came from, and nodes that run again."""
    old = {node.id: node for node in from_json(former.run.snapshot.document).nodes}
    new = {node.id: node for node in document.nodes}
    names = dict.fromkeys(step.node_key for step in kept)
    older = [
        {"node": name, "code": "older"}
        for name in names
        if name in new
        and name not in former.pinned
        and (name not in old or _differs(old[name].data, new[name].data))
    ]
    if part.extent is Extent.ONLY:
        return older
    asked = {outermost(document, node) for node in part.nodes}
    anew = descendants(document, asked) | asked
    lost = {step.node_key for step in former.steps} - names.keys() - anew
    again = [
        {"node": node.id, "code": "again"}
        for node in document.nodes
        if node.id in lost and node.parent is None
    ]
    return [*older, *again]


def turn_of(former: Former) -> Mapping[str, Json]:
    """Where a repeated turn stands: before what, and with the variables as they were then."""
    run = former.run
    debug = run.debug or {}
    if debug.get("turn") is not None or debug.get("variables") is not None:
        return {"turn": debug.get("turn"), "variables": debug.get("variables")}
    if run.conversation_id is None:
        return {}
    number = Message.objects.unscoped().filter(run=run).values_list("number", flat=True).first()
    place = {"conversation": str(run.conversation_id), "before": number} if number else None
    return {"turn": place, "variables": _variables_before(run)}


def _variables_before(run: Run) -> dict[str, Json]:
    """What earlier turns had written: the last word on each variable."""
    earlier = Run.objects.unscoped().filter(conversation=run.conversation, pk__lt=run.pk)
    written = (
        Step.objects.unscoped()
        .filter(run__in=earlier)
        .order_by("run_id", "id")
        .values_list("writes", flat=True)
    )
    found: dict[str, Json] = {}
    for writes in written:
        for selector, value in writes:
            if selector[0] == "conversation":
                found[selector[1]] = value
    return found


def _following(document: Document, part: Part, records: list[StepRecord]) -> list[StepRecord]:
    try:
        ready = prepare(document) if part.is_whole else prepare_part(document, part)
    except DocumentInvalid:
        return []  # the run itself will say what is wrong, at its nodes
    return fitting(ready.plan, records)


def _differs(before: Mapping[str, Json], now: Mapping[str, Json]) -> bool:
    looks = ("title", "desc", "selected", "position")
    return {k: v for k, v in before.items() if k not in looks} != {
        k: v for k, v in now.items() if k not in looks
    }
