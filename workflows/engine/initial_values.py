"""The values of a new node, which are complete where that is possible: a node is to work as soon as it is added.

They differ from the defaults of fields, which apply to documents that lack the value.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from workflows.engine.configuration import Field, Widget
from workflows.engine.language.document import Json, Mode, Selector


CHAT_MESSAGE: Final[Selector] = ("sys", "query")
_TEXT_TYPES: Final = ("paragraph", "text-input", "string", "text")


@dataclass(frozen=True, slots=True)
class FoundValue:
    """A variable that a new node can read, with its type."""

    selector: Selector
    type: str


def _find_nothing(types: Collection[str]) -> FoundValue | None:
    return None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """A new node can read these values: the person's message, and the text and the context that the nodes before it make.

    ``find_value`` returns the nearest value of one of the given types.
    """

    message: Selector | None = None
    text: Selector | None = None
    context: Selector | None = None
    has_memory: bool = True  # of this installation
    translate: Callable[[str], str] = str
    find_value: Callable[[Collection[str]], FoundValue | None] = _find_nothing


def find_message(mode: Mode, starts: Sequence[tuple[str, Mapping[str, Json]]]) -> Selector | None:
    """Return the variable with the person's message: that of the chat, or the first text of the start form.

    ``starts`` are the ids of the start nodes with their data.
    """
    if mode is Mode.CHAT:
        return CHAT_MESSAGE
    for start_id, data in starts:
        variables = data.get("variables")
        for variable in variables if isinstance(variables, list | tuple) else ():
            if isinstance(variable, Mapping) and variable.get("type") in _TEXT_TYPES:
                name = variable.get("variable")
                if isinstance(name, str) and name:
                    return (start_id, name)
    return None


def collect_initial_data(
    fields: Iterable[Field], message: Selector | None = None
) -> dict[str, Json]:
    """Return the initial values of fields by name. A section that is off stores nothing."""
    values: dict[str, Json] = {}
    for field in fields:
        value = get_initial_value(field, message)
        if value is None and field.fields and not has_switch(field):
            value = collect_initial_data(field.fields, message) or None
        if value is not None:
            values[field.name] = value
    return values


def collect_found_values(
    fields: Iterable[Field], find_value: Callable[[Collection[str]], FoundValue | None]
) -> dict[str, Json]:
    """Return the nearest value for each required field that takes a variable of certain types."""
    values: dict[str, Json] = {}
    for field in fields:
        if field.required and field.widget is Widget.SELECTOR and field.accepted_types:
            found = find_value(field.accepted_types)
            if found is not None:
                values[field.name] = [*found.selector]
    return values


def get_initial_value(field: Field, message: Selector | None) -> Json:
    if field.presets_message and message is not None:
        return [*message]
    return field.default if field.initial is None else field.initial


def fill_in_message(fields: Iterable[Field], message: Selector | None) -> tuple[Field, ...]:
    """Return the fields with the message as the initial value of those that take it."""
    return tuple(
        replace(
            field,
            initial=get_initial_value(field, message) if field.presets_message else field.initial,
            fields=fill_in_message(field.fields, message),
        )
        for field in fields
    )


def has_switch(field: Field) -> bool:
    """Return whether the field is a section that a switch turns on."""
    return bool(field.fields) and field.fields[0].widget is Widget.SWITCH
