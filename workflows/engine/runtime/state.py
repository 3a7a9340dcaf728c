"""What is known of a run while it goes on, and which changes of state are allowed."""

from collections.abc import Mapping
from enum import StrEnum

from workflows.engine.errors import WorkflowFault
from workflows.engine.kinds import Execution, NodeResult, has_untrusted_input
from workflows.engine.language.document import Json, Mode
from workflows.engine.language.plan import Plan, PlanNode
from workflows.engine.language.variables import VariablePool
from workflows.engine.ports import Usage
from workflows.engine.runtime.run_request import RunStart, system_variables
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
    EXCEPTION = "exception"  # failed, and its error strategy dealt with it
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
    # A run may fail or be stopped before anybody took it up.
    RunStatus.QUEUED: frozenset({RunStatus.RUNNING, RunStatus.FAILED, RunStatus.STOPPED}),
    RunStatus.RUNNING: _ENDS | {RunStatus.PAUSED, RunStatus.QUEUED},
    RunStatus.PAUSED: frozenset({RunStatus.QUEUED, RunStatus.FAILED, RunStatus.STOPPED}),
    **dict.fromkeys(_ENDS, frozenset()),
}


class MoveNotAllowed(WorkflowFault):
    """A state can't follow that one; the engine is at fault."""


class RunState:
    """What steps of all scopes add up to. Changed by the loop only, one step at a time."""

    __slots__ = (
        "_flow",
        "_told",
        "answers",
        "exceptions",
        "mode",
        "outputs",
        "outside",
        "pool",
        "records",
        "usage",
        "writes",
    )

    def __init__(self, plan: Plan, start: RunStart, now: float) -> None:
        document = plan.document
        self.mode = document.mode
        self.pool = VariablePool(
            system=system_variables(start, document.mode, now),
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
        # See ``workflows.engine.language.untrusted``: what the document says, what earlier turns left, and
        # what memory told since.
        self._flow = plan.flow
        self._told = set(start.outside)
        self.outside = plan.flow.reached(self._told)

    def seed(self, record: StepRecord) -> None:
        """A result of a node that isn't in the plan, to be read."""
        self.pool.set_outputs(record.key.node_id, record.outputs)
        for write in record.writes:
            self.pool.set(write.selector, write.value)
        if has_untrusted_input(record.kind, record.inputs):
            self._hear(record)

    def keep(self, node: PlanNode, record: StepRecord) -> None:
        """What a finished step adds to its run, whichever scope it is from."""
        self.records.append(record)
        if record.writes:
            self.writes += record.writes
        if record.prompt_tokens or record.completion_tokens:
            self.usage += Usage(record.prompt_tokens, record.completion_tokens)
        self.exceptions += record.tries - 1
        if record.status is StepStatus.EXCEPTION or (
            record.status is StepStatus.FAILED and record.key.rounds
        ):
            self.exceptions += 1  # a failure in a round is its container's to deal with
        if has_untrusted_input(record.kind, record.inputs):
            self._hear(record)
        if node.kind.execution is Execution.RESPONSE:
            self._respond(node, record)

    def _hear(self, record: StepRecord) -> None:
        """Memory told this step strangers' words: so are those of whatever reads from it."""
        node = record.key.node_id
        if node not in self._told:
            self._told.add(node)
            self.outside = self._flow.reached(self._told)

    def _respond(self, node: PlanNode, record: StepRecord) -> None:
        outputs = record.outputs
        if record.key.rounds and node.kind.gives_results:
            return  # for the container around it
        if self.mode is not Mode.CHAT or "answer" not in outputs:
            self.outputs.update(outputs)
            return
        self.answers.append(outputs["answer"])
        self.outputs.update(outputs)
        self.outputs["answer"] = "".join(self.answers)

    def status(self) -> RunStatus:
        """Of a run that came to its end."""
        return RunStatus.PARTIAL if self.exceptions else RunStatus.SUCCEEDED


class ScopeState:
    """The nodes of one scope: of the top, or of one round of a container."""

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

    def keep(self, node: PlanNode, record: StepRecord) -> None:
        """Everything a finished step changes here, at once: no other step sees half of it."""
        self.pool.set_outputs(node.id, record.outputs)
        for write in record.writes:
            self.pool.set(write.selector, write.value)
        if node.kind.gives_results:
            self.results.update(record.outputs)

    @property
    def broke(self) -> bool:
        """Whether a node ran after which no round shall follow."""
        return any(
            state is NodeState.SUCCEEDED and node.kind.ends_rounds
            for node, state in zip(self.plan.nodes, self.nodes, strict=True)
        )


def succeeded(
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


def broken(
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
