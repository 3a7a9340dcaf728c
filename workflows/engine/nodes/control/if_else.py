"""If-else: the first case whose conditions hold decides the way; none of them means ``false``."""

from typing import Any

from workflows.engine.conditions import ConditionGroup, parse_group
from workflows.engine.document import NodeSpec, Selector
from workflows.engine.errors import ConditionInvalid
from workflows.engine.kinds import (
    Execution,
    Field,
    NodeConfig,
    NodeContext,
    NodeKind,
    NodeResult,
    Output,
    Widget,
    gettext_noop,
)
from workflows.engine.problems import Problem


# Conditions are read by the conditions module; here they are only carried.
_Conditions = tuple[dict[str, Any], ...]


class IfElseConfig(NodeConfig):
    cases: tuple[dict[str, Any], ...] | None = None
    logical_operator: str | None = None
    conditions: _Conditions | None = None

    def written_cases(self) -> tuple[dict[str, Any], ...]:
        """Documents from before there were several cases have one, without a name."""
        if self.cases is not None:
            return self.cases
        legacy = {"logical_operator": self.logical_operator, "conditions": self.conditions or ()}
        return ({"case_id": "true", **legacy},)


Cases = tuple[tuple[str, ConditionGroup], ...]


class IfElse(NodeKind[IfElseConfig, Cases]):
    name = "if-else"
    title = gettext_noop("If / else")
    description = gettext_noop("Goes the way of the first case that holds.")
    config_model = IfElseConfig
    execution = Execution.BRANCH
    fields = (
        Field("cases", gettext_noop("Cases"), Widget.CASES,
              help=gettext_noop("Looked at in order; when none holds, it goes the way of “else”."),
              default=[{"case_id": "true", "logical_operator": "and", "conditions": []}],
              example=[{"case_id": "true", "logical_operator": "and", "conditions": [
                  {"variable_selector": ["start", "topic"], "comparison_operator": "contains",
                   "value": "memory"}]}]),
    )  # fmt: skip

    def prepare(self, spec: NodeSpec) -> Cases:
        return tuple(
            (_id(case), parse_group(case.get("conditions"), case.get("logical_operator")))
            for case in self.configure(spec).written_cases()
        )

    def check(self, spec: NodeSpec) -> list[Problem]:
        problems = super().check(spec)
        if problems:
            return problems
        for index, case in enumerate(self.configure(spec).written_cases()):
            try:
                parse_group(case.get("conditions"), case.get("logical_operator"))
            except ConditionInvalid as invalid:
                field = f"cases.{index}.conditions"
                problems.append(Problem("condition.invalid", invalid.message, spec.id, field))
        return problems

    def handles(self, spec: NodeSpec) -> tuple[str, ...]:
        return (*(_id(case) for case in self.configure(spec).written_cases()), "false")

    def outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        return (
            Output("result", "boolean", gettext_noop("Whether any case held")),
            Output("selected_case_id", "string", gettext_noop("Which one")),
        )

    def reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        groups = [group for _, group in self.prepare(spec)]
        return tuple(
            selector
            for group in groups
            for condition in group.conditions
            for selector in condition.references
        )

    def run(self, prepared: Cases, ctx: NodeContext) -> NodeResult:
        for case_id, group in prepared:
            if group.holds(ctx.pool):
                return NodeResult({"result": True, "selected_case_id": case_id}, handle=case_id)
        return NodeResult({"result": False, "selected_case_id": "false"}, handle="false")


def _id(case: dict[str, Any]) -> str:
    return str(case.get("case_id") or case.get("id") or "true")
