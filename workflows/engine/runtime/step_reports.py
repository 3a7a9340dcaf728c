"""What is told of a step: its events, its error in words, its size."""

import logging
from collections.abc import Mapping
from json import JSONEncoder
from json.encoder import encode_basestring

from workflows.engine.errors import WorkflowFault
from workflows.engine.language.document import Json
from workflows.engine.language.plan import PlanNode
from workflows.engine.runtime.events import NodeStateChange
from workflows.engine.runtime.state import NodeState
from workflows.engine.runtime.step_records import StepError, StepRecord, StepStatus


log = logging.getLogger(__name__)

# How a step ended → the node's state, and the word of its event.
ENDS: Mapping[StepStatus, tuple[NodeState, str]] = {
    StepStatus.SUCCEEDED: (NodeState.SUCCEEDED, "completed"),
    StepStatus.EXCEPTION: (NodeState.EXCEPTION, "failed"),
    StepStatus.FAILED: (NodeState.FAILED, "failed"),
    StepStatus.STOPPED: (NodeState.STOPPED, "stopped"),
}


def ended(node: PlanNode, record: StepRecord) -> NodeStateChange:
    error = record.error
    return NodeStateChange(
        node.id,
        ENDS[record.status][1],
        node.kind_name,
        node.title,
        record.key.rounds,
        at=record.started_at + record.elapsed,
        elapsed=record.elapsed,
        size=size_of(record.outputs),
        attempt=record.tries,
        handle=record.handle,
        error=error.message if error else None,
        error_type=error.type if error else None,
        tokens=(record.prompt_tokens + record.completion_tokens) or None,
        items=items_of(record.outputs),
        context_length=_context_length(node, record),
    )


def _context_length(node: PlanNode, record: StepRecord) -> int | None:
    """Asked by name: an output so called of another kind is nothing but that."""
    name = node.kind.context_output
    made = record.outputs.get(name) if name else None
    return len(made) if isinstance(made, str) else None


def items_of(outputs: Mapping[str, Json]) -> int | None:
    return next((len(value) for value in outputs.values() if isinstance(value, list)), None)


def retrying(
    node: PlanNode, rounds: tuple[int, ...], error: StepError, tries: int, at: float
) -> NodeStateChange:
    return NodeStateChange(
        node.id,
        "retrying",
        node.kind_name,
        node.title,
        rounds,
        at=at,
        attempt=tries + 1,
        error=error.message,
        error_type=error.type,
    )


def error_of(fault: Exception, node_id: str) -> StepError:
    if isinstance(fault, WorkflowFault):
        return StepError(fault.error_type, fault.message)
    if not hasattr(
        fault, "is_recoverable"
    ):  # memory's faults are expected, they only live elsewhere
        log.error("node_broke", exc_info=fault, extra={"node": node_id})
    return StepError(type(fault).__name__, str(fault) or (type(fault).__doc__ or "").strip())


_encode = JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), check_circular=False, default=str
).encode


def size_of(outputs: Mapping[str, Json]) -> int:
    """Bytes of the outputs as JSON. Text, nearly always what it is, is measured without a document."""
    size = 1 + len(outputs) if outputs else 2
    for name, value in outputs.items():
        text = encode_basestring(value) if isinstance(value, str) else _encode(value)
        size += len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
        size += len(name) + 3
    return size
