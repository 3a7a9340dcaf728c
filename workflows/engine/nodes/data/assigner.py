"""Assigner: sets conversation and loop variables. Documents write assignments in three forms; they become one list.

Each assignment of a node reads the results of the previous ones, and none takes effect unless all succeed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from workflows.engine.appearance import Data, get_variable_name, join_names, list_objects
from workflows.engine.configuration import ConfigPart, Field, NodeConfig, Widget
from workflows.engine.errors import NodeFailed, OperationInvalid
from workflows.engine.kinds import NodeContext, NodeKind, NodeResult
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.problems import Problem
from workflows.engine.language.variables import ENVIRONMENT, MISSING, SYSTEM
from workflows.engine.nodes.data.assignment_operations import (
    CONSTANT,
    VARIABLE,
    apply_operation,
    check_source,
    find_operation,
)
from workflows.engine.runtime.step_records import Write
from workflows.engine.texts import Text, gettext_noop


class AssignerItem(ConfigPart):
    variable_selector: tuple[str, ...]
    operation: str = "over-write"
    input_type: str = VARIABLE
    value: Any = None


class AssignerConfig(NodeConfig):
    version: Any = "1"
    items: tuple[AssignerItem, ...] | None = None
    # The first form has one target, one source and a mode.
    assigned_variable_selector: tuple[str, ...] = ()
    write_mode: str = "over-write"
    input_variable_selector: tuple[str, ...] | None = None
    value: Any = None  # xworkflow: a constant instead of the source


@dataclass(frozen=True, slots=True)
class Assignment:
    target: Selector
    operation: str
    source: str
    operand: Json  # a selector or a constant, by ``source``
    strict: bool  # whether the source is checked, as in the second form


class Assigner(NodeKind[AssignerConfig, tuple[Assignment, ...]]):
    name = "assigner"
    title = gettext_noop("Variable assigner")
    description = gettext_noop("Sets conversation and loop variables")
    group = "data"
    palette_order = 30
    icon = "assign"
    family = "data"
    dialects = ("dify", "xworkflow")
    config_model = AssignerConfig
    fields = (
        Field("items", gettext_noop("Assignments"), Widget.ASSIGNMENTS, required=True,
              help=gettext_noop("Applied in order. Either all assignments take effect or none."),
              default=[],
              example=[{"variable_selector": ["conversation", "topic"], "operation": "over-write",
                        "input_type": "variable", "value": ["start", "topic"]}],
              alternatives=("assigned_variable_selector",), empty_warning="No assignments"),
    )  # fmt: skip

    def summarize(self, data: Data) -> Iterable[Text]:
        targets = [item.get("variable_selector") for item in list_objects(data.get("items"))]
        return [
            join_names(map(get_variable_name, targets or [data.get("assigned_variable_selector")]))
        ]

    def prepare(self, spec: NodeSpec) -> tuple[Assignment, ...]:
        config = self.configure(spec)
        if config.items is not None:
            return tuple(_read_second_form(item) for item in config.items)
        return (_read_first_form(config),)

    def check(self, spec: NodeSpec) -> list[Problem]:
        problems = super().check(spec)
        if problems:
            return problems
        for index, assignment in enumerate(self.prepare(spec)):
            field = f"items.{index}" if "items" in spec.data else None
            message = _find_mistake(assignment)
            if message:
                problems.append(Problem("assigner.invalid", message, spec.id, field))
        return problems

    def list_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        return tuple(
            selector
            for assignment in self.prepare(spec)
            for selector in (assignment.target, _get_source(assignment))
            if selector
        )

    def list_writes(self, prepared: tuple[Assignment, ...]) -> tuple[Selector, ...]:
        return tuple(assignment.target for assignment in prepared)

    def run(self, prepared: tuple[Assignment, ...], ctx: NodeContext) -> NodeResult:
        new_values: dict[Selector, Json] = {}
        for assignment in prepared:
            value = _compute_value(assignment, ctx, new_values)
            if value is not MISSING:
                new_values[assignment.target] = value
        writes = tuple(Write(selector, value) for selector, value in new_values.items())
        return NodeResult(inputs=_describe_changes(new_values), writes=writes)


def _read_second_form(item: AssignerItem) -> Assignment:
    return Assignment(item.variable_selector, item.operation, item.input_type, item.value, True)


def _read_first_form(config: AssignerConfig) -> Assignment:
    selector = config.input_variable_selector
    source, operand = (VARIABLE, selector) if selector else (CONSTANT, config.value)
    return Assignment(config.assigned_variable_selector, config.write_mode, source, operand, False)


def _find_mistake(assignment: Assignment) -> str | None:
    if len(assignment.target) != 2:
        return "The target must be a conversation variable or a loop variable"
    if assignment.target[0] in (SYSTEM, ENVIRONMENT):
        return f"Variables of {assignment.target[0]} can't be assigned"
    try:
        find_operation(assignment.operation)
    except OperationInvalid as invalid:
        return invalid.message
    return None


def _get_source(assignment: Assignment) -> Selector | None:
    if assignment.source != VARIABLE or not find_operation(assignment.operation).has_operand:
        return None
    operand = assignment.operand
    return tuple(operand) if isinstance(operand, list | tuple) and operand else None


def _compute_value(
    assignment: Assignment, ctx: NodeContext, new_values: Mapping[Selector, Json]
) -> Json:
    """Return the new value, or MISSING when a null source leaves the variable as it is."""
    target = assignment.target
    current = new_values[target] if target in new_values else ctx.pool.get(target)
    if current is MISSING:
        raise _build_not_found_error(target)
    kind = ctx.resolve_type(target, current)
    if assignment.strict:
        check_source(assignment.operation, assignment.source, kind)
    operand = assignment.operand
    selector = _get_source(assignment)
    if selector is not None:
        operand = new_values[selector] if selector in new_values else ctx.pool.get(selector)
        if operand is MISSING:
            raise _build_not_found_error(selector)
    if operand is None and find_operation(assignment.operation).has_operand:
        return MISSING
    source = assignment.source if assignment.strict else VARIABLE
    return apply_operation(assignment.operation, current, operand, kind, source)


def _build_not_found_error(selector: Selector) -> NodeFailed:
    return NodeFailed("VariableNotFoundError", f"Variable {list(selector)} not found")


def _describe_changes(new_values: Mapping[Selector, Json]) -> dict[str, Json]:
    return {".".join(selector): value for selector, value in new_values.items()}
