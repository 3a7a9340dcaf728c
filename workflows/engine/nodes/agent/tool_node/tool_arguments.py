"""The arguments of a tool node: Dify's ``{type, value}`` or plain values, with references to variables."""

from collections.abc import Iterator, Mapping
from typing import Final

from workflows.engine.language.document import Json, Selector
from workflows.engine.language.variables import VariablePool
from workflows.engine.nodes.http.written_texts import render_argument
from workflows.engine.tools.arguments import find_only_type


_TYPES: Final = frozenset({"mixed", "variable", "constant"})
_JSON_TYPES: Final = ("object", "array")
Arguments = Mapping[str, Json]


def merge_arguments(data: Arguments) -> dict[str, Json]:
    """Return all arguments of a node's document: Dify's settings and parameters, and xworkflow's arguments."""
    merged: dict[str, Json] = {}
    keys = ("tool_configurations", "tool_parameters")
    # A node of xworkflow names no provider, until another tool is chosen for it.
    for key in keys if data.get("provider_id") else ("arguments", *keys):
        part = data.get(key)
        if isinstance(part, Mapping):
            merged |= {str(name): value for name, value in part.items()}
    return merged


def list_selectors(arguments: Arguments) -> Iterator[Selector]:
    """Yield the variables whose values are passed as they are."""
    for argument in arguments.values():
        selector = _get_selector(argument)
        if selector is not None:
            yield selector


def fill_in(
    arguments: Arguments, pool: VariablePool, parameters: Arguments | None = None
) -> dict[str, Json]:
    """Return the values of the arguments. One without a value, such as a missing variable, is left out.

    With the ``parameters`` of the tool, the author's JSON for an object or a list keeps its members, whatever is in it.
    """
    values = {
        name: _fill_in_one(name, argument, pool, is_json_parameter(parameters or {}, name))
        for name, argument in arguments.items()
    }
    return {name: value for name, value in values.items() if value is not None}


def list_missing(arguments: Arguments, parameters: Arguments) -> Iterator[str]:
    """Yield the required parameters that have no argument or an empty one."""
    for name in parameters.get("required") or ():
        value = arguments.get(name)
        if isinstance(value, Mapping) and _is_typed(value):
            value = value["value"]
        if value in (None, "", []):
            yield name


def drop_blanks(arguments: Arguments, parameters: Arguments) -> dict[str, Json]:
    """Return the arguments without empty texts for parameters that may be left out."""
    required = parameters.get("required") or ()
    return {name: value for name, value in arguments.items() if value != "" or name in required}


def is_json_parameter(parameters: Arguments, name: str) -> bool:
    """Return whether a parameter of a tool is an object or a list, which an author may write as text."""
    properties = parameters.get("properties")
    schema = properties.get(name) if isinstance(properties, Mapping) else None
    return find_only_type(schema) in _JSON_TYPES


def render_value(value: Json, pool: VariablePool, name: str = "", *, is_json: bool = False) -> Json:
    """Return the value of an argument with the references in all its texts filled in."""
    if isinstance(value, str):
        return render_argument(value, pool, name, is_json=is_json)
    if isinstance(value, Mapping):
        return {key: render_value(item, pool, key) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [render_value(item, pool) for item in value]
    return value


def _fill_in_one(name: str, argument: Json, pool: VariablePool, is_json: bool) -> Json:
    selector = _get_selector(argument)
    if selector is not None:
        return pool.get_or_none(selector)
    value = argument["value"] if _is_typed(argument) else argument
    return render_value(value, pool, name, is_json=is_json)


def _get_selector(argument: Json) -> Selector | None:
    if not _is_typed(argument) or argument["type"] != "variable":
        return None
    value = argument["value"]
    is_selector = isinstance(value, list | tuple) and len(value) > 1
    return tuple(map(str, value)) if is_selector else None


def _is_typed(argument: Json) -> bool:
    if not isinstance(argument, Mapping) or "value" not in argument:
        return False
    return isinstance(argument.get("type"), str) and argument["type"] in _TYPES
