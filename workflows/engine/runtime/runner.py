"""Runs a workflow in this process, without a server.

runner = WorkflowRunner(document, memory=InMemoryProvider(), models=...)
handle = runner.start(inputs={...}, system={"conversation_id": "conv-123"})
async for event in handle.events(): ...
result = await handle.result()
"""

import asyncio
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from dataclasses import replace
from functools import partial
from typing import Any, Final

from workflows.engine.earlier_turns import HistoryPort
from workflows.engine.errors import ToolFailed
from workflows.engine.files.ports import DocumentPort, FilePort
from workflows.engine.kinds import AnyKind, Kinds
from workflows.engine.language.document import Document, Json
from workflows.engine.language.dsl import load_document
from workflows.engine.language.plan import Plan, compile_plan
from workflows.engine.language.start_form import check_start_inputs
from workflows.engine.nodes import build_kinds
from workflows.engine.nodes.agent.tool_use.merged_functions import MergedWorkflow, MergingTools
from workflows.engine.ports import (
    ClockPort,
    CodePort,
    HttpPort,
    IdPort,
    MemoryPort,
    MemorySource,
    ModelPort,
    Ports,
    ReminderPort,
    RunScopedMemory,
    TemplatePort,
)
from workflows.engine.runtime.events import Event, RunStarted
from workflows.engine.runtime.local_ports import ListJournal, RandomIds, SystemClock
from workflows.engine.runtime.loop import execute_plan
from workflows.engine.runtime.run_request import (
    MAX_SECONDS,
    MAX_STEPS,
    RunControl,
    RunResult,
    RunStart,
)
from workflows.engine.runtime.step_records import RunStatus, StepKey, StepRecord
from workflows.engine.runtime.waits import Answer, get_asked_call
from workflows.engine.sub_workflows.children import (
    MAX_RUNS_BELOW,
    MAX_STEPS_BELOW,
    LocalChildren,
    LocalSubWorkflows,
    RunsBelow,
)
from workflows.engine.sub_workflows.form import check_call
from workflows.engine.sub_workflows.limited_tools import LimitedTools
from workflows.engine.sub_workflows.merging import add_merged_names
from workflows.engine.sub_workflows.shares import Share
from workflows.engine.sub_workflows.spending import Spending, limit_model
from workflows.engine.sub_workflows.spending_limits import SpendingLimits
from workflows.engine.sub_workflows.tools import LocalWorkflowTools
from workflows.engine.testing.mocks import Mocks
from workflows.engine.tool_calls import ToolPort
from workflows.engine.tools.local_tool import LocalTool
from workflows.engine.tools.port import LocalTools, build_table


Source = Document | str | bytes | Mapping[str, Json]

# The name of the runner's own workflow among the ancestors of child runs.
_OUTERMOST: Final = "this workflow"


class WorkflowRunner:
    """Compiles a document once, for any number of runs, also concurrent ones.

    ``memory`` is a memory port, or a provider whose memory then outlives the run. ``tools`` are added to the built-in
    ones, where plain functions become tools, or it is a tool port that replaces them. ``workflows`` are those that it
    may run as sub-workflows and as tools, by slug. ``plugins`` are added to the built-in kinds, unless ``kinds`` are
    all that there are. With ``checked=True`` the inputs count as already checked against the start form.
    """

    def __init__(
        self,
        document: Source,
        *,
        memory: MemoryPort | MemorySource | None = None,
        models: ModelPort | None = None,
        templates: TemplatePort | None = None,
        code: CodePort | None = None,
        http: HttpPort | None = None,
        files: FilePort | None = None,
        documents: DocumentPort | None = None,
        history: HistoryPort | None = None,
        reminder: ReminderPort | None = None,
        tools: ToolPort | Sequence[LocalTool | Callable[..., object]] = (),
        workflows: Mapping[str, Source] | None = None,
        plugins: Iterable[AnyKind] = (),
        kinds: Kinds | None = None,
        mocks: Mapping[str, Mapping[str, Json]] | Mocks | None = None,
        environment: Mapping[str, Json] | None = None,
        clock: ClockPort | None = None,
        ids: IdPort | None = None,
        max_steps: int = MAX_STEPS,
        timeout_seconds: float | None = MAX_SECONDS,
        max_runs_below: int = MAX_RUNS_BELOW,
        max_steps_below: int = MAX_STEPS_BELOW,
        checked: bool = False,
    ) -> None:
        self.document = (
            document if isinstance(document, Document) else load_document(document).document
        )
        self._kinds = kinds or build_kinds(plugins=plugins)
        self.plan: Plan = compile_plan(self.document, self._kinds)
        clock = clock or SystemClock()
        if isinstance(tools, Sequence):
            tools = LocalTools(build_table(tools), clock, http)
        self._ports = Ports(
            clock=clock,
            ids=ids or RandomIds(),
            model=models,
            memory=memory.port() if isinstance(memory, MemorySource) else memory,
            templates=templates,
            code=code,
            http=http,
            files=files,
            documents=documents,
            history=history,
            reminder=reminder,
            tools=tools,
        )
        self._workflows = workflows or {}
        self._ancestors: Mapping[str, str] = {"": _OUTERMOST}
        self._runners: dict[str, WorkflowRunner] = {}  # of the workflows that were run so far
        self._children = LocalChildren()
        self._mocks = Mocks(mocks) if isinstance(mocks, Mapping) else mocks
        self._environment = dict(environment or {})
        self._max_steps, self._timeout_seconds = max_steps, timeout_seconds
        self._max_runs_below, self._max_steps_below = max_runs_below, max_steps_below
        self._checked = checked

    def start(
        self,
        *,
        inputs: Mapping[str, Json] | None = None,
        system: Mapping[str, Json] | None = None,
        conversation: Mapping[str, Json] | None = None,
        untrusted: Collection[str] = (),
        shown_memories: Collection[str] = (),
        run_id: str | None = None,
    ) -> "RunHandle":
        """Start a run in the running event loop. Raises InputRejected before anything has run."""
        inputs = dict(inputs or {})
        start = RunStart(
            run_id=run_id or self._ports.ids.new(),
            inputs=inputs if self._checked else check_start_inputs(self.document, inputs),
            system=add_merged_names(self.document, system or {}),
            environment=self._environment,
            conversation=conversation or {},
            untrusted=untrusted,
            shown_memories=shown_memories,
            max_steps=self._max_steps,
            timeout_seconds=self._timeout_seconds,
        )
        runs_below = RunsBelow(limit=self._max_runs_below, step_limit=self._max_steps_below)
        return self._begin(start, runs_below)

    def start_child(
        self,
        inputs: Mapping[str, Json],
        system: Mapping[str, Json],
        *,
        is_untrusted: bool,
        is_chosen: bool,
        memories: Collection[str],
        limits: SpendingLimits,
        shares: tuple[Share, ...],
        runs_below: RunsBelow,
    ) -> "RunHandle":
        """Start a run that another run called. Raises InputRejected before anything has run."""
        checked_inputs, query = check_call(self.document, inputs)
        system = system if query is None else {**system, "query": query}
        start = RunStart(
            run_id=self._ports.ids.new(),
            inputs=checked_inputs,
            system=add_merged_names(self.document, system),
            environment=self._environment,
            untrusted=self.plan.list_untrusted_starts(
                has_untrusted_inputs=is_untrusted, is_chosen=is_chosen
            ),
            memories_in_inputs=memories,
            max_steps=self._max_steps,
            timeout_seconds=self._timeout_seconds,
            spending_limits=limits,
            shares=shares,
        )
        return self._begin(start, runs_below, partial(runs_below.reserve_steps, start.run_id))

    def resume(self, paused: "RunHandle", answers: Mapping[StepKey, Answer]) -> "RunHandle":
        """Continue a paused run with answers to its open waits; finished steps do not run again."""
        self._children.add_answers(answers)
        ports = self._build_ports(paused.start, paused.spending, paused.runs_below)
        return RunHandle(
            self.plan,
            paused.start,
            ports,
            self._mocks,
            paused,
            answers,
            spending=paused.spending,
            runs_below=paused.runs_below,
        )

    def _begin(
        self,
        start: RunStart,
        runs_below: RunsBelow,
        reserve_steps: Callable[[int], Awaitable[None]] | None = None,
    ) -> "RunHandle":
        spending = Spending(
            start.spending_limits,
            shares=start.shares,
            port=runs_below.shares,
            reserve_steps=reserve_steps,
        )
        ports = self._build_ports(start, spending, runs_below)
        return RunHandle(
            self.plan, start, ports, self._mocks, spending=spending, runs_below=runs_below
        )

    def _build_ports(self, start: RunStart, spending: Spending, runs_below: RunsBelow) -> Ports:
        """Return the ports of one run, which know the workflows around it."""
        model = limit_model(self._ports.model, spending)
        if not self._workflows:
            tools = self._ports.tools and LimitedTools(self._ports.tools, spending)
            return replace(self._ports, model=model, tools=tools)
        sub_workflows = LocalSubWorkflows(
            self._find_runner, self._ancestors, start.system, self._children, spending, runs_below
        )
        tools = self._ports.tools and MergingTools(
            LocalWorkflowTools(self._find_document, sub_workflows, self._ports.tools),
            self._load_merged,
        )
        limited_tools = tools and LimitedTools(tools, spending)
        return replace(self._ports, model=model, sub_workflows=sub_workflows, tools=limited_tools)

    def _find_document(self, slug: str) -> Document | None:
        """Return the document of a workflow that a run of this one may use as a tool."""
        runner = self._find_runner(slug, {**self._ancestors, slug: slug})
        return runner.document if runner is not None else None

    async def _load_merged(self, slug: str) -> MergedWorkflow:
        document = self._find_document(slug)
        if document is None:
            raise ToolFailed(f"There is no workflow {slug}")
        return MergedWorkflow(slug, document.name or slug, document.description, document)

    def _find_runner(self, slug: str, ancestors: Mapping[str, str]) -> "WorkflowRunner | None":
        """Return the runner of a workflow that a run of this one calls, which shares this runner's ports."""
        source = self._workflows.get(slug)
        if source is None:
            return None
        runner = self._runners.get(slug)
        if runner is None:
            options: dict[str, Any] = {  # Any: options of several types
                "max_steps": self._max_steps,
                "timeout_seconds": self._timeout_seconds,
            }
            runner = WorkflowRunner(source, workflows=self._workflows, kinds=self._kinds, **options)
            runner._ports, runner._ancestors = self._ports, ancestors
            runner._environment, runner._children = self._environment, self._children
            self._runners[slug] = runner
        return runner

    async def run(
        self,
        *,
        inputs: Mapping[str, Json] | None = None,
        system: Mapping[str, Json] | None = None,
        conversation: Mapping[str, Json] | None = None,
    ) -> RunResult:
        handle = self.start(inputs=inputs, system=system, conversation=conversation)
        return await handle.result()


class RunHandle:
    """A run in progress."""

    def __init__(
        self,
        plan: Plan,
        start: RunStart,
        ports: Ports,
        mocks: Mocks | None,
        paused: "RunHandle | None" = None,
        answers: Mapping[StepKey, Answer] | None = None,
        *,
        spending: Spending,
        runs_below: RunsBelow,
    ) -> None:
        self.run_id, self.start = start.run_id, start
        self.spending, self.runs_below = spending, runs_below
        self._journal = ListJournal()
        self._history: tuple[StepRecord, ...] = ()
        self._answers: Mapping[StepKey, Answer] = answers or {}
        if paused is not None:
            self._history = tuple(paused.records)
            self._answers = {**paused._answers, **paused._note_calls(self._answers)}
        self._control = RunControl()
        self._task = asyncio.create_task(self._drive(plan, start, ports, mocks))

    def events(self) -> AsyncIterator[Event]:
        """Return all events of the run from the first on, also if the run has ended."""
        return self._journal.read()

    @property
    def records(self) -> Sequence[StepRecord]:
        """Return the steps that have ended so far, and the parts of steps, also those before a pause."""
        return (*self._history, *self._journal.records)

    async def result(self) -> RunResult:
        # Shielded, so that a cancelled wait for the result doesn't stop the run.
        return await asyncio.shield(self._task)

    def stop(self, reason: str = "The run was stopped.") -> None:
        self._control.stop(reason)

    def _note_calls(self, answers: Mapping[StepKey, Answer]) -> dict[StepKey, Answer]:
        """Return the answers with the calls that this paused run asked about."""
        calls = {
            each.key: get_asked_call(each.wait.form) for each in self._task.result().open_waits
        }
        return {key: replace(answer, call=calls.get(key, "")) for key, answer in answers.items()}

    async def _drive(
        self, plan: Plan, start: RunStart, ports: Ports, mocks: Mocks | None
    ) -> RunResult:
        journal = self._journal
        journal.add_event(RunStarted(inputs=start.inputs))
        is_paused = False
        try:
            result = await execute_plan(
                plan,
                start,
                ports,
                journal,
                history=self._history,
                mocks=mocks,
                control=self._control,
                answers=self._answers,
            )
            is_paused = result.status is RunStatus.PAUSED
            if not is_paused:
                journal.add_event(result.build_event())
        finally:
            journal.close()
            memory: object = ports.memory  # a port need not record requests
            if isinstance(memory, RunScopedMemory) and not is_paused:
                await memory.end_run(start.run_id)
        return result
