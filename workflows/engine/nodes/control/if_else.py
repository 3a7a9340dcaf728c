"""If-else: the first case whose conditions hold selects the handle; if none holds, it is ``false``."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from workflows.engine.appearance import Data, HandleLabel, get_variable_name, iter_objects
from workflows.engine.configuration import Field, NodeConfig, Widget
from workflows.engine.kinds import Execution, NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.comparisons import get_operator_label, is_unary
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.problems import Problem
from workflows.engine.language.variables import VariablePool
from workflows.engine.nodes.control.conditions import (
    Comparison,
    ConditionGroup,
    find_group_problems,
    parse_group,
)
from workflows.engine.text_rendering import as_text
from workflows.engine.texts import Phrase, Text, gettext_noop


# xworkflow's name of the output with the selected case.
_SHORT_NAME: Final = "selected_case"
# The input of a step that has its comparisons, for people who ask why a branch was taken.
COMPARED: Final = "compared"
_MAX_RECORDED: Final = 500  # characters
# Parsed by the conditions module.
_Objects = tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Cases:
    """The conditions of each case, by its id."""

    cases: tuple[tuple[str, ConditionGroup], ...]
    has_short_name: bool


class IfElseConfig(NodeConfig):
    cases: _Objects | None = None
    logical_operator: str | None = None
    conditions: _Objects | None = None
    # Of documents of xworkflow, whose conditions take missing variables for null.
    missing_is_null: bool = False

    def list_cases(self) -> _Objects:
        """Return the cases; old documents have one case without a name."""
        if self.cases is not None:
            return self.cases
        legacy = {"logical_operator": self.logical_operator, "conditions": self.conditions or ()}
        return ({"case_id": "true", **legacy},)


class IfElse(NodeKind[IfElseConfig, Cases]):
    name = "if-else"
    title = gettext_noop("If/else")
    description = gettext_noop("Takes the branch of the first case that matches")
    palette_order = 10
    icon = "branch"
    family = "logic"
    dialects = ("dify", "xworkflow")
    config_model = IfElseConfig
    execution = Execution.BRANCH
    fields = (
        Field("cases", gettext_noop("Cases"), Widget.CASES,
              help=gettext_noop("Evaluated in order. If no case matches, the Else branch is taken."),
              default=[{"case_id": "true", "logical_operator": "and", "conditions": []}],
              example=[{"case_id": "true", "logical_operator": "and", "conditions": [
                  {"variable_selector": ["start", "topic"], "comparison_operator": "contains",
                   "value": "memory"}]}]),
    )  # fmt: skip

    def build_initial_data(self, text: Selector) -> Data:
        """Return a case that applies if there is a text, because a case without conditions never applies."""
        condition = {
            "variable_selector": [*text],
            "comparison_operator": "not empty",
            "value": "",
            "varType": "string",
        }
        case = {"case_id": "true", "logical_operator": "and", "conditions": [condition]}
        return {"cases": [case]}

    def prepare(self, spec: NodeSpec) -> Cases:
        config = self.configure(spec)
        cases = tuple(
            (
                _get_case_id(case),
                parse_group(
                    case.get("conditions"),
                    case.get("logical_operator"),
                    takes_missing=config.missing_is_null,
                ),
            )
            for case in config.list_cases()
        )
        return Cases(cases, config.missing_is_null)

    def check(self, spec: NodeSpec) -> list[Problem]:
        problems = super().check(spec)
        if problems:
            return problems
        for index, case in enumerate(self.configure(spec).list_cases()):
            problems += find_group_problems(
                case.get("conditions"),
                case.get("logical_operator"),
                node=spec.id,
                field=f"cases.{index}.conditions" if "cases" in spec.data else "conditions",
                label=f"Case {index + 1}",
            )
        return problems

    def list_handles(self, spec: NodeSpec) -> tuple[str, ...]:
        return (*(_get_case_id(case) for case in self.configure(spec).list_cases()), "false")

    def label_handles(self, data: Data) -> Mapping[str, HandleLabel]:
        cases = data.get("cases")
        case_data = iter_objects(cases) if isinstance(cases, list | tuple) else [data]
        labels: dict[str, HandleLabel] = {}
        for case in case_data:
            label = gettext_noop("Else if") if labels else gettext_noop("If")
            labels.setdefault(_get_case_id(case), HandleLabel(Phrase(label), _describe_case(case)))
        return {**labels, "false": HandleLabel(Phrase(gettext_noop("Else")))}

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        matched = gettext_noop("Matched branch")
        short = (
            (Output(_SHORT_NAME, "string", matched),) if spec.data.get("missing_is_null") else ()
        )
        return (
            Output("result", "boolean", gettext_noop("Whether any case matched")),
            Output("selected_case_id", "string", matched),
            *short,
        )

    def list_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        return tuple(
            selector
            for _, group in self.prepare(spec).cases
            for condition in group.conditions
            for selector in condition.references
        )

    def run(self, prepared: Cases, ctx: NodeContext) -> NodeResult:
        case_id, rows = _choose_case(prepared.cases, ctx.pool)
        ctx.record_inputs({COMPARED: rows} if rows else {})
        selected = "false" if case_id is None else case_id
        outputs: dict[str, Json] = {"result": case_id is not None, "selected_case_id": selected}
        if prepared.has_short_name:
            outputs[_SHORT_NAME] = selected
        return NodeResult(outputs, handle=selected)


def _choose_case(
    cases: Iterable[tuple[str, ConditionGroup]], pool: VariablePool
) -> tuple[str | None, list[Json]]:
    """Return the id of the first case that is met, and a row for each comparison that was made until then."""
    rows: list[Json] = []
    for number, (case_id, group) in enumerate(cases, start=1):
        is_met, comparisons = group.evaluate(pool)
        rows += [_record(number, group, comparison) for comparison in comparisons]
        if is_met:
            return case_id, rows
    return None, rows


def _record(number: int, group: ConditionGroup, comparison: Comparison) -> dict[str, Json]:
    condition = comparison.condition
    return {
        "case": number,
        "logical_operator": group.logic,
        "variable_selector": [*condition.selector],
        "comparison_operator": condition.operator,
        **_record_value("actual_value", comparison.actual),
        **_record_value("expected_value", comparison.expected),
        "result": comparison.is_met,
    }


def _record_value(name: str, value: Json) -> dict[str, Json]:
    """Return the value, or only the length of a long one: a part could end within a secret, which would not be masked."""
    length = len(as_text(value))
    return {name: value} if length <= _MAX_RECORDED else {f"{name}_length": length}


def _get_case_id(case: Mapping[str, Any]) -> str:
    return str(case.get("case_id") or case.get("id") or "true")


def _describe_case(case: Data) -> Sequence[Text]:
    """Return a case's conditions in readable form."""
    is_or = as_text(case.get("logical_operator")) == "or"
    parts: list[Text] = []
    for condition in iter_objects(case.get("conditions")):
        parts += [Phrase(gettext_noop(" or ") if is_or else gettext_noop(" and "))] if parts else []
        parts += _describe_condition(condition)
    return parts or [Phrase(gettext_noop("Always"))]


def _describe_condition(condition: Data) -> Iterator[Text]:
    operator = as_text(condition.get("comparison_operator"))
    value = condition.get("value")
    name = get_variable_name(condition.get("variable_selector"))
    yield f"{name} " if name else ""
    yield get_operator_label(operator)
    if value not in (None, "") and not is_unary(operator):
        yield f" {_quote_symbols(as_text(value))}"


def _quote_symbols(value: str) -> str:
    """Return the value, quoted if it has no letter or digit, so that it is visible among words."""
    return value if any(letter.isalnum() for letter in value) else f"“{value}”"
