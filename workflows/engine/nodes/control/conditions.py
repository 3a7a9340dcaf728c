"""Conditions of branches and loops: one table from operator to function.

``parse_condition`` and ``parse_group`` read conditions, ``find_group_problems`` says what is wrong with them, and
``is_met`` evaluates them. A variable without a value or of
a type that doesn't fit the operator raises an error, because a guess could silently choose the wrong branch.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from workflows.engine.errors import ConditionInvalid
from workflows.engine.field_labels import SEPARATOR
from workflows.engine.language.comparisons import (
    UNARY,
    compare,
    convert_expected,
    normalize_operator,
)
from workflows.engine.language.document import Json, Selector
from workflows.engine.language.problems import Problem
from workflows.engine.language.templating import list_references, render_text
from workflows.engine.language.values import FILE_ATTRIBUTES, get_file_attribute, is_file
from workflows.engine.language.variables import VariablePool


Logic = Literal["and", "or"]

CONDITION: Final = "Condition"
CONDITIONS: Final = "Conditions"

# all() and any() stop at the first result that decides: later conditions aren't evaluated.
_LOGIC: Final[Mapping[Logic, Callable[[Iterable[bool]], bool]]] = {"and": all, "or": any}
_OVER_FILES_KEY: Final = "sub_variable_condition"
# Operators that compare the files in an array of files.
_OVER_FILES: Final = frozenset({"contains", "not contains", "all of"})


@dataclass(frozen=True, slots=True)
class FileCondition:
    """Compares one attribute of files."""

    attribute: str
    operator: str
    value: Json = None

    def is_met(self, files: Sequence[Mapping[str, Json]]) -> bool:
        results = (self._is_met_by(file) for file in files)
        # Negations must hold for all files, other operators for one file.
        return all(results) if "not" in self.operator else any(results)

    def _is_met_by(self, file: Mapping[str, Json]) -> bool:
        actual, expected = get_file_attribute(file, self.attribute), self.value
        if self.attribute == "extension":
            actual, expected = add_dot(actual), add_dot(expected)
        return compare(self.operator, actual, expected)


@dataclass(frozen=True, slots=True)
class FileConditionGroup:
    conditions: tuple[FileCondition, ...]
    logic: Logic = "and"

    def is_met(self, files: Sequence[Mapping[str, Json]]) -> bool:
        return _LOGIC[self.logic](condition.is_met(files) for condition in self.conditions)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A condition that was evaluated, with the values that it compared."""

    condition: "Condition"
    actual: Json
    expected: Json
    is_met: bool


@dataclass(frozen=True, slots=True)
class Condition:
    """Compares a variable with a value, or the files in it with the conditions ``over_files``."""

    selector: Selector
    operator: str
    value: Json = None
    over_files: FileConditionGroup | None = None
    takes_missing: bool = False  # a variable that is missing is null, as in xworkflow, and no error

    def is_met(self, pool: VariablePool) -> bool:
        return self.evaluate(pool).is_met

    def evaluate(self, pool: VariablePool) -> Comparison:
        takes = pool.get_or_none if self.takes_missing else pool.require
        actual = takes(self.selector)
        if self.operator in _OVER_FILES and self._compares_files(actual):
            if self.over_files is None:
                raise ConditionInvalid("A condition on a list of files needs a file condition")
            return Comparison(self, actual, None, self.over_files.is_met(actual))
        if self.operator in UNARY:
            return Comparison(self, actual, None, compare(self.operator, actual, None))
        expected = convert_expected(actual, render_value(self.value, pool))
        return Comparison(self, actual, expected, compare(self.operator, actual, expected))

    def _compares_files(self, actual: Json) -> bool:
        # The type of an empty list is unknown, so the condition's form decides.
        return _are_files(actual) or (actual == [] and self.over_files is not None)

    @property
    def references(self) -> tuple[Selector, ...]:
        """Return every variable that the condition reads."""
        values = self.value if isinstance(self.value, list | tuple) else [self.value]
        texts = (value for value in values if isinstance(value, str))
        return (self.selector, *(selector for text in texts for selector in list_references(text)))


@dataclass(frozen=True, slots=True)
class ConditionGroup:
    """Conditions joined by and / or. A group without conditions is true with "and", and false with "or"."""

    conditions: tuple[Condition, ...] = ()
    logic: Logic = "and"

    def is_met(self, pool: VariablePool) -> bool:
        return _LOGIC[self.logic](condition.is_met(pool) for condition in self.conditions)

    def evaluate(self, pool: VariablePool) -> tuple[bool, Sequence[Comparison]]:
        """Return whether the group is met, and the comparisons up to the one that decided it."""
        comparisons: list[Comparison] = []

        def compare_next() -> Iterator[bool]:
            for condition in self.conditions:
                comparisons.append(condition.evaluate(pool))
                yield comparisons[-1].is_met

        return _LOGIC[self.logic](compare_next()), comparisons


def parse_condition(
    data: Json, *, takes_missing: bool = False, label: str = CONDITION
) -> Condition:
    """Read a condition as documents write it. Raises ConditionInvalid with the problem, which begins with the label."""
    data = _require_mapping(data, label)
    selector = data.get("variable_selector")
    is_list = isinstance(selector, list | tuple) and len(selector) > 1
    if not is_list or not all(isinstance(part, str) for part in selector):
        raise ConditionInvalid(f"{label}: choose a variable", ("variable_selector",))
    over_files = data.get(_OVER_FILES_KEY)
    return Condition(
        selector=tuple(selector),
        operator=parse_operator(data.get("comparison_operator"), label),
        value=data.get("value"),
        over_files=_parse_files(over_files, label) if isinstance(over_files, Mapping) else None,
        takes_missing=takes_missing,
    )


def parse_group(
    conditions: Json, logic: Json, *, takes_missing: bool = False, label: str = ""
) -> ConditionGroup:
    """Read a list of conditions, of which null has none. Raises ConditionInvalid; ``label`` names the list's owner."""
    if conditions is not None and not isinstance(conditions, list | tuple):
        raise ConditionInvalid(f"{label or CONDITIONS} must be a list")
    prefix = f"{label}{SEPARATOR}" if label else ""
    return ConditionGroup(
        tuple(
            parse_condition(
                condition, takes_missing=takes_missing, label=f"{prefix}{CONDITION} {number}"
            )
            for number, condition in enumerate(conditions or (), start=1)
        ),
        parse_logic(logic, label or CONDITIONS),
    )


def find_group_problems(
    conditions: Json, logic: Json, *, node: str, field: str, label: str = ""
) -> Iterator[Problem]:
    """Yield a problem for each condition that can't be read, at its control. ``field`` is the path of the list."""
    rows = conditions if isinstance(conditions, list | tuple) else ()
    prefix = f"{label}{SEPARATOR}" if label else ""
    for number, condition in enumerate(rows, start=1):
        try:
            parse_condition(condition, label=f"{prefix}{CONDITION} {number}")
        except ConditionInvalid as invalid:
            where = ".".join(map(str, (field, number - 1, *invalid.path)))
            yield Problem("condition.invalid", invalid.message, node, where)
    try:
        parse_group(None if rows else conditions, logic, label=label)
    except ConditionInvalid as invalid:
        owner = field.rpartition(".")[0]
        where = ".".join(filter(None, (owner, *map(str, invalid.path)))) if invalid.path else field
        yield Problem("condition.invalid", invalid.message, node, where)


def parse_operator(name: Json, label: str = CONDITION) -> str:
    operator = normalize_operator(name) if isinstance(name, str) else None
    if operator is None:
        raise ConditionInvalid(f"{label}: choose an operator", ("comparison_operator",))
    return operator


def parse_logic(name: Json, label: str = CONDITIONS) -> Logic:
    if name is None:
        return "and"
    for logic in _LOGIC:
        if isinstance(name, str) and name.lower() == logic:
            return logic
    message = f"{label}: choose whether all conditions must be met, or any of them"
    raise ConditionInvalid(message, ("logical_operator",))


def render_value(value: Json, pool: VariablePool) -> Json:
    """Fill in the references of a text, or of the texts in a list."""
    if isinstance(value, str):
        return render_text(value, pool)
    return (
        [render_value(item, pool) for item in value] if isinstance(value, list | tuple) else value
    )


def add_dot(extension: Json) -> Json:
    """Add the leading dot of a file extension, or of those in a list, where it is missing."""
    if isinstance(extension, str):
        return extension if not extension or extension.startswith(".") else f".{extension}"
    return (
        [add_dot(item) for item in extension] if isinstance(extension, list | tuple) else extension
    )


def _parse_files(data: Mapping[str, Json], label: str) -> FileConditionGroup:
    conditions = data.get("conditions") or ()
    if not isinstance(conditions, list | tuple):
        raise ConditionInvalid(f"{label}{SEPARATOR}{CONDITIONS} must be a list")
    return FileConditionGroup(
        tuple(
            _parse_file_condition(
                condition,
                f"{label}{SEPARATOR}{CONDITION} {number}",
                (_OVER_FILES_KEY, "conditions", number - 1),
            )
            for number, condition in enumerate(conditions, start=1)
        ),
        parse_logic(data.get("logical_operator"), label),
    )


def _parse_file_condition(
    condition: Json, label: str, path: tuple[int | str, ...]
) -> FileCondition:
    data = _require_mapping(condition, label)
    key = data.get("key")
    if key not in FILE_ATTRIBUTES:
        names = ", ".join(FILE_ATTRIBUTES)
        message = f"{label}: choose a property of the file, one of: {names}"
        raise ConditionInvalid(message, (*path, "key"))
    try:
        operator = parse_operator(data.get("comparison_operator"), label)
    except ConditionInvalid as invalid:
        raise ConditionInvalid(invalid.message, (*path, *invalid.path)) from None
    return FileCondition(str(key), operator, data.get("value"))


def _require_mapping(value: Json, label: str) -> Mapping[str, Json]:
    if not isinstance(value, Mapping):
        raise ConditionInvalid(f"{label} must be an object")
    return value


def _are_files(value: Json) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(map(is_file, value))
