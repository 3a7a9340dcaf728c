"""The state of a run in progress, and the allowed changes of state."""

from collections.abc import Collection, Mapping
from enum import StrEnum

from workflows.engine.errors import EngineFault
from workflows.engine.kinds import (
    SHOWN_MEMORIES,
    UNTRUSTED_KEYS,
    Execution,
    has_untrusted_input,
)
from workflows.engine.language.content_marks.shown_memories import bound_memories
from workflows.engine.language.document import Json, Mode
from workflows.engine.language.plan import Plan, PlanNode
from workflows.engine.language.variables import SYSTEM, VariablePool
from workflows.engine.ports import Usage
from workflows.engine.runtime.run_request import RunStart, build_system_variables
from workflows.engine.runtime.scheduler import Scheduler
from workflows.engine.runtime.step_records import (
    RunStatus,
    StepRecord,
    StepStatus,
    Write,
)
from workflows.engine.text_rendering import as_markdown


class NodeState(StrEnum):
    """The state of a node in its scope, from before its step to after it."""

    PENDING = "pending"
    RUNNING = "running"
    RETRYING = "retrying"
    SUCCEEDED = "succeeded"
    EXCEPTION = "exception"  # failed, and its error strategy handled the failure
    FAILED = "failed"
    SKIPPED = "skipped"
    STOPPED = "stopped"
    PAUSED = "paused"


_NODE_ENDS = frozenset(
    {
        NodeState.SUCCEEDED,
        NodeState.EXCEPTION,
        NodeState.FAILED,
        NodeState.SKIPPED,
        NodeState.STOPPED,
    }
)
NODE_MOVES: Mapping[NodeState, frozenset[NodeState]] = {
    NodeState.PENDING: frozenset({NodeState.RUNNING, NodeState.SKIPPED}),
    NodeState.RUNNING: _NODE_ENDS - {NodeState.SKIPPED} | {NodeState.RETRYING, NodeState.PAUSED},
    NodeState.RETRYING: frozenset({NodeState.RUNNING, NodeState.STOPPED}),
    NodeState.PAUSED: frozenset({NodeState.RUNNING, NodeState.STOPPED}),
    **dict.fromkeys(_NODE_ENDS, frozenset()),
}

_ENDS = frozenset({RunStatus.SUCCEEDED, RunStatus.PARTIAL, RunStatus.FAILED, RunStatus.STOPPED})
RUN_MOVES: Mapping[RunStatus, frozenset[RunStatus]] = {
    # A run may fail or be stopped before a worker claimed it.
    RunStatus.QUEUED: frozenset({RunStatus.RUNNING, RunStatus.FAILED, RunStatus.STOPPED}),
    RunStatus.RUNNING: _ENDS | {RunStatus.PAUSED, RunStatus.QUEUED},
    RunStatus.PAUSED: frozenset({RunStatus.QUEUED, RunStatus.FAILED, RunStatus.STOPPED}),
    **dict.fromkeys(_ENDS, frozenset()),
    # A person may continue a run that was given up because its workers died.
    RunStatus.FAILED: frozenset({RunStatus.QUEUED}),
}


class MoveNotAllowed(EngineFault):
    """The change of state is not allowed, which is an error of the engine."""


class RunState:
    """The totals over the steps of all scopes. Only the loop changes them, one step at a time."""

    def __init__(self, plan: Plan, start: RunStart, now: float) -> None:
        document = plan.document
        self.mode = document.mode
        self.pool = VariablePool(
            system=build_system_variables(start, document.mode, now),
            environment={v.name: v.value for v in document.environment} | dict(start.environment),
            conversation={v.name: v.value for v in document.conversation}
            | dict(start.conversation),
        )
        self.records: list[StepRecord] = []
        self.outputs: dict[str, Json] = {}
        self.answers: list[str] = []
        self.writes: list[Write] = []
        self.usage = Usage()
        self.exceptions = 0
        # See ``workflows.engine.language.content_marks.untrusted``. The sources are those of earlier turns and of recalled memories.
        self._flow, self._kinds = plan.flow, plan.kinds
        self._untrusted_sources = set(start.untrusted)
        # Only added to: steps that have begun see what is added, since they may read a variable that others have set since.
        self.untrusted = {*plan.flow.find_untrusted(self._untrusted_sources)}
        # The texts of memories that steps and earlier turns were shown, in the order in which they were.
        self.shown_memories: dict[str, None] = dict.fromkeys(
            [*start.shown_memories, *start.memories_in_inputs]
        )
        self._memories_by_node: dict[str, dict[str, None]] = {}
        # The names of what the person wrote, whose words reveal nothing.
        self.own_sources = (
            frozenset()
            if start.memories_in_inputs
            else frozenset({SYSTEM, plan.nodes[plan.root].id})
        )

    def add_seed(self, record: StepRecord) -> None:
        """Add the result of a node that is not in the plan, so that nodes of the plan can read it."""
        self.pool.set_outputs(record.key.node_id, record.outputs)
        for write in record.writes:
            self.pool.set(write.selector, write.value)
        self._add_marks(record)

    def add_record(self, node: PlanNode, record: StepRecord) -> None:
        """Add a finished step of any scope to the run's totals."""
        self.records.append(record)
        if record.writes:
            self.writes += record.writes
        if record.prompt_tokens or record.completion_tokens:
            self.usage += Usage(record.prompt_tokens, record.completion_tokens)
        self.exceptions += record.tries - 1
        if record.status is StepStatus.EXCEPTION or (
            record.status is StepStatus.FAILED and record.key.rounds
        ):
            self.exceptions += 1  # the container handles a failure in a round
        elif record.status is StepStatus.SUCCEEDED and record.error is not None:
            self.exceptions += 1  # the step left something undone
        self._add_marks(record)
        if node.kind.execution is Execution.RESPONSE:
            self._add_response(node, record)

    def find_untrusted_results(self) -> frozenset[str]:
        """Return what is untrusted of the results, to which only the nodes that ran have contributed."""
        finished = {record.key.node_id for record in self.records}
        return self._flow.find_left(finished, self._untrusted_sources)

    def list_marks_of(self, nodes: Collection[str]) -> Mapping[str, Json]:
        """Return the inputs that say of these nodes what their steps were given: untrusted content, and memories.

        The step of a container has those of the nodes inside it, since a worker that runs only a part of the run reads
        no steps inside containers.
        """
        untrusted = sorted(self._untrusted_sources.intersection(nodes))
        memories = [
            text
            for node in sorted(self._memories_by_node.keys() & nodes)
            for text in self._memories_by_node[node]
        ]
        marks: dict[str, Json] = {UNTRUSTED_KEYS: untrusted} if untrusted else {}
        return {**marks, SHOWN_MEMORIES: [*bound_memories(memories)]} if memories else marks

    def _add_marks(self, record: StepRecord) -> None:
        if texts := record.inputs.get(SHOWN_MEMORIES, ()):
            memories = dict[str, None].fromkeys(texts)
            self.shown_memories |= memories
            self._memories_by_node.setdefault(record.key.node_id, {}).update(memories)
        if has_untrusted_input(record.kind, record.inputs):
            self._mark_untrusted(self._list_marked(record))

    def _list_marked(self, record: StepRecord) -> frozenset[str]:
        """Return the node of a step with untrusted content; of a container, those inside it, which it names, too."""
        kind = self._kinds.get(record.kind)
        inner = kind is not None and kind.execution is Execution.CONTAINER
        return frozenset({record.key.node_id, *(record.inputs[UNTRUSTED_KEYS] if inner else ())})

    def _mark_untrusted(self, nodes: frozenset[str]) -> None:
        """Mark nodes whose steps were given untrusted content, and every node that reads from them, as untrusted."""
        if not nodes <= self._untrusted_sources:
            self._untrusted_sources |= nodes
            self.untrusted |= self._flow.find_untrusted(self._untrusted_sources)

    def _add_response(self, node: PlanNode, record: StepRecord) -> None:
        outputs = record.outputs
        if record.key.rounds and node.kind.provides_results:
            return  # its outputs are the results of the container's round
        self.outputs.update(outputs)
        if self.mode is Mode.CHAT and "answer" in outputs:
            self.answers.append(self._read_answer(node, outputs["answer"]))
            self.outputs["answer"] = "".join(self.answers)

    def _read_answer(self, node: PlanNode, answer: Json) -> str:
        """Return the text of a response node as it is streamed: that of an End node begins a line of its own."""
        text = as_markdown(answer)
        begins_line = node.kind.provides_results and text and any(self.answers)
        return f"\n{text}" if begins_line else text

    def resolve_status(self) -> RunStatus:
        """Return the status of a run that was executed to its end."""
        return RunStatus.PARTIAL if self.exceptions else RunStatus.SUCCEEDED


class ScopeState:
    """The nodes of one scope: the top level, or one round of a container."""

    __slots__ = ("nodes", "plan", "pool", "results", "scheduler")

    def __init__(self, plan: Plan, pool: VariablePool) -> None:
        self.plan = plan
        self.pool = pool
        self.scheduler = Scheduler(plan)
        self.nodes = [NodeState.PENDING] * len(plan.nodes)
        self.results: dict[str, Json] = {}

    def move(self, index: int, state: NodeState) -> None:
        if state not in NODE_MOVES[self.nodes[index]]:
            node = self.plan.nodes[index].id
            raise MoveNotAllowed(f"Node {node} can't go from {self.nodes[index]} to {state}")
        self.nodes[index] = state

    def add_record(self, node: PlanNode, record: StepRecord) -> None:
        """Apply all changes of a finished step at once, so that no other step sees half of them."""
        self.pool.set_outputs(node.id, record.outputs)
        for write in record.writes:
            self.pool.set(write.selector, write.value)
        if node.kind.provides_results:
            self.results.update(record.outputs)

    @property
    def is_last(self) -> bool:
        """Return whether a node ran that makes this round the last one."""
        return any(
            state is NodeState.SUCCEEDED and node.kind.ends_rounds
            for node, state in zip(self.plan.nodes, self.nodes, strict=True)
        )
