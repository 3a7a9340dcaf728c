"""The state of a run in progress, and the allowed changes of state."""

from collections.abc import Mapping
from enum import StrEnum

from workflows.engine.errors import EngineFault
from workflows.engine.kinds import Execution, NodeResult, has_untrusted_input
from workflows.engine.language.document import Json, Mode
from workflows.engine.language.plan import Plan, PlanNode
from workflows.engine.language.variables import VariablePool
from workflows.engine.ports import Usage
from workflows.engine.runtime.run_request import RunStart, build_system_variables
from workflows.engine.runtime.scheduler import Scheduler
from workflows.engine.runtime.step_records import (
    RunStatus,
    StepError,
    StepKey,
    StepRecord,
    StepStatus,
    Write,
)


class NodeState(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    RETRYING = "retrying"
    SUCCEEDED = "succeeded"
    EXCEPTION = "exception"  # failed, and its error strategy handled the failure
    FAILED = "failed"
    SKIPPED = "skipped"
    STOPPED = "stopped"
    PAUSED = "paused"


NODE_MOVES: Mapping[NodeState, frozenset[NodeState]] = {
    NodeState.PENDING: frozenset({NodeState.RUNNING, NodeState.SKIPPED}),
    NodeState.RUNNING: frozenset(
        {
            NodeState.SUCCEEDED,
            NodeState.EXCEPTION,
            NodeState.FAILED,
            NodeState.RETRYING,
            NodeState.STOPPED,
            NodeState.PAUSED,
        }
    ),
    NodeState.RETRYING: frozenset({NodeState.RUNNING, NodeState.STOPPED}),
    NodeState.PAUSED: frozenset({NodeState.RUNNING, NodeState.STOPPED}),
    NodeState.SUCCEEDED: frozenset(),
    NodeState.EXCEPTION: frozenset(),
    NodeState.FAILED: frozenset(),
    NodeState.SKIPPED: frozenset(),
    NodeState.STOPPED: frozenset(),
}

_ENDS = frozenset({RunStatus.SUCCEEDED, RunStatus.PARTIAL, RunStatus.FAILED, RunStatus.STOPPED})
RUN_MOVES: Mapping[RunStatus, frozenset[RunStatus]] = {
    # A run may fail or be stopped before a worker claimed it.
    RunStatus.QUEUED: frozenset({RunStatus.RUNNING, RunStatus.FAILED, RunStatus.STOPPED}),
    RunStatus.RUNNING: _ENDS | {RunStatus.PAUSED, RunStatus.QUEUED},
    RunStatus.PAUSED: frozenset({RunStatus.QUEUED, RunStatus.FAILED, RunStatus.STOPPED}),
    **dict.fromkeys(_ENDS, frozenset()),
}


class MoveNotAllowed(EngineFault):
    """The change of state is not allowed, which is an error of the engine."""


class RunState:
    """The totals over the steps of all scopes. Only the loop changes them, one step at a time."""

    __slots__ = (
        "_flow",
        "_untrusted_sources",
        "answers",
        "exceptions",
        "mode",
        "outputs",
        "pool",
        "records",
        "untrusted",
        "usage",
        "writes",
    )

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
        # See ``workflows.engine.language.untrusted``: from the document, from earlier turns, and from memory.
        self._flow = plan.flow
        self._untrusted_sources = set(start.untrusted)
        self.untrusted = plan.flow.find_untrusted(self._untrusted_sources)

    def add_seed(self, record: StepRecord) -> None:
        """Add a result of a node that is not in the plan, so that others can read it."""
        self.pool.set_outputs(record.key.node_id, record.outputs)
        for write in record.writes:
            self.pool.set(write.selector, write.value)
        if has_untrusted_input(record.kind, record.inputs):
            self._mark_untrusted(record)

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
        if has_untrusted_input(record.kind, record.inputs):
            self._mark_untrusted(record)
        if node.kind.execution is Execution.RESPONSE:
            self._respond(node, record)

    def _mark_untrusted(self, record: StepRecord) -> None:
        """Mark the step's node, and every node that reads from it, as untrusted: memory gave it untrusted content."""
        node = record.key.node_id
        if node not in self._untrusted_sources:
            self._untrusted_sources.add(node)
            self.untrusted = self._flow.find_untrusted(self._untrusted_sources)

    def _respond(self, node: PlanNode, record: StepRecord) -> None:
        outputs = record.outputs
        if record.key.rounds and node.kind.provides_results:
            return  # for the container around it
        if self.mode is not Mode.CHAT or "answer" not in outputs:
            self.outputs.update(outputs)
            return
        self.answers.append(outputs["answer"])
        self.outputs.update(outputs)
        self.outputs["answer"] = "".join(self.answers)

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

    def move(self, index: int, to: NodeState) -> None:
        if to not in NODE_MOVES[self.nodes[index]]:
            node = self.plan.nodes[index].id
            raise MoveNotAllowed(f"Node {node} can't go from {self.nodes[index]} to {to}")
        self.nodes[index] = to

    def add_record(self, node: PlanNode, record: StepRecord) -> None:
        """Apply all changes of a finished step at once, so that no other step sees half of them."""
        self.pool.set_outputs(node.id, record.outputs)
        for write in record.writes:
            self.pool.set(write.selector, write.value)
        if node.kind.provides_results:
            self.results.update(record.outputs)

    @property
    def is_last(self) -> bool:
        """Return whether a node ran after which there is no further round."""
        return any(
            state is NodeState.SUCCEEDED and node.kind.ends_rounds
            for node, state in zip(self.plan.nodes, self.nodes, strict=True)
        )


def build_success_record(
    node: PlanNode,
    key: StepKey,
    result: NodeResult,
    *,
    inputs: Mapping[str, Json],
    tries: int,
    started_at: float,
    elapsed: float,
) -> StepRecord:
    usage = result.usage
    return StepRecord(
        key=key,
        kind=node.kind_name,
        status=StepStatus.SUCCEEDED,
        handle=result.handle,
        outputs=result.outputs,
        inputs=inputs,
        writes=result.writes,
        tries=tries,
        started_at=started_at,
        elapsed=elapsed,
        prompt_tokens=usage.prompt_tokens if usage else 0,
        completion_tokens=usage.completion_tokens if usage else 0,
    )


def build_failure_record(
    node: PlanNode,
    key: StepKey,
    status: StepStatus,
    error: StepError,
    *,
    outputs: Mapping[str, Json] | None = None,
    inputs: Mapping[str, Json] | None = None,
    handle: str | None = None,
    tries: int,
    started_at: float,
    elapsed: float,
) -> StepRecord:
    return StepRecord(
        key=key,
        kind=node.kind_name,
        status=status,
        handle=handle,
        outputs=outputs or {},
        inputs=inputs or {},
        error=error,
        tries=tries,
        started_at=started_at,
        elapsed=elapsed,
    )
