"""The reports about a step: its events, its error message and its size."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from json import JSONEncoder
from json.encoder import encode_basestring

from workflows.engine.errors import EngineFault
from workflows.engine.language.document import Json
from workflows.engine.language.plan import PlanNode
from workflows.engine.runtime.events import NodeStateChange
from workflows.engine.runtime.state import NodeState
from workflows.engine.runtime.step_records import StepError, StepRecord, StepStatus


log = logging.getLogger(__name__)

# Result of a step → the node's state, and the status in its event.
END_STATES: Mapping[StepStatus, tuple[NodeState, str]] = {
    StepStatus.SUCCEEDED: (NodeState.SUCCEEDED, "completed"),
    StepStatus.EXCEPTION: (NodeState.EXCEPTION, "failed"),
    StepStatus.FAILED: (NodeState.FAILED, "failed"),
    StepStatus.STOPPED: (NodeState.STOPPED, "stopped"),
}


def build_end_event(node: PlanNode, record: StepRecord) -> NodeStateChange:
    """Return the event of a step that ended, with the figures that lists of steps show."""
    error = record.error
    return NodeStateChange(
        node.id,
        END_STATES[record.status][1],
        node.kind_name,
        node.title,
        record.key.rounds,
        at=record.started_at + record.waited + record.elapsed,
        elapsed=record.elapsed,
        waited=record.waited or None,
        size=measure_size(record.outputs),
        attempt=record.tries,
        handle=record.handle,
        error=error.message if error else None,
        error_type=error.type if error else None,
        tokens=(record.prompt_tokens + record.completion_tokens) or None,
        items=count_items(record.outputs),
        context_length=_measure_context(node, record),
        model=_read_model(node, record),
        is_cut=record.outputs.get("finish_reason") == "length",
    )


def _read_model(node: PlanNode, record: StepRecord) -> str | None:
    """Return the provider and the name of the model that the step asked; None if it asked none."""
    model = record.inputs.get("model") if node.kind.family in ("model", "memory") else None
    if not isinstance(model, Mapping):
        return None
    return f"{model.get('provider') or ''}/{model.get('name') or ''}"


def _measure_context(node: PlanNode, record: StepRecord) -> int | None:
    """Return the length of the output that the kind makes for a prompt; None if it makes none."""
    name = node.kind.context_output
    context = record.outputs.get(name) if name else None
    return len(context) if isinstance(context, str) else None


def count_items(outputs: Mapping[str, Json]) -> int | None:
    """Return the length of the first list that has items; 0 if there are only empty lists and no other content."""
    has_list = has_text = False
    for value in outputs.values():
        if isinstance(value, list):
            if value:
                return len(value)
            has_list = True
        elif value and isinstance(value, str):
            has_text = True
    return 0 if has_list and not has_text else None


def build_retry_event(
    node: PlanNode, rounds: tuple[int, ...], error: StepError, tries: int, at: float
) -> NodeStateChange:
    change = NodeStateChange(node.id, "retrying", node.kind_name, node.title, rounds, at)
    return replace(change, attempt=tries + 1, error=error.message, error_type=error.type)


def build_step_error(fault: Exception, node_id: str) -> StepError:
    if isinstance(fault, EngineFault):
        return StepError(fault.error_type, fault.message)
    if not hasattr(fault, "is_recoverable"):  # errors of the memory package are expected, too
        log.error("node_broke", exc_info=fault, extra={"node": node_id})
    return StepError(type(fault).__name__, str(fault) or (type(fault).__doc__ or "").strip())


_encode = JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), check_circular=False, default=str
).encode


def measure_size(outputs: Mapping[str, Json]) -> int:
    """Return the number of bytes of the outputs as JSON. Text, the usual case, is measured without joining it."""
    size = 1 + len(outputs) if outputs else 2
    for name, value in outputs.items():
        encoded = encode_basestring(value) if isinstance(value, str) else _encode(value)
        size += len(encoded) if encoded.isascii() else len(encoded.encode(errors="surrogatepass"))
        size += len(name) + 3
    return size
