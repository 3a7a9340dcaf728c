"""Assigner: sets conversation and loop variables. Documents write assignments in three forms, which become one list.

Each assignment of a node reads the results of the previous ones, and none takes effect unless all succeed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from workflows.engine.appearance import Data, get_variable_name, iter_objects, join_names
from workflows.engine.configuration import ConfigPart, Field, NodeConfig, Widget
from workflows.engine.errors import NodeFailed, OperationInvalid
from workflows.engine.kinds import NodeContext, NodeKind, NodeResult
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.problems import Problem, build_warning
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
    # Older documents have one target, one source and a mode instead of ``items``.
    assigned_variable_selector: tuple[str, ...] = ()
    write_mode: str = "over-write"
    input_variable_selector: tuple[str, ...] | None = None
    value: Any = None  # xworkflow: a constant instead of the source


class Part(StrEnum):
    """The parts of an assignment, by their keys in ``items``."""

    TARGET = "variable_selector"
    OPERATION = "operation"
    VALUE = "value"


_OLD_FIELDS: Final[Mapping[Part, str]] = {
    Part.TARGET: "assigned_variable_selector",
    Part.OPERATION: "write_mode",
    Part.VALUE: "input_variable_selector",
}


@dataclass(frozen=True, slots=True)
class Assignment:
    """One assignment of a node, in whichever form the document writes it."""

    target: Selector
    operation: str
    source: str
    operand: Json  # a selector or a constant, by ``source``
    strict: bool  # whether the source is checked, as Dify does for ``items``

    @property
    def has_operand(self) -> bool:
        return find_operation(self.operation).has_operand

    @property
    def selector(self) -> Selector | None:
        """Return the variable that is the operand, if it is one."""
        if self.source != VARIABLE or not self.has_operand:
            return None
        return tuple(self.operand) if _is_selector(self.operand) else None

    def find_mistake(self) -> tuple[Part, str] | None:
        """Return the part of an assignment that no run can execute, and what to do about it."""
        if not self.target:
            return Part.TARGET, "choose a variable"
        if len(self.target) != 2 or self.target[0] in (SYSTEM, ENVIRONMENT):
            return Part.TARGET, "choose a conversation variable or a loop variable"
        try:
            find_operation(self.operation)
        except OperationInvalid:
            return Part.OPERATION, "choose an operation"
        is_value = self.source == VARIABLE and self.has_operand and bool(self.operand)
        is_wrong = is_value and not _is_selector(self.operand)
        return (Part.VALUE, "choose a variable") if is_wrong else None

    def find_gap(self) -> str | None:
        """Return what to do about a value that is not there. A run leaves the variable as it is, which nobody wants."""
        if not self.has_operand or self.operand not in (None, "", [], ()):
            return None
        if self.source == VARIABLE or (self.operand is None and not self.strict):
            return "choose a variable"
        return "enter a value" if self.operand is None else None


class Assigner(NodeKind[AssignerConfig, tuple[Assignment, ...]]):
    name = "assigner"
    passes_text_on = True
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
        targets = [item.get("variable_selector") for item in iter_objects(data.get("items"))]
        targets = targets or [data.get("assigned_variable_selector")]
        return [join_names(map(get_variable_name, targets))]

    def prepare(self, spec: NodeSpec) -> tuple[Assignment, ...]:
        config = self.configure(spec)
        if config.items is not None:
            return tuple(
                Assignment(i.variable_selector, i.operation, i.input_type, i.value, strict=True)
                for i in config.items
            )
        selector = config.input_variable_selector
        source, operand = (VARIABLE, selector) if selector else (CONSTANT, config.value)
        target = config.assigned_variable_selector
        return (Assignment(target, config.write_mode, source, operand, strict=False),)

    def check(self, spec: NodeSpec) -> list[Problem]:
        problems = super().check(spec)
        if problems:
            return problems
        for index, assignment in enumerate(self.prepare(spec)):
            if mistake := assignment.find_mistake():
                part, advice = mistake
                message = f"Assignment {index + 1}: {advice}"
                field = _locate(spec, index, part)
                problems.append(Problem("assigner.invalid", message, spec.id, field))
            elif gap := assignment.find_gap():
                message = f"Assignment {index + 1} › Value: {gap}"
                field = _locate(spec, index, Part.VALUE)
                problems.append(build_warning("config.empty", message, spec.id, field))
        return problems

    def list_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        return tuple(
            selector
            for assignment in self.prepare(spec)
            for selector in (assignment.target, assignment.selector)
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
        inputs = {".".join(selector): value for selector, value in new_values.items()}
        return NodeResult(inputs=inputs, writes=writes)


def _locate(spec: NodeSpec, index: int, part: Part) -> str:
    """Return the field of a part of an assignment, in the form of the document's age."""
    if "items" in spec.data:
        return f"items.{index}.{part}"
    is_old = any(field in spec.data for field in _OLD_FIELDS.values())
    return _OLD_FIELDS[part] if is_old else "items"


def _is_selector(operand: Json) -> bool:
    """Return whether the operand names a variable. Of what people bring, a part of it may be a list."""
    is_list = isinstance(operand, list | tuple) and bool(operand)
    return is_list and all(isinstance(part, str) for part in operand)


def _compute_value(
    assignment: Assignment, ctx: NodeContext, new_values: Mapping[Selector, Json]
) -> Json:
    """Return the new value, or MISSING when a null source leaves the variable as it is."""
    operand = assignment.operand
    current = _get_value(assignment.target, ctx, new_values)
    kind = ctx.resolve_type(assignment.target, current)
    if assignment.strict:
        check_source(assignment.operation, assignment.source, kind)
    if (selector := assignment.selector) is not None:
        operand = _get_value(selector, ctx, new_values)
    if operand is None and assignment.has_operand:
        return MISSING
    source = assignment.source if assignment.strict else VARIABLE
    return apply_operation(assignment.operation, current, operand, kind, source)


def _get_value(selector: Selector, ctx: NodeContext, new_values: Mapping[Selector, Json]) -> Json:
    value = new_values[selector] if selector in new_values else ctx.pool.get(selector)
    if value is MISSING:
        raise NodeFailed("VariableNotFoundError", f"Variable {list(selector)} not found")
    return value
