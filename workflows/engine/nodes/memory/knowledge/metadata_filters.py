"""Conditions on the metadata of pages, compared as the branches of a workflow compare, and dates besides."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from workflows.engine.errors import ConditionInvalid, ValueMismatch
from workflows.engine.language import comparisons
from workflows.engine.language.comparisons import UNARY, compare, normalize_operator
from workflows.engine.language.document import Json, Selector
from workflows.engine.language.templating import list_references
from workflows.engine.language.values import parse_number
from workflows.engine.language.variables import VariablePool
from workflows.engine.nodes.control.conditions import Logic, parse_logic, render_value
from workflows.engine.nodes.memory.knowledge.config import MetadataConditions
from workflows.engine.text_rendering import as_text
from workflows.engine.texts import Phrase, Text, gettext_noop


BEFORE, AFTER = "before", "after"
_TEXT: Final = ("contains", "not contains", "start with", "end with", "is", "is not")
_NUMBER: Final = ("=", "≠", ">", "<", "≥", "≤")
_LISTS: Final = ("in", "not in")
_STATES: Final = ("empty", "not empty")
# The operators of Dify's conditions on metadata.
OPERATORS: Final = (*_TEXT, *_STATES, *_LISTS, *_NUMBER, BEFORE, AFTER)
_LOGIC: Final[Mapping[Logic, Callable[[Iterable[bool]], bool]]] = {"and": all, "or": any}


@dataclass(frozen=True, slots=True)
class MetadataTest:
    """One condition with its values filled in."""

    name: str
    operator: str
    value: Json = None

    def is_met(self, metadata: Mapping[str, Json]) -> bool:
        """Return whether the metadata meets it. Of a list one item must, or for a negation every item."""
        actual = _get_value(metadata, self.name)
        if self.operator in UNARY:
            return compare(self.operator, actual, None)
        items = actual if isinstance(actual, list | tuple) else [actual]
        results = [_compare(self.operator, item, self.value) for item in items]
        is_negation = self.operator in ("not contains", "is not", "not in", "≠")
        return all(results) if is_negation else any(results)

    def describe(self) -> dict[str, Json]:
        return {"name": self.name, "comparison_operator": self.operator, "value": self.value}


@dataclass(frozen=True, slots=True)
class MetadataFilter:
    """The conditions of a search. Without any, every page is accepted."""

    tests: tuple[MetadataTest, ...] = ()
    logic: Logic = "and"

    def __bool__(self) -> bool:
        return bool(self.tests)

    def accepts(self, metadata: Mapping[str, Json]) -> bool:
        return _LOGIC[self.logic](test.is_met(metadata) for test in self.tests)

    def describe(self) -> Json:
        """Return the conditions for the record of the step."""
        conditions = [test.describe() for test in self.tests]
        return {"logical_operator": self.logic, "conditions": conditions}


def check_conditions(group: MetadataConditions) -> None:
    """Raise ConditionInvalid, whose message names the condition, for one that no run could compare."""
    parse_logic(group.logical_operator or None)
    for number, condition in enumerate(group.conditions, start=1):
        if not condition.name.strip():
            raise ConditionInvalid(f"Condition {number} needs the name of a metadata field")
        _parse_operator(condition.comparison_operator, number)


def list_condition_references(group: MetadataConditions) -> list[Selector]:
    values = [condition.value for condition in group.conditions]
    texts = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return [
        selector for text in texts if isinstance(text, str) for selector in list_references(text)
    ]


def build_filter(
    group: MetadataConditions, pool: VariablePool
) -> tuple[MetadataFilter, Sequence[str]]:
    """Return the filter with the values of this run, and notes about conditions that say nothing and are left out."""
    tests, notes = [], []
    for number, condition in enumerate(group.conditions, start=1):
        operator = _parse_operator(condition.comparison_operator, number)
        value = render_value(condition.value, pool)
        if operator not in UNARY and value in (None, "", []):
            notes.append(f"The condition on {condition.name} has no value and was left out.")
            continue
        tests.append(MetadataTest(condition.name.strip(), operator, value))
    return MetadataFilter(tuple(tests), parse_logic(group.logical_operator or None)), notes


def read_conditions(value: Json) -> MetadataFilter:
    """Read conditions that a model stated; those that are none are left out."""
    conditions = value.get("conditions") if isinstance(value, Mapping) else None
    tests = []
    for condition in conditions if isinstance(conditions, list) else ():
        if not isinstance(condition, Mapping):
            continue
        name = str(condition.get("name") or "").strip()
        operator = normalize(str(condition.get("comparison_operator") or ""))
        expected = condition.get("value")
        if name and operator and (operator in UNARY or expected not in (None, "", [])):
            tests.append(MetadataTest(name, operator, expected))
    logic = value.get("logical_operator") if isinstance(value, Mapping) else None
    return MetadataFilter(tuple(tests), "or" if logic == "or" else "and")


def normalize(name: str) -> str | None:
    """Return the canonical name of an operator on metadata, or None if there is no such operator."""
    plain = name.strip().lower()
    operator = plain if plain in (BEFORE, AFTER) else normalize_operator(name)
    return operator if operator in OPERATORS else None


def get_operator_label(name: str) -> Text:
    """Return the label of an operator on metadata."""
    label = _DATE_LABELS.get(name)
    return Phrase(label) if label else comparisons.get_operator_label(name)


_DATE_LABELS: Final = {BEFORE: gettext_noop("is before"), AFTER: gettext_noop("is after")}


def _parse_operator(name: str, number: int) -> str:
    operator = normalize(name)
    if operator is None:
        raise ConditionInvalid(
            f"Condition {number} has an unknown operator {name[:40]!r}; use one of: {', '.join(OPERATORS)}"
        )
    return operator


def _get_value(metadata: Mapping[str, Json], name: str) -> Json:
    """Return a value by its name, in any case of its letters."""
    if name in metadata:
        return metadata[name]
    folded = name.casefold()
    return next((value for key, value in metadata.items() if key.casefold() == folded), None)


def _compare(operator: str, actual: Json, expected: Json) -> bool:
    """Compare one value. What can't be compared, such as a text with a number, doesn't match."""
    try:
        if operator in (BEFORE, AFTER):
            return _compare_dates(operator, actual, expected)
        if operator in _NUMBER:
            return _compare_numbers(operator, actual, expected)
        if operator in _LISTS:
            return compare(operator, as_text(actual), _split(expected))
        if actual is None:
            return operator in ("not contains", "is not")
        return compare(operator, as_text(actual), as_text(expected))
    except (ConditionInvalid, ValueMismatch):
        return False


def _compare_numbers(operator: str, actual: Json, expected: Json) -> bool:
    """Compare numbers, which headers hold as texts, or dates if the values are no numbers."""
    first, second = _to_number(actual), _to_number(expected)
    if first is None or second is None:
        first, second = parse_date(actual), parse_date(expected)
    return first is not None and second is not None and compare(operator, first, second)


def _compare_dates(operator: str, actual: Json, expected: Json) -> bool:
    first, second = parse_date(actual), parse_date(expected)
    if first is None or second is None:
        return False
    return first < second if operator == BEFORE else first > second


def parse_date(value: Json) -> float | None:
    """Return a date as seconds since 1970: of a number, or of a text such as 2026-03-01."""
    number = _to_number(value)
    if number is not None:
        return number
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value.strip().replace("/", "-"))
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _to_number(value: Json) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    try:
        return parse_number(value.strip()) if isinstance(value, str) else None
    except ValueMismatch:
        return None


def _split(expected: Json) -> list[str]:
    """Return the texts of a list, or of a text with commas."""
    items = expected.replace("，", ",").split(",") if isinstance(expected, str) else expected
    items = items if isinstance(items, list | tuple) else [items]
    return [as_text(item).strip() for item in items]
