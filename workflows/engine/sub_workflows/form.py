"""Describes a workflow to those that call it, as a sub-workflow or as a tool: its inputs, and its outputs.

A chat has its message as an additional input, ``query``, and its answer as the output ``text``.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from workflows.engine.errors import InputRejected
from workflows.engine.initial_values import find_message
from workflows.engine.language.document import Document, Json, Mode, NodeSpec
from workflows.engine.language.problems import Problem
from workflows.engine.language.start_form import (
    TEXT_FIELDS,
    Field,
    check_inputs,
    find_start,
    list_fields,
)
from workflows.engine.language.templating import format_reference
from workflows.engine.text_rendering import as_text


QUERY: Final = "query"
TEXT: Final = "text"

# The JSON types of start fields; a field of any other type accepts any value.
_JSON_TYPES: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("text-input", "paragraph", "string", "select", "external_data_tool"), "string"
    ),
    **dict.fromkeys(("number", "integer", "float"), "number"),
    **dict.fromkeys(("checkbox", "boolean"), "boolean"),
    **dict.fromkeys(("json_object", "object", "file"), "object"),
    **dict.fromkeys(("file-list", "array"), "array"),
}


@dataclass(frozen=True, slots=True)
class CallableInput:
    """An input of a callable workflow, with the texts of its start form."""

    name: str
    type: str
    label: str = ""
    description: str = ""
    required: bool = False
    options: tuple[str, ...] = ()
    max_length: int | None = None


def list_callable_inputs(document: Document) -> tuple[CallableInput, ...]:
    """Return the inputs that a caller may give, the message of a chat first."""
    start = find_start(document)
    texts = _read_texts(start) if start is not None else {}
    inputs = [
        CallableInput(
            field.name,
            field.type,
            *texts.get(field.name, ("", "")),
            field.required and field.default in (None, ""),
            field.options,
            field.max_length,
        )
        for field in _list_start_fields(start)
    ]
    if document.mode is Mode.CHAT:
        query = CallableInput(QUERY, "paragraph", description="The message", required=True)
        inputs = [query, *(each for each in inputs if each.name != QUERY)]
    return tuple(inputs)


def suggest_values(inputs: Iterable[CallableInput], caller: Document) -> dict[str, str]:
    """Return what a call from the calling workflow passes at first, by input; an empty text where nothing fits.

    An input gets the caller's own input of the same name and type. Of the others the first text gets the person's
    message, a required one before an optional one.
    """
    inputs, start = tuple(inputs), find_start(caller)
    own_types = {field.name: _get_json_type(field.type) for field in _list_start_fields(start)}
    values = dict.fromkeys((each.name for each in inputs), "")
    for each in inputs:
        json_type = _get_json_type(each.type)
        if start is not None and json_type and own_types.get(each.name) == json_type:
            values[each.name] = format_reference((start.id, each.name))
    message = find_message(caller.mode, [(start.id, start.data)] if start is not None else [])
    texts = [each for each in inputs if not values[each.name] and _takes_message(each)]
    if message is not None and texts:
        first = next((each for each in texts if each.required), texts[0])
        values[first.name] = format_reference(message)
    return values


def _takes_message(each: CallableInput) -> bool:
    return _get_json_type(each.type) == "string" and not each.options


def list_callable_outputs(document: Document) -> tuple[tuple[str, str], ...]:
    """Return name and type of each output of the End nodes, or of a chat's answer."""
    if document.mode is Mode.CHAT:
        return ((TEXT, "string"), ("files", "array[file]"))
    outputs: dict[str, str] = {}
    for node in document.nodes:
        if node.kind == "end" and node.parent is None:
            for output in _iter_mappings(node.data.get("outputs")):
                name = output.get("variable")
                if isinstance(name, str) and name:
                    outputs[name] = str(output.get("value_type") or "any").lower()
    return tuple(outputs.items())


def build_input_schema(inputs: Iterable[CallableInput]) -> dict[str, Json]:
    """Return the JSON schema of the inputs, from which a model learns what a call needs."""
    inputs = tuple(inputs)
    return {
        "type": "object",
        "properties": {each.name: _build_property(each) for each in inputs},
        "required": [each.name for each in inputs if each.required],
        "additionalProperties": False,
    }


def check_call(
    document: Document, inputs: Mapping[str, Json]
) -> tuple[dict[str, Json], str | None]:
    """Return the checked start inputs, and a chat's message. Raises InputRejected with all problems.

    A field for text accepts any value, because a caller often has a number or an object where text is asked for.
    """
    fields = _list_start_fields(find_start(document))
    is_chat = document.mode is Mode.CHAT
    names = {field.name for field in fields} | ({QUERY} if is_chat else set())
    problems = [
        Problem("input.unknown", f"{name} is not an input of {document.name}", field=name)
        for name in inputs
        if name not in names
    ]
    query = as_text(inputs.get(QUERY)) if is_chat else None
    if is_chat and not (query or "").strip():
        problems.append(Problem("input.invalid", f"{QUERY} is required", field=QUERY))
    text_names = {field.name for field in fields if field.type in TEXT_FIELDS}
    values = {name: _fit(value, name in text_names) for name, value in inputs.items()}
    checked: dict[str, Json] = {}
    try:
        checked = check_inputs(fields, values)
    except InputRejected as rejected:
        problems += rejected.problems
    if problems:
        raise InputRejected(problems)
    return checked, query


def build_call_outputs(mode: Mode, outputs: Mapping[str, Json]) -> dict[str, Json]:
    """Return the outputs of a run as its caller gets them."""
    if mode is not Mode.CHAT:
        return dict(outputs)
    return {TEXT: as_text(outputs.get("answer")), "files": outputs.get("files") or []}


def _fit(value: Json, is_text: bool) -> Json:
    return as_text(value) if is_text and value is not None else value


def _build_property(each: CallableInput) -> dict[str, Json]:
    schema: dict[str, Json] = {}
    json_type = _get_json_type(each.type)
    if json_type:
        schema["type"] = json_type
    if description := ": ".join(filter(None, (each.label, each.description))):
        schema["description"] = description
    if each.options:
        schema["enum"] = list(each.options)
    if each.max_length is not None and json_type == "string":
        schema["maxLength"] = each.max_length
    return schema


def _get_json_type(field_type: str) -> str | None:
    return _JSON_TYPES.get(field_type.partition("[")[0])


def _list_start_fields(start: NodeSpec | None) -> Sequence[Field]:
    return list_fields(start) if start is not None else ()


def _read_texts(start: NodeSpec) -> dict[str, tuple[str, str]]:
    """Return label and description of each field; a label that only repeats the name is left out."""
    texts = {}
    for variable in _iter_mappings(start.data.get("variables")):
        name, label = variable.get("variable"), str(variable.get("label") or "")
        description = str(variable.get("description") or "")
        texts[str(name)] = ("" if label == name else label, description)
    return texts


def _iter_mappings(value: Json) -> Iterable[Mapping[str, Json]]:
    items = value if isinstance(value, list | tuple) else ()
    return (item for item in items if isinstance(item, Mapping))
