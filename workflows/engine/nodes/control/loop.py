"""Loop: repeats its body until a condition holds, a node inside ends it, or the limit of rounds is reached.

Rounds work on the variables around the loop. The outputs of the nodes inside are removed before the next
round; loop variables stay and carry values from round to round.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import Field as Bounded

from workflows.engine.appearance import Data
from workflows.engine.configuration import ConfigPart, Field, NodeConfig, Widget
from workflows.engine.errors import (
    ConditionInvalid,
    EngineFault,
    NodeFailed,
    PortMissing,
    ValueMismatch,
)
from workflows.engine.kinds import Execution, NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.problems import Problem
from workflows.engine.language.values import (
    ValueType,
    build_zero_value,
    infer_type,
    parse_constant,
    parse_type,
)
from workflows.engine.language.variables import VariablePool
from workflows.engine.nodes.control.conditions import (
    Condition,
    ConditionGroup,
    find_group_problems,
    parse_condition,
    parse_group,
)
from workflows.engine.runtime.events import LOOP_EVENTS
from workflows.engine.runtime.rounds import Rounds
from workflows.engine.runtime.step_records import Write
from workflows.engine.texts import Text, count_text, gettext_noop


ROUND: Final = "loop_round"
# The source ids under which xworkflow's bodies read loop variables and the values of their round.
LOOP, SCOPE, ITERATION, ITERATIONS = "loop", "__scope__", "_iteration", "_iterations"
MAX_ROUNDS: Final = 100  # xworkflow's default
_TEXT_TYPES: Final = frozenset({ValueType.STRING, ValueType.SECRET, ValueType.ANY})


class LoopVariable(ConfigPart):
    label: str
    var_type: str = "string"
    value_type: str = "constant"
    value: Any = None

    @property
    def type(self) -> ValueType | None:
        return parse_type(self.var_type)

    @property
    def source(self) -> Selector | None:
        """Return the selector of the initial value: None for a constant, and empty if no variable is selected."""
        if self.value_type != "variable":
            return None
        value = self.value
        return tuple(map(str, value)) if isinstance(value, list | tuple) and len(value) > 1 else ()

    def get_initial_value(self, pool: VariablePool) -> Json:
        return self.parse_constant() if self.source is None else pool.require(self.source)

    def parse_constant(self) -> Json:
        """Return the constant initial value. Raises ValueMismatch if it doesn't fit the variable's type."""
        kind, value = self.type or ValueType.ANY, self.value
        is_blank = isinstance(value, str) and not value.strip()
        if value is None or (is_blank and kind not in _TEXT_TYPES):
            return build_zero_value(kind)
        return parse_constant(value, kind)


class LoopConfig(NodeConfig):
    loop_count: int = Bounded(default=10, ge=1)
    break_conditions: tuple[dict[str, Any], ...] = ()
    logical_operator: str | None = "and"
    loop_variables: tuple[LoopVariable, ...] = ()
    start_node_id: str | None = None
    error_handle_mode: Any = "terminated"  # the only choice
    # In xworkflow the loop continues while the condition holds, and End nodes inside set the variables.
    condition: dict[str, Any] | None = None
    initial_vars: dict[str, Any] | None = None
    max_iterations: int | None = Bounded(default=None, ge=0)
    output_variable: str | None = None


@dataclass(frozen=True, slots=True)
class Until:
    """A loop that ends when the conditions hold."""

    max_rounds: int
    variables: tuple[LoopVariable, ...]
    exit_conditions: ConditionGroup


@dataclass(frozen=True, slots=True)
class While:
    """A loop that continues as long as the condition holds; reaching the limit of rounds is an error."""

    max_rounds: int
    initial_values: Mapping[str, Json]
    condition: Condition
    output_name: str


Prepared = Until | While


class Loop(NodeKind[LoopConfig, Prepared]):
    name = "loop"
    passes_text_on = True
    title = gettext_noop("Loop")
    description = gettext_noop("Repeats the nodes inside until a condition is met")
    palette_order = 30
    icon = "loop"
    family = "logic"
    dialects = ("dify", "xworkflow")
    config_model = LoopConfig
    execution = Execution.CONTAINER
    round_events = LOOP_EVENTS
    fields = (
        Field("loop_count", gettext_noop("Max rounds"), Widget.NUMBER, required=True,
              default=10, low=1, high=1000),
        Field("loop_variables", gettext_noop("Loop variables"), Widget.LOOP_VARIABLES,
              help=gettext_noop("Nodes inside can read them and set them with a Variable assigner."),
              example=[{"label": "tries", "var_type": "number", "value_type": "constant",
                        "value": 0}]),
        Field("break_conditions", gettext_noop("Exit condition"), Widget.CONDITIONS,
              help=gettext_noop("Checked before the first round and after each round."),
              example=[{"variable_selector": ["loop", "tries"], "comparison_operator": "≥",
                        "value": "3"}]),
    )  # fmt: skip

    def summarize(self, data: Data) -> Iterable[Text]:
        count = data.get("loop_count")
        if not count:
            return []
        return [
            count_text(count, gettext_noop("max 1 round"), gettext_noop("max %(count)s rounds"))
        ]

    def prepare(self, spec: NodeSpec) -> Prepared:
        config = self.configure(spec)
        if config.condition is not None:
            max_rounds = MAX_ROUNDS if config.max_iterations is None else config.max_iterations
            condition = parse_condition(config.condition)
            output_name = config.output_variable or "output"
            return While(max_rounds, config.initial_vars or {}, condition, output_name)
        exit_conditions = parse_group(list(config.break_conditions), config.logical_operator)
        return Until(config.loop_count, config.loop_variables, exit_conditions)

    def check(self, spec: NodeSpec) -> list[Problem]:
        problems = super().check(spec)
        if problems:
            return problems
        config = self.configure(spec)
        problems += _find_condition_problems(spec.id, config)
        labels: set[str] = set()
        for index, variable in enumerate(config.loop_variables):
            if mistake := _find_mistake(variable, labels, f"Loop variable {index + 1}"):
                key, message = mistake
                path = f"loop_variables.{index}.{key}"
                problems.append(Problem("loop.variable", message, spec.id, path))
            labels.add(variable.label)
        return problems

    def shares_pool(self, prepared: Prepared) -> bool:
        return isinstance(prepared, Until)

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        config = self.configure(spec)
        if config.condition is not None:
            rounds = gettext_noop("Number of rounds")
            result = Output(config.output_variable or "output", "object")
            return (result, Output(ITERATIONS, "number", rounds))
        rounds = gettext_noop("Number of rounds; null if none")
        return (*self.list_inner_outputs(spec), Output(ROUND, "number", rounds))

    def list_inner_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        return tuple(
            Output(name, str(kind)) for name, kind in self.list_variable_types(spec).items()
        )

    def list_variable_types(self, spec: NodeSpec) -> Mapping[str, ValueType]:
        config = self.configure(spec)
        initial = {name: infer_type(value) for name, value in (config.initial_vars or {}).items()}
        declared = {v.label: kind for v in config.loop_variables if (kind := v.type) is not None}
        return initial | declared

    def list_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        prepared = self.prepare(spec)
        if isinstance(prepared, While):
            return ()  # the condition reads the loop's variables, under a separate source id
        sources = (variable.source for variable in prepared.variables)
        return (*filter(None, sources), *self.list_exit_reads(spec))

    def list_exit_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        prepared = self.prepare(spec)
        if isinstance(prepared, While):
            return prepared.condition.references
        conditions = prepared.exit_conditions.conditions
        return tuple(selector for each in conditions for selector in each.references)

    async def run(self, prepared: Prepared, ctx: NodeContext) -> NodeResult:
        if ctx.body is None:
            raise PortMissing("body")
        if isinstance(prepared, While):
            return await _run_while(prepared, ctx, ctx.body)
        return await _run_until(prepared, ctx, ctx.body)


async def _run_until(prepared: Until, ctx: NodeContext, body: Rounds) -> NodeResult:
    pool, node_id, exit_conditions = ctx.pool, ctx.node_id, prepared.exit_conditions
    initial = {v.label: v.get_initial_value(pool) for v in prepared.variables}
    ctx.record_inputs(initial)
    pool.set_outputs(node_id, initial)
    body.begin(prepared.max_rounds)
    if _is_over_before_start(exit_conditions, pool):
        # No outputs without a round; the variables can be read nevertheless.
        writes = [Write((node_id, label), value) for label, value in initial.items()]
        return NodeResult(writes=tuple(writes))
    rounds = 0
    for index in range(prepared.max_rounds):
        finished_round = await body.run(index, {})
        rounds = index + 1
        if finished_round.results:
            pool.set_outputs(node_id, {**pool.get_values(node_id), **finished_round.results})
        if finished_round.is_last or (exit_conditions.conditions and exit_conditions.is_met(pool)):
            break
    values = pool.get_values(node_id)
    return NodeResult({**{label: values.get(label) for label in initial}, ROUND: rounds})


async def _run_while(prepared: While, ctx: NodeContext, body: Rounds) -> NodeResult:
    values = dict(prepared.initial_values)
    ctx.record_inputs(values)
    body.begin(prepared.max_rounds)
    rounds = 0
    while _should_continue(prepared.condition, values, ctx):
        if rounds >= prepared.max_rounds:
            message = f"Max iterations {prepared.max_rounds} exceeded"
            raise NodeFailed("LoopLimitError", message)
        scope = {**ctx.pool.get_values(SCOPE), ITERATION: rounds}
        round_variables = {ctx.node_id: values, LOOP: values, SCOPE: scope}
        finished_round = await body.run(rounds, round_variables)
        values = {**values, **finished_round.pool.get_values(LOOP), **finished_round.results}
        rounds += 1
    return NodeResult({prepared.output_name: values, ITERATIONS: rounds})


def _is_over_before_start(exit_conditions: ConditionGroup, pool: VariablePool) -> bool:
    """Return whether the exit conditions hold before the first round; conditions that can't be evaluated don't hold."""
    try:
        return bool(exit_conditions.conditions) and exit_conditions.is_met(pool)
    except EngineFault:
        return False


def _should_continue(condition: Condition, values: Mapping[str, Json], ctx: NodeContext) -> bool:
    """Return whether the condition holds; a condition that can't be evaluated ends the loop."""
    pool = ctx.pool.copy()
    pool.set_outputs(LOOP, values)
    pool.set_outputs(ctx.node_id, values)
    try:
        return condition.is_met(pool)
    except EngineFault:
        return False


def _find_condition_problems(node: str, config: LoopConfig) -> Iterator[Problem]:
    if config.condition is None:
        conditions, logic = list(config.break_conditions), config.logical_operator
        yield from find_group_problems(conditions, logic, node=node, field="break_conditions")
        return
    try:
        parse_condition(config.condition)
    except ConditionInvalid as invalid:
        where = ".".join(map(str, ("condition", *invalid.path)))
        yield Problem("condition.invalid", invalid.message, node, where)


def _find_mistake(
    variable: LoopVariable, earlier_labels: set[str], place: str
) -> tuple[str, str] | None:
    """Return the key and the message of what is wrong with a loop variable, or None if it is valid."""
    if not variable.label:
        return "label", f"{place} › Name: enter a value"
    if variable.label in earlier_labels:
        return "label", f"Duplicate loop variable {variable.label}"
    if variable.type is None:
        return "var_type", f"{place} › Type: choose one"
    if variable.value_type not in ("constant", "variable"):
        return "value_type", f"{place} › Source of the value: choose one"
    if variable.source == ():
        return "value", f"{place} › Value: choose a variable"
    try:
        if variable.source is None:
            variable.parse_constant()
    except ValueMismatch:
        return "value", f"{place} › Value is not of the type {variable.type}"
    return None
