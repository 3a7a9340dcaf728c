"""Iteration: runs its body once for each item of a list, and gathers what comes out.

Rounds see the variables there were before them, on a copy: nothing of one reaches another but
changes to conversation variables, and nothing reaches the outside but the gathered list.
"""

from enum import StrEnum
from typing import Any

from pydantic import Field as Bounded

from workflows.engine.document import Json, NodeSpec, Selector
from workflows.engine.errors import NodeFailed, PortMissing
from workflows.engine.kinds import (
    Execution,
    Field,
    Like,
    Likeness,
    NodeConfig,
    NodeContext,
    NodeKind,
    NodeResult,
    Output,
    Widget,
    gettext_noop,
)
from workflows.engine.rounds import Round, RoundFailed, Rounds, side_by_side
from workflows.engine.values import ELEMENTS, ValueType, describe, parse_type
from workflows.engine.variables import MISSING


# Under this head xworkflow's bodies look for what belongs to their round.
SCOPE = "__scope__"


class ErrorMode(StrEnum):
    TERMINATED = "terminated"  # the first failed round fails the iteration
    CONTINUE = "continue-on-error"  # null in its place
    REMOVE = "remove-abnormal-output"  # its place is left out


class IterationConfig(NodeConfig):
    iterator_selector: tuple[str, ...]
    iterator_input_type: Any = None  # informative
    output_selector: tuple[str, ...] | None = None
    output_type: Any = "array[any]"
    start_node_id: str | None = None
    is_parallel: bool = False
    parallel_nums: int = Bounded(default=10, ge=1)
    error_handle_mode: ErrorMode = ErrorMode.TERMINATED
    flatten_output: bool = True
    # xworkflow's: rounds end with End nodes, and the output has a name of its own.
    output_variable: str | None = None
    max_iterations: int | None = Bounded(default=None, ge=0)

    @property
    def output_name(self) -> str:
        return self.output_variable or "output"


class Iteration(NodeKind[IterationConfig, IterationConfig]):
    name = "iteration"
    title = gettext_noop("Iteration")
    description = gettext_noop("Does what is inside it for each item of a list.")
    config_model = IterationConfig
    execution = Execution.CONTAINER
    rounds_named = "iteration"
    entry = "iteration-start"
    fields = (
        Field("iterator_selector", gettext_noop("List"), Widget.SELECTOR, required=True,
              wants=tuple(str(kind) for kind in ELEMENTS),
              help=gettext_noop("What is inside runs once for each of its items."),
              example=["start", "topics"]),
        Field("output_selector", gettext_noop("Result of a round"), Widget.INNER_SELECTOR,
              help=gettext_noop("A variable of a node inside; the results of all rounds make the output."),
              example=["summary", "text"]),
        Field("is_parallel", gettext_noop("Several rounds at once"), Widget.SWITCH, default=False),
        Field("parallel_nums", gettext_noop("At most this many at once"), Widget.NUMBER, default=10,
              low=1, high=100, shown_when=("is_parallel", (True,))),
        Field("error_handle_mode", gettext_noop("When a round fails"), Widget.CHOICE,
              default="terminated", choices=(
                  ("terminated", gettext_noop("Stop, and fail")),
                  ("continue-on-error", gettext_noop("Go on, with nothing in its place")),
                  ("remove-abnormal-output", gettext_noop("Go on, and leave it out")),
              )),
        Field("flatten_output", gettext_noop("Join lists"), Widget.SWITCH, default=True,
              help=gettext_noop("When every round gives a list, the output is one list of all their items.")),
    )  # fmt: skip

    def outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        config = self.configure(spec)
        kind = str(config.output_type or "array[any]").lower()
        about = gettext_noop("The results of all rounds, in the order of the list")
        return (Output(config.output_name, kind, about, _results_like(config, kind)),)

    def inner_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        config = self.configure(spec)
        written = config.iterator_input_type
        kind = parse_type(written) if isinstance(written, str) else None
        item = str(ELEMENTS[kind]) if kind is not None and kind in ELEMENTS else "any"
        like = Like(config.iterator_selector, Likeness.ELEMENT) if item == "any" else None
        return (
            Output("item", item, gettext_noop("The item of this round"), like),
            Output("index", "number", gettext_noop("Which round it is, from 0")),
        )

    def reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        config = self.configure(spec)
        return (config.iterator_selector, *filter(None, (config.output_selector,)))

    async def run(self, prepared: IterationConfig, ctx: NodeContext) -> NodeResult:
        if ctx.body is None:
            raise PortMissing("body")
        items = _items(prepared, ctx)
        ctx.give({"items": items})
        gathered = _Gathered(prepared, ctx.node_id, items, ctx.body)
        ctx.body.begin(len(items))
        if prepared.is_parallel:
            await side_by_side(len(items), prepared.parallel_nums, gathered.round)
        else:
            for index in range(len(items)):
                await gathered.round(index)
        return NodeResult({prepared.output_name: gathered.output()})


def _results_like(config: IterationConfig, kind: str) -> Like | None:
    """Where no type was written down, the results are what a round gives."""
    if config.output_selector is None or parse_type(kind) is not ValueType.ARRAY_ANY:
        return None
    how = Likeness.JOINED if config.flatten_output else Likeness.GATHERED
    return Like(config.output_selector, how)


def _items(config: IterationConfig, ctx: NodeContext) -> list[Json]:
    items = ctx.pool.require(config.iterator_selector)
    if items is None:
        return []
    if not isinstance(items, list | tuple):
        name = ".".join(config.iterator_selector)
        message = f"{name} is of type {describe(items)}; please provide a list"
        raise NodeFailed("InvalidIteratorValueError", message)
    if config.max_iterations is not None and len(items) > config.max_iterations:
        message = f"The list has {len(items)} items; at most {config.max_iterations} are allowed"
        raise NodeFailed("IterationLimitError", message)
    return list(items)


class _Gathered:
    """The results of the rounds so far, each at its place."""

    def __init__(
        self, config: IterationConfig, node_id: str, items: list[Json], body: Rounds
    ) -> None:
        self._config, self._node_id, self._items, self._body = config, node_id, items, body
        self._results: list[Json] = [None] * len(items)
        self._failed: set[int] = set()

    async def round(self, index: int) -> None:
        begins = {"item": self._items[index], "index": index}
        try:
            done = await self._body.run(index, {self._node_id: begins, SCOPE: begins})
        except RoundFailed:
            if self._config.error_handle_mode is ErrorMode.TERMINATED:
                raise
            self._failed.add(index)
        else:
            self._results[index] = self._result(done)

    def _result(self, done: Round) -> Json:
        if self._config.output_selector is None:
            return dict(done.results) if done.results else None
        value = done.pool.get(self._config.output_selector)
        return None if value is MISSING else value

    def output(self) -> list[Json]:
        results = self._results
        if self._config.error_handle_mode is ErrorMode.REMOVE:
            results = [result for index, result in enumerate(results) if index not in self._failed]
        if not self._config.flatten_output:
            return results
        there = [result for result in results if result is not None]
        if not there or not all(isinstance(result, list | tuple) for result in there):
            return results
        return [item for result in there for item in result]
