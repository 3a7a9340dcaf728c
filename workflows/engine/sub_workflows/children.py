"""Child runs: the rules of nesting, and the port that runs children in this process."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from workflows.engine.errors import LimitReached, NestingNotAllowed, SubWorkflowUnavailable
from workflows.engine.language.document import Json
from workflows.engine.ports import SubRunResult
from workflows.engine.runtime.run_request import RunResult
from workflows.engine.runtime.step_records import RunStatus, StepKey, StepRecord
from workflows.engine.runtime.waits import Answer, StepWaiting, Wait
from workflows.engine.sub_workflows.form import build_call_outputs
from workflows.engine.sub_workflows.shares import LocalShares
from workflows.engine.sub_workflows.spending import Spending


if TYPE_CHECKING:
    from workflows.engine.runtime.runner import RunHandle, WorkflowRunner


MAX_DEPTH: Final = 5  # children inside children
MAX_RUNS_BELOW: Final = 200  # of one start, at every depth
MAX_STEPS_BELOW: Final = 20_000  # of these runs together, with the rounds of their agents
ROUND_KIND: Final = "agent-model"  # of the part of a step that is the round of an agent
_PART_PREFIX: Final = "child:"


def check_nesting(ancestors: Mapping[str, str], target: str, name: str) -> None:
    """Raise NestingNotAllowed if a child would be nested too deep, or inside a run of the same workflow.

    ``ancestors`` are the names of the workflows around the child by their ids, the outermost one first.
    """
    path = " → ".join((*ancestors.values(), name))
    if target in ancestors:
        raise NestingNotAllowed(f"{name} can't run inside itself: {path}")
    if len(ancestors) > MAX_DEPTH:
        raise NestingNotAllowed(f"Workflows can be nested at most {MAX_DEPTH} deep: {path}")


def check_runs_below(count: int, name: str, limit: int, setting: str) -> None:
    """Raise NestingNotAllowed if one start has begun as many other runs as it may. ``count`` are those so far."""
    if count >= limit:
        raise NestingNotAllowed(
            f"{name} can't run: one start may begin at most {limit} runs of other workflows; "
            f"raise {setting} to allow more"
        )


def check_steps_below(count: int, name: str, limit: int, setting: str) -> None:
    """Raise NestingNotAllowed if the runs that one start began have used up their steps and rounds of agents."""
    if count >= limit:
        raise NestingNotAllowed(
            f"{name} can't run: the runs that one start begins may make at most {limit} steps and rounds of agents; "
            f"raise {setting} to allow more"
        )


def check_steps_left(count: int, limit: int, setting: str) -> None:
    """Raise LimitReached if a run that goes on may not make the call that it has reserved a step for, which is counted."""
    if count > limit:
        raise LimitReached(
            f"The runs that one start begins may make at most {limit} steps and rounds of agents; "
            f"raise {setting} to allow more"
        )


def count_steps(records: Iterable[StepRecord]) -> int:
    """Return the number of steps of a run with the rounds of its agents."""
    return sum(not record.key.part or record.kind == ROUND_KIND for record in records)


def count_call(calls: Counter[str], idempotency_key: str) -> str:
    """Return the key of this call's child. Calls after the first one with a key are retries, with children of their own."""
    key = name_next_call(calls, idempotency_key)
    calls[idempotency_key] += 1
    return key


def name_next_call(calls: Counter[str], idempotency_key: str) -> str:
    number = calls[idempotency_key] + 1
    return idempotency_key if number == 1 else f"{idempotency_key}#{number}"


def build_child_wait(run_id: str, form: Mapping[str, Json] | None = None) -> StepWaiting:
    """Return what a caller raises whose child is paused."""
    return StepWaiting(Wait(form, child_run_id=run_id), f"{_PART_PREFIX}{run_id}")


@dataclass(slots=True)
class LocalChildren:
    """The paused children of all runs of a runner, by their keys, and the answers that they get next."""

    paused: dict[str, "tuple[RunHandle, RunResult]"] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)  # by the id of the child

    def add_answers(self, answers: Mapping[StepKey, Answer]) -> None:
        """Keep the answers to the waits of children, which their callers passed on as their own."""
        for key, answer in answers.items():
            if key.part.startswith(_PART_PREFIX):
                self.answers[key.part.removeprefix(_PART_PREFIX)] = answer


@dataclass(slots=True)
class RunsBelow:
    """The runs that one start has begun, at every depth, the steps that they have made, and what they share."""

    count: int = 0
    limit: int = MAX_RUNS_BELOW
    steps: int = 0  # of those that have ended
    step_limit: int = MAX_STEPS_BELOW
    shares: LocalShares = field(default_factory=LocalShares)
    running: "dict[str, RunHandle]" = field(default_factory=dict)  # by the ids of the runs
    reserved: dict[str, int] = field(
        default_factory=dict
    )  # the steps of each with its calls in progress

    @property
    def steps_so_far(self) -> int:
        reserved = self.reserved
        return self.steps + sum(
            max(count_steps(run.records), reserved.get(run_id, 0))
            for run_id, run in self.running.items()
        )

    def add(self, name: str) -> None:
        """Count one more. Raise NestingNotAllowed if it is one too many."""
        check_runs_below(self.count, name, self.limit, "max_runs_below")
        check_steps_below(self.steps_so_far, name, self.step_limit, "max_steps_below")
        self.count += 1

    async def reserve_steps(self, run_id: str, calls: int) -> None:
        """Reserve a step for each call of a run that is in progress. Raise LimitReached if there is none left for the last one."""
        recorded = count_steps(self.running[run_id].records)
        self.reserved[run_id] = max(self.reserved.get(run_id, 0), recorded + calls)
        try:
            check_steps_left(self.steps_so_far, self.step_limit, "max_steps_below")
        except LimitReached:
            self.reserved[run_id] = recorded + calls - 1
            raise

    def end(self, handle: "RunHandle") -> None:
        """Count the steps of a run that has ended."""
        del self.running[handle.run_id]
        self.reserved.pop(handle.run_id, None)
        self.steps += count_steps(handle.records)


@dataclass(slots=True)
class LocalSubWorkflows:
    """Implements ``engine.ports.SubWorkflowPort`` for the runs of ``WorkflowRunner``.

    ``find_runner`` returns the runner of a workflow by its slug, whose runs have these ancestors. ``spending`` is that of
    the calling run.
    """

    find_runner: "Callable[[str, Mapping[str, str]], WorkflowRunner | None]"
    ancestors: Mapping[str, str]
    system: Mapping[str, Json]
    children: LocalChildren
    spending: Spending = field(default_factory=Spending)
    runs_below: RunsBelow = field(default_factory=RunsBelow)
    _calls: Counter[str] = field(default_factory=Counter)

    async def run(
        self,
        reference: str,
        inputs: Mapping[str, Json],
        *,
        idempotency_key: str,
        is_untrusted: bool = False,
        is_chosen: bool = False,
        memories: Collection[str] = (),
        version: str = "",  # here workflows don't change while a run goes on
    ) -> SubRunResult:
        key = count_call(self._calls, idempotency_key)
        check_nesting(self.ancestors, reference, reference)
        runner = self.find_runner(reference, {**self.ancestors, reference: reference})
        if runner is None:
            raise SubWorkflowUnavailable(f"There is no workflow {reference}")
        handle = self._resume(runner, key) or self._start(
            runner,
            reference,
            inputs,
            is_untrusted=is_untrusted,
            is_chosen=is_chosen,
            memories=memories,
        )
        self.runs_below.running[handle.run_id] = handle
        try:
            result = await handle.result()
        except BaseException:
            handle.stop()
            raise
        if result.status is RunStatus.PAUSED:
            self.children.paused[key] = handle, result
            raise build_child_wait(handle.run_id, result.open_waits[0].wait.form)
        self.runs_below.end(handle)
        usage = handle.spending.complete(result.usage)
        self.spending.add(usage)
        return SubRunResult(
            handle.run_id,
            result.status.value,
            build_call_outputs(runner.document.mode, result.outputs),
            result.error,
            usage,
            result.has_untrusted_outputs,
            result.memories_in_outputs,
        )

    async def has_begun(self, idempotency_key: str) -> bool:
        return name_next_call(self._calls, idempotency_key) in self.children.paused

    def _start(
        self,
        runner: "WorkflowRunner",
        reference: str,
        inputs: Mapping[str, Json],
        *,
        is_untrusted: bool,
        is_chosen: bool,
        memories: Collection[str],
    ) -> "RunHandle":
        identity = {"app_id": reference, "workflow_id": reference}
        if self.system.get("user_id"):
            identity["user_id"] = self.system["user_id"]
        self.runs_below.add(reference)
        return runner.start_child(
            inputs,
            identity,
            is_untrusted=is_untrusted,
            is_chosen=is_chosen,
            memories=memories,
            limits=self.spending.get_left(),
            shares=self.spending.list_shares(),
            runs_below=self.runs_below,
        )

    def _resume(self, runner: "WorkflowRunner", key: str) -> "RunHandle | None":
        """Continue a paused child with the answer that arrived. Without one, its caller pauses again."""
        if key not in self.children.paused:
            return None
        handle, result = self.children.paused[key]
        answer = self.children.answers.pop(handle.run_id, None)
        if answer is None:
            raise build_child_wait(handle.run_id, result.open_waits[0].wait.form)
        del self.children.paused[key]
        open_wait = result.open_waits[0]
        nested = self.children.answers  # the child's own wait may be that of its child
        if open_wait.wait.child_run_id:
            nested[open_wait.wait.child_run_id] = answer
        return runner.resume(handle, {open_wait.key: answer})
