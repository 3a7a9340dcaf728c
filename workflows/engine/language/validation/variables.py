"""Checks the environment and conversation variables of a document."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from workflows.engine.language.document import Document, VariableSpec
from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.language.values import ValueType, matches, parse_type, to_json


MAX_DESCRIPTION: Final = 255
MAX_BYTES: Final = 200_000
ENVIRONMENT_TYPES: Final = frozenset(ValueType) - {ValueType.FILE, ValueType.ARRAY_FILE}
CONVERSATION_TYPES: Final = frozenset(
    {
        *(ValueType.STRING, ValueType.NUMBER, ValueType.INTEGER, ValueType.FLOAT),
        *(ValueType.BOOLEAN, ValueType.OBJECT, ValueType.SECRET, ValueType.ARRAY_ANY),
        *(ValueType.ARRAY_STRING, ValueType.ARRAY_NUMBER, ValueType.ARRAY_OBJECT),
        ValueType.ARRAY_BOOLEAN,
    }
)


def find_variable_problems(document: Document) -> Iterator[Problem]:
    """Yield a problem for each repeated name, and for each invalid type, value or description."""
    lists = (
        ("environment_variables", document.environment, ENVIRONMENT_TYPES),
        ("conversation_variables", document.conversation, CONVERSATION_TYPES),
    )
    for field, variables, types in lists:
        names = Counter(variable.name for variable in variables)
        for index, variable in enumerate(variables):
            path = f"{field}.{index}"
            if names[variable.name] > 1:
                message = f"Duplicate variable {variable.name}"
                yield Problem("variable.duplicate", message, field=path)
            yield from _check_variable(variable, path, types)


def _check_variable(
    variable: VariableSpec, path: str, types: frozenset[ValueType]
) -> Iterator[Problem]:
    value_type = parse_type(variable.value_type)
    if value_type is None or value_type not in types:
        message = f"{variable.name} can't be of type {variable.value_type}"
        yield Problem("variable.type", message, field=path)
    elif variable.value is not None and not matches(variable.value, value_type):
        message = f"The value of {variable.name} is not of type {value_type}"
        yield build_warning("variable.value", message, field=path)
    if len(variable.description) > MAX_DESCRIPTION:
        message = f"The description of {variable.name} is longer than {MAX_DESCRIPTION} characters"
        yield Problem("variable.description", message, field=path)
    if len(to_json(variable.value).encode()) > MAX_BYTES:
        message = f"The value of {variable.name} is larger than {MAX_BYTES:,} bytes"
        yield Problem("variable.size", message, field=path)
