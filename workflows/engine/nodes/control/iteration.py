"""Iteration: runs its body once for each item of a list, and collects the results.

Each round runs on a copy of the variables: only changes to conversation variables pass from one round to another, and
the list of results is the only output of the iteration.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

from pydantic import Field as Bounded

from workflows.engine.appearance import Data, get_variable_name
from workflows.engine.configuration import Field, NodeConfig, Widget
from workflows.engine.errors import NodeFailed, PortMissing
from workflows.engine.kinds import (
    DerivedType,
    Execution,
    NodeContext,
    NodeKind,
    NodeResult,
    Output,
    TypeRule,
)
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.values import ELEMENTS, ValueType, describe_type, parse_type
from workflows.engine.language.variables import MISSING
from workflows.engine.runtime.rounds import RoundFailed, RoundResult, Rounds, run_concurrently
from workflows.engine.texts import Phrase, Text, gettext_noop


# The source id under which xworkflow's bodies read the values of their round.
SCOPE = "__scope__"


class ErrorMode(StrEnum):
    TERMINATED = "terminated"  # the first failed round fails the iteration
    CONTINUE = "continue-on-error"  # the result of a failed round is null
    REMOVE = "remove-abnormal-output"  # failed rounds have no result


class ListOperation(StrEnum):
    """Says what an iteration makes of the outputs of its rounds. Without an operation it is a list of them."""

    FILTER = "filter"  # the items whose rounds put out ``keep`` as true
    MAP = "map"  # the ``value`` that each round puts out
    REDUCE = "reduce"  # the last ``value``; each round reads the one before as ``accumulator``


class IterationConfig(NodeConfig):
    iterator_selector: tuple[str, ...]
    iterator_input_type: Any = None  # informative
    output_selector: tuple[str, ...] | None = None
    output_type: Any = "array[any]"
    start_node_id: str | None = None
    is_parallel: bool = False
    parallel_nums: int = Bounded(default=10, ge=1)
    distributed: bool = False  # parallel rounds run on any worker
    error_handle_mode: ErrorMode = ErrorMode.TERMINATED
    flatten_output: bool = True
    # In xworkflow rounds end with End nodes, and the output has a custom name.
    output_variable: str | None = None
    max_iterations: int | None = Bounded(default=None, ge=0)
    # Of a list operator of xworkflow with a body, which is an iteration here.
    operation: ListOperation | None = None
    initial_value: Any = None  # of a reduction

    @property
    def output_name(self) -> str:
        return self.output_variable or ("result" if self.operation else "output")


class Iteration(NodeKind[IterationConfig, IterationConfig]):
    name = "iteration"
    passes_text_on = True
    title = gettext_noop("Iteration")
    description = gettext_noop("Runs the nodes inside for each item of a list")
    palette_order = 20
    icon = "iterate"
    family = "logic"
    dialects = ("dify", "xworkflow")
    config_model = IterationConfig
    execution = Execution.CONTAINER
    fields = (
        Field("iterator_selector", gettext_noop("List"), Widget.SELECTOR, required=True,
              accepted_types=tuple(str(kind) for kind in ELEMENTS),
              help=gettext_noop("The nodes inside run once for each item."),
              example=["start", "topics"]),
        Field("output_selector", gettext_noop("Output of each round"), Widget.INNER_SELECTOR,
              help=gettext_noop("A variable of a node inside. The results of all rounds form the output."),
              example=["summary", "text"]),
        Field("is_parallel", gettext_noop("Parallel mode"), Widget.SWITCH, default=False),
        Field("parallel_nums", gettext_noop("Max parallelism"), Widget.NUMBER, default=10,
              low=1, high=100, shown_when=("is_parallel", (True,))),
        Field("distributed", gettext_noop("Spread over workers"), Widget.SWITCH, default=False,
              shown_when=("is_parallel", (True,)),
              help=gettext_noop("All workers of the server share the rounds. Worthwhile for long lists and slow rounds.")),
        Field("error_handle_mode", gettext_noop("Error handling"), Widget.CHOICE,
              default="terminated", choices=(
                  ("terminated", gettext_noop("Stop and fail")),
                  ("continue-on-error", gettext_noop("Continue with null")),
                  ("remove-abnormal-output", gettext_noop("Continue without the item")),
              )),
        Field("flatten_output", gettext_noop("Flatten output"), Widget.SWITCH, default=True,
              help=gettext_noop("If every round returns a list, the output is a single list of all items.")),
    )  # fmt: skip

    def summarize(self, data: Data) -> Iterable[Text]:
        name = get_variable_name(data.get("iterator_selector"))
        return [Phrase(gettext_noop("for each of %(list)s"), {"list": name})] if name else []

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        config = self.configure(spec)
        kind = str(config.output_type or "array[any]").lower()
        if config.operation is ListOperation.REDUCE:
            return (Output(config.output_name, "any", gettext_noop("Result of the last round")),)
        help_text = gettext_noop("Results of all rounds, in list order")
        return (Output(config.output_name, kind, help_text, _derive_type(config, kind)),)

    def list_inner_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        config = self.configure(spec)
        list_type = config.iterator_input_type
        kind = parse_type(list_type) if isinstance(list_type, str) else None
        item_type = str(ELEMENTS[kind]) if kind is not None and kind in ELEMENTS else "any"
        is_unknown = item_type == "any"
        rule = DerivedType(config.iterator_selector, TypeRule.ELEMENT) if is_unknown else None
        outputs = (
            Output("item", item_type, gettext_noop("Current item"), rule),
            Output("index", "number", gettext_noop("Round index, starting at 0")),
        )
        if config.operation is not ListOperation.REDUCE:
            return outputs
        return (*outputs, Output("accumulator", "any", gettext_noop("Result of the round before")))

    def list_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        config = self.configure(spec)
        return (config.iterator_selector, *filter(None, (config.output_selector,)))

    def survives_failed_rounds(self, spec: NodeSpec) -> bool:
        return spec.data.get("error_handle_mode") in (ErrorMode.CONTINUE, ErrorMode.REMOVE)

    async def run(self, prepared: IterationConfig, ctx: NodeContext) -> NodeResult:
        if ctx.body is None:
            raise PortMissing("body")
        items = _get_items(prepared, ctx)
        ctx.record_inputs({"items": items})
        results = _Results(prepared, ctx.node_id, items, ctx.body)
        ctx.body.begin(len(items))
        if prepared.is_parallel and prepared.operation is not ListOperation.REDUCE:
            if prepared.distributed:
                await _distribute(prepared, ctx.body, results, len(items))
            await run_concurrently(len(items), prepared.parallel_nums, results.run_round)
        else:
            for index in range(len(items)):
                await results.run_round(index)
        return NodeResult({prepared.output_name: results.build_output()})

    async def run_rounds(
        self, prepared: IterationConfig, ctx: NodeContext, indexes: Sequence[int], limit: int
    ) -> int | None:
        if ctx.body is None:
            raise PortMissing("body")
        results = _Results(prepared, ctx.node_id, _get_items(prepared, ctx), ctx.body)
        try:
            await run_concurrently(
                len(indexes), limit, lambda position: results.run_round(indexes[position])
            )
        except RoundFailed as failure:
            return failure.index
        return None


async def _distribute(
    config: IterationConfig, body: Rounds, results: "_Results", count: int
) -> None:
    """Have other workers run the rounds. Afterwards every round is recorded, and running it replays its steps."""
    stops_at_failure = config.error_handle_mode is ErrorMode.TERMINATED
    failed = await body.distribute(count, config.parallel_nums, stops_at_failure=stops_at_failure)
    if failed is not None:
        await results.run_round(failed)  # raises the recorded failure


def _derive_type(config: IterationConfig, kind: str) -> DerivedType | None:
    """Return the rule that derives the output's type from the result of a round, or None if the type is declared."""
    if config.output_selector is None or parse_type(kind) is not ValueType.ARRAY_ANY:
        return None
    rule = TypeRule.JOINED if config.flatten_output else TypeRule.GATHERED
    return DerivedType(config.output_selector, rule)


def _get_items(config: IterationConfig, ctx: NodeContext) -> list[Json]:
    items = ctx.pool.require(config.iterator_selector)
    if items is None:
        return []
    if not isinstance(items, list | tuple):
        name = ".".join(config.iterator_selector)
        message = f"{name} is of type {describe_type(items)}; a list is required"
        raise NodeFailed("InvalidIteratorValueError", message)
    if config.max_iterations is not None and len(items) > config.max_iterations:
        message = f"The list has {len(items)} items; at most {config.max_iterations} are allowed"
        raise NodeFailed("IterationLimitError", message)
    return list(items)


class _Results:
    """Collects the results of the rounds, in the order of the items."""

    def __init__(
        self, config: IterationConfig, node_id: str, items: list[Json], body: Rounds
    ) -> None:
        self._config, self._node_id, self._items, self._body = config, node_id, items, body
        self._results: list[Json] = [None] * len(items)
        self._failed: set[int] = set()
        self._accumulator = config.initial_value

    async def run_round(self, index: int) -> None:
        variables = {"item": self._items[index], "index": index}
        if self._config.operation is ListOperation.REDUCE:
            variables["accumulator"] = self._accumulator
        round_variables = {self._node_id: variables, SCOPE: variables}
        try:
            finished_round = await self._body.run(index, round_variables)
        except RoundFailed:
            if self._config.error_handle_mode is ErrorMode.TERMINATED:
                raise
            self._failed.add(index)
        else:
            self._results[index] = self._get_result(finished_round)
            self._accumulator = self._results[index]

    def build_output(self) -> Json:
        results = self._results
        if self._config.operation is not None:
            return self._build_operation_output(self._config.operation)
        if self._config.error_handle_mode is ErrorMode.REMOVE:
            results = [result for index, result in enumerate(results) if index not in self._failed]
        if not self._config.flatten_output:
            return results
        existing = [result for result in results if result is not None]
        if not existing or not all(isinstance(result, list | tuple) for result in existing):
            return results
        return [item for result in existing for item in result]

    def _build_operation_output(self, operation: ListOperation) -> Json:
        if operation is ListOperation.FILTER:
            pairs = zip(self._items, self._results, strict=True)
            return [item for item, keep in pairs if keep is True]
        return self._accumulator if operation is ListOperation.REDUCE else self._results

    def _get_result(self, finished_round: RoundResult) -> Json:
        if self._config.operation is not None:
            return _get_operation_result(self._config.operation, dict(finished_round.results))
        if self._config.output_selector is None:
            return dict(finished_round.results) if finished_round.results else None
        value = finished_round.pool.get(self._config.output_selector)
        return None if value is MISSING else value


def _get_operation_result(operation: ListOperation, outputs: dict[str, Json]) -> Json:
    """Return what a round of an operation makes of its item: of outputs without a ``value``, all of them."""
    if operation is ListOperation.FILTER:
        return outputs.get("keep")
    return outputs.get("value", outputs)
