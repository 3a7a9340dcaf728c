"""Assigner: sets conversation (and loop) variables. Three written forms, one list of assignments.

All or nothing: the assignments of a node see one another, and none of them counts unless all do.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from workflows.engine.document import Json, NodeSpec, Selector
from workflows.engine.errors import NodeFailed, OperationInvalid
from workflows.engine.kinds import (
    Field,
    NodeConfig,
    NodeContext,
    NodeKind,
    NodeResult,
    Widget,
    gettext_noop,
)
from workflows.engine.operations import CONSTANT, VARIABLE, change, check_source, operation_named
from workflows.engine.problems import Problem
from workflows.engine.records import Write
from workflows.engine.variables import ENVIRONMENT, MISSING, SYSTEM


class AssignerItem(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    variable_selector: tuple[str, ...]
    operation: str = "over-write"
    input_type: str = VARIABLE
    value: Any = None


class AssignerConfig(NodeConfig):
    version: Any = "1"
    items: tuple[AssignerItem, ...] | None = None
    # The first form: one target, one source, a mode.
    assigned_variable_selector: tuple[str, ...] = ()
    write_mode: str = "over-write"
    input_variable_selector: tuple[str, ...] | None = None
    value: Any = None  # xworkflow: a constant in place of the source


@dataclass(frozen=True, slots=True)
class Assignment:
    target: Selector
    operation: str
    source: str
    operand: Json  # a selector or a constant, by ``source``
    strict: bool  # the second form says what may come from where; the others don't care


class Assigner(NodeKind[AssignerConfig, tuple[Assignment, ...]]):
    name = "assigner"
    title = gettext_noop("Variable assigner")
    description = gettext_noop("Sets variables of the conversation.")
    group = "data"
    config_model = AssignerConfig
    fields = (
        Field("items", gettext_noop("Assignments"), Widget.ASSIGNMENTS, required=True,
              help=gettext_noop("In order, each seeing the ones before it; all of them or none."),
              default=[],
              example=[{"variable_selector": ["conversation", "topic"], "operation": "over-write",
                        "input_type": "variable", "value": ["start", "topic"]}],
              instead=("assigned_variable_selector",), wanted="Nothing is assigned"),
    )  # fmt: skip

    def prepare(self, spec: NodeSpec) -> tuple[Assignment, ...]:
        config = self.configure(spec)
        if config.items is not None:
            return tuple(_second_form(item) for item in config.items)
        return (_first_form(config),)

    def check(self, spec: NodeSpec) -> list[Problem]:
        problems = super().check(spec)
        if problems:
            return problems
        for index, assignment in enumerate(self.prepare(spec)):
            field = f"items.{index}" if "items" in spec.data else None
            message = _complaint(assignment)
            if message:
                problems.append(Problem("assigner.invalid", message, spec.id, field))
        return problems

    def reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        return tuple(
            selector
            for assignment in self.prepare(spec)
            for selector in (assignment.target, _source(assignment))
            if selector
        )

    def writes(self, prepared: tuple[Assignment, ...]) -> tuple[Selector, ...]:
        return tuple(assignment.target for assignment in prepared)

    def run(self, prepared: tuple[Assignment, ...], ctx: NodeContext) -> NodeResult:
        changed: dict[Selector, Json] = {}
        for assignment in prepared:
            value = _assigned(assignment, ctx, changed)
            if value is not MISSING:
                changed[assignment.target] = value
        writes = tuple(Write(selector, value) for selector, value in changed.items())
        return NodeResult(inputs=_shown(changed), writes=writes)


def _second_form(item: AssignerItem) -> Assignment:
    return Assignment(item.variable_selector, item.operation, item.input_type, item.value, True)


def _first_form(config: AssignerConfig) -> Assignment:
    given = config.input_variable_selector
    source, operand = (VARIABLE, given) if given else (CONSTANT, config.value)
    return Assignment(config.assigned_variable_selector, config.write_mode, source, operand, False)


def _complaint(assignment: Assignment) -> str | None:
    if len(assignment.target) != 2:
        return "The variable to set must be one of the conversation, or of a loop"
    if assignment.target[0] in (SYSTEM, ENVIRONMENT):
        return f"Variables of {assignment.target[0]} can't be set"
    try:
        operation_named(assignment.operation)
    except OperationInvalid as invalid:
        return invalid.message
    return None


def _source(assignment: Assignment) -> Selector | None:
    if assignment.source != VARIABLE or not operation_named(assignment.operation).has_operand:
        return None
    operand = assignment.operand
    return tuple(operand) if isinstance(operand, list | tuple) and operand else None


def _assigned(assignment: Assignment, ctx: NodeContext, changed: Mapping[Selector, Json]) -> Json:
    """The new value, or MISSING when a null source leaves things as they are."""
    target = assignment.target
    current = changed[target] if target in changed else ctx.pool.get(target)
    if current is MISSING:
        raise _not_found(target)
    kind = ctx.type_of(target, current)
    if assignment.strict:
        check_source(assignment.operation, assignment.source, kind)
    operand = assignment.operand
    selector = _source(assignment)
    if selector is not None:
        operand = changed[selector] if selector in changed else ctx.pool.get(selector)
        if operand is MISSING:
            raise _not_found(selector)
    if operand is None and operation_named(assignment.operation).has_operand:
        return MISSING
    source = assignment.source if assignment.strict else VARIABLE
    return change(assignment.operation, current, operand, kind, source)


def _not_found(selector: Selector) -> NodeFailed:
    return NodeFailed("VariableNotFoundError", f"Variable {list(selector)} not found")


def _shown(changed: Mapping[Selector, Json]) -> dict[str, Json]:
    return {".".join(selector): value for selector, value in changed.items()}
