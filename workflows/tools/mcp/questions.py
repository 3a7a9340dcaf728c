"""Turns what an MCP server asks before it carries out a call into a form for a person, and the answer into what the server reads.

The text is the server's, so it is shown as it is written, and an address as text that nobody is led to follow.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcp import types
from pydantic import TypeAdapter

from workflows.engine.errors import ToolFailed
from workflows.engine.language.document import Json
from workflows.engine.tool_calls import ToolAsks, ToolReply
from workflows.tools.mcp.interviews import Answer, Interview, describe_question
from workflows.tools.operations import clean_text


MAX_FIELDS: Final = 50
MAX_OPTIONS: Final = 1000
MAX_STATE: Final = 64 * 1024  # characters of all that is kept until the answer
MAX_TEXT: Final = 4000
MAX_DESCRIPTION: Final = 300
ACCEPT: Final = "accept"
_KEY: Final = "question"  # of the one that a server of an earlier revision asks, which has no name
_ACTIONS: Final[tuple[Mapping[str, Json], ...]] = (
    {"id": ACCEPT, "title": "Send", "style": "primary"},
    {"id": "decline", "title": "Decline", "style": "default", "declines": True},
)
_REQUESTS: Final[TypeAdapter[types.InputRequests]] = TypeAdapter(types.InputRequests)


@dataclass(frozen=True, slots=True)
class _FormField:
    """A field of a question: its name in the form, and its place in what the server asks."""

    name: str
    request: str
    property: str
    schema: Mapping[str, Json]
    is_required: bool


def build_question(title: str, result: types.InputRequiredResult) -> ToolAsks:
    """Return the form for what a server asks. Raise ``ToolFailed`` if it asks for more than a person can give."""
    return _build_question(title, result.input_requests or {}, {"state": result.request_state})


def build_old_question(
    title: str, params: types.ElicitRequestFormParams, interview: Interview
) -> ToolAsks:
    """Return the form for what a server asks during a call, with the answers that the call made again begins with."""
    answers: list[Json] = [[each.question, each.result] for each in interview.answers]
    requests: types.InputRequests = {_KEY: types.ElicitRequest(params=params)}
    return _build_question(title, requests, {"state": None, "answers": answers})


def _build_question(
    title: str, requests: types.InputRequests, details: Mapping[str, Json]
) -> ToolAsks:
    for request in requests.values():
        if not isinstance(request, types.ElicitRequest):
            raise ToolFailed(f"The MCP server wants {request.method}, which is not offered")
    state = {"requests": _dump(requests), **details}
    fields = list(_iter_fields(requests))
    if len(fields) > MAX_FIELDS or len(json.dumps(state)) > MAX_STATE:
        raise ToolFailed("The MCP server asks for too much")
    form = {
        "type": "form",
        "content": _describe(title, requests),
        "inputs": [_build_input(each) for each in fields],
        "actions": [dict(action) for action in _ACTIONS],
    }
    return ToolAsks(form, state)


def read_reply(reply: ToolReply | None) -> tuple[types.InputResponses | None, str | None]:
    """Return a person's answer as responses to what the server asked, with the state that it wants back."""
    if reply is None or not isinstance(reply.state, Mapping) or "answers" in reply.state:
        return None, None
    return _read_responses(reply, reply.state)


def repeat_reply(
    reply: ToolReply | None, requests: types.InputRequests
) -> types.InputResponses | None:
    """Return a person's answer again if the server asks the same once more, or None if it asks anything else."""
    if reply is None or not isinstance(reply.state, Mapping):
        return None
    if reply.state.get("requests") != _dump(requests):
        return None
    return _read_responses(reply, reply.state)[0]


def _dump(requests: types.InputRequests) -> Json:
    dumped: Json = _REQUESTS.dump_python(requests, mode="json", by_alias=True, exclude_none=True)
    return dumped


def read_interview(reply: ToolReply | None) -> Interview:
    """Return the interview of a call, with all answers that a person has given to it."""
    if reply is None or not isinstance(reply.state, Mapping) or "answers" not in reply.state:
        return Interview()
    responses, _state = _read_responses(reply, reply.state)
    params = _REQUESTS.validate_python(reply.state["requests"])[_KEY].params
    if not isinstance(params, types.ElicitRequestFormParams):
        return Interview()
    answers = [Answer(question, result) for question, result in reply.state["answers"]]
    result = responses[_KEY].model_dump(mode="json", by_alias=True, exclude_none=True)
    return Interview((*answers, Answer(describe_question(params), result)))


def _read_responses(
    reply: ToolReply, question: Mapping[str, Any]
) -> tuple[types.InputResponses, str | None]:
    requests = _REQUESTS.validate_python(question["requests"])
    state: str | None = question["state"]
    if reply.action != ACCEPT:
        action: Any = "decline" if reply.action else "cancel"  # nobody answered in time
        return {key: types.ElicitResult(action=action) for key in requests}, state
    contents: dict[str, dict[str, Json]] = {key: {} for key in requests}
    for each in _iter_fields(requests):
        value = _read_value(each, reply.values.get(each.name))
        if value is not None:
            contents[each.request][each.property] = value
    return {
        key: types.ElicitResult(action="accept", content=contents[key] or None) for key in requests
    }, state


def _iter_fields(requests: types.InputRequests) -> Iterator[_FormField]:
    for key, request in requests.items():
        params = request.params
        if not isinstance(params, types.ElicitRequestFormParams):
            continue
        properties = params.requested_schema.get("properties")
        required = params.requested_schema.get("required")
        for name, schema in (properties if isinstance(properties, dict) else {}).items():
            label = str(name) if len(requests) == 1 else f"{key}.{name}"
            is_required = isinstance(required, list) and name in required
            yield _FormField(
                label, key, name, schema if isinstance(schema, dict) else {}, is_required
            )


def _describe(title: str, requests: types.InputRequests) -> str:
    """Return the server's texts in Markdown that shows them as they are."""
    texts: list[str] = []
    for request in requests.values():
        params = request.params
        if isinstance(params, types.ElicitRequestFormParams | types.ElicitRequestURLParams):
            texts.append(clean_text(params.message, MAX_TEXT))
        if isinstance(params, types.ElicitRequestURLParams):
            texts.append(clean_text(params.url, 2000))
    # In a form's text, this marks the place of a field, after which its Markdown begins anew.
    escaped = [text.replace("{{#", "{ {#") for text in texts]
    lines = [f"    {line}" for text in escaped for line in text.splitlines()]
    return "\n".join([f"**{title}**", "", *lines])


def _build_input(form_field: _FormField) -> dict[str, Json]:
    schema = form_field.schema
    item: dict[str, Json] = {
        "name": form_field.name,
        "type": _choose_type(schema),
        "label": clean_text(schema.get("title") or form_field.property, 80),
        "required": form_field.is_required,
    }
    if description := clean_text(schema.get("description"), MAX_DESCRIPTION):
        item["description"] = description
    options = _list_options(schema)
    if item["type"] == "select":
        item["options"] = list(options)
    if choices := _list_options(_read_items(schema)):
        item["choices"] = list(choices)
    if "default" in schema and not isinstance(schema["default"], list):
        default = schema["default"]
        item["default"] = next((each for each in options if options[each] == default), default)
    return item


def _choose_type(schema: Mapping[str, Json]) -> str:
    if _list_options(schema):
        return "select"
    kinds = {"boolean": "checkbox", "number": "number", "integer": "number"}
    return kinds.get(str(schema.get("type")), "paragraph")


def _read_items(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the schema of the values of a list, of which a person enters several."""
    items = schema.get("items") if schema.get("type") == "array" else None
    return items if isinstance(items, dict) else {}


def _list_options(schema: Mapping[str, Json]) -> dict[str, Json]:
    """Return the values among which a person chooses, by what they are called."""
    titled = schema.get("oneOf") or schema.get("anyOf")
    if isinstance(titled, list) and all(
        "const" in each for each in titled if isinstance(each, dict)
    ):
        return {
            clean_text(str(each.get("title") or each.get("const")), 200): each.get("const")
            for each in titled[:MAX_OPTIONS]
            if isinstance(each, dict)
        }
    values = schema.get("enum")
    return (
        {clean_text(str(v), 200): v for v in values[:MAX_OPTIONS]}
        if isinstance(values, list)
        else {}
    )


def _read_value(form_field: _FormField, value: Json) -> Json:
    """Return the value that the server gets, or None for a field that was left empty."""
    if value is None or (value == "" and not form_field.is_required):
        return None
    kind = form_field.schema.get("type")
    options = _list_options(form_field.schema)
    if options:
        return options.get(str(value), value)
    if kind == "array":
        choices = _list_options(_read_items(form_field.schema))
        lines = [line.strip() for line in str(value).splitlines()]
        return [choices.get(line, line) for line in lines if line]
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    return value
