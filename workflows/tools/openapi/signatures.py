"""Merges the parameters and the body of an operation into one JSON schema, and says where each argument belongs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, Literal

from workflows.engine.language.document import Json
from workflows.tools.operations import clean_text
from workflows.tools.parameter_schemas import MAX_MEMBERS, Schema, SchemaReader


BodyType = Literal["", "json", "form", "multipart", "text"]

# Headers that belong to the request itself or to its credential, so that no argument may set them.
_FIXED_HEADERS: Final = frozenset({"accept", "content-type", "authorization", "cookie"})
MAX_DECLARED: Final = 200  # parameters of one operation, and forms of its body, that are looked at
_PLACES: Final = frozenset({"path", "query", "header"})
# In the order of preference.
_BODY_TYPES: Final[Mapping[str, BodyType]] = {
    "application/json": "json",
    "application/x-www-form-urlencoded": "form",
    "multipart/form-data": "multipart",
    "text/plain": "text",
}
MAX_MEDIA_TYPE: Final = 200  # characters
WHOLE_BODY: Final = "body"

# Where an argument belongs: the place, the name there, and how a list is written.
Place = tuple[str, str, str]


@dataclass
class Signature:
    parameters: Schema
    places: dict[str, Place] = field(default_factory=dict)
    body_type: BodyType = ""

    def add(self, argument: str, schema: Schema, place: Place, *, required: bool) -> None:
        self.parameters["properties"][argument] = schema
        if required:
            self.parameters["required"].append(argument)
        self.places[argument] = place


def read_signature(
    operation: Mapping[str, Json], shared: Sequence[Json], reader: SchemaReader
) -> Signature:
    """Return the merged schema. Parameters of the operation replace those of its path with the same name and place."""
    signature = Signature({"type": "object", "properties": {}, "required": []})
    declared = operation.get("parameters")
    merged: dict[tuple[str, str], Mapping[str, Json]] = {}
    own = declared[:MAX_DECLARED] if isinstance(declared, list) else []
    for value in (*shared[:MAX_DECLARED], *own):
        parameter = reader.read_reference(value)
        if isinstance(parameter, Mapping):
            merged[str(parameter.get("in")), clean_text(parameter.get("name"), 100)] = parameter
    for (place, name), parameter in list(merged.items())[:MAX_MEMBERS]:
        is_fixed = place == "header" and name.lower() in _FIXED_HEADERS
        if place in _PLACES and name and not is_fixed:
            _add_parameter(signature, place, name, parameter, reader)
    _add_body(signature, reader.read_reference(operation.get("requestBody")), reader)
    return signature


def _add_parameter(
    signature: Signature, place: str, name: str, parameter: Mapping[str, Json], reader: SchemaReader
) -> None:
    argument = f"{name}_{place}" if name in signature.places else name
    content = parameter.get("content")
    is_json = isinstance(content, Mapping) and bool(content)
    media = next(iter(content.values())) if isinstance(content, Mapping) and content else parameter
    schema = reader.read(media.get("schema") if isinstance(media, Mapping) else None)
    if description := clean_text(parameter.get("description"), 300):
        schema["description"] = description
    style = "json" if is_json else _read_style(place, parameter)
    is_required = place == "path" or parameter.get("required") is True
    signature.add(argument, schema, (place, name, style), required=is_required)


def _read_style(place: str, parameter: Mapping[str, Json]) -> str:
    """Return how a list is written: ``repeat`` the name, or one text with a separator; ``deep`` is for objects."""
    style = parameter.get("style")
    if style == "deepObject":
        return "deep"
    is_exploded = parameter.get("explode", style in (None, "form") and place == "query")
    if place == "query" and is_exploded:
        return "repeat"
    return {"spaceDelimited": " ", "pipeDelimited": "|"}.get(str(style), ",")


def _add_body(signature: Signature, body: Json, reader: SchemaReader) -> None:
    content = body.get("content") if isinstance(body, Mapping) else None
    if not isinstance(content, Mapping) or not isinstance(body, Mapping):
        return
    media_type, body_type = _choose_body_type(content)
    if not body_type:
        return
    signature.body_type = body_type
    media = reader.read_reference(content[media_type])
    schema = reader.read(media.get("schema") if isinstance(media, Mapping) else None)
    properties: Mapping[str, Json] = schema.get("properties") or {}
    is_required = body.get("required") is True
    if not _is_mergeable(schema, signature):
        description = clean_text(body.get("description"), 300)
        hint: Schema = {"description": description} if description else {}
        name = "request_body" if WHOLE_BODY in signature.places else WHOLE_BODY
        signature.add(name, hint | schema, ("whole", WHOLE_BODY, ""), required=is_required)
        return
    required = schema.get("required")
    for name, property_ in properties.items():
        needs_it = is_required and isinstance(required, list) and name in required
        signature.add(name, property_, ("body", name, ""), required=needs_it)


def _choose_body_type(content: Mapping[str, Json]) -> tuple[str, BodyType]:
    keys = [key for key in islice(content, MAX_DECLARED) if len(key) <= MAX_MEDIA_TYPE]
    kinds = {key: key.partition(";")[0].strip().lower() for key in keys}
    for media_type, body_type in _BODY_TYPES.items():
        for key, kind in kinds.items():
            if kind == media_type or (body_type == "json" and kind.endswith(("+json", "*/*"))):
                return key, body_type
    return "", ""


def _is_mergeable(schema: Schema, signature: Signature) -> bool:
    """Return whether the members of the body can be arguments of their own, beside the parameters."""
    properties = schema.get("properties")
    has_choices = any(keyword in schema for keyword in ("allOf", "anyOf", "oneOf"))
    if not isinstance(properties, Mapping) or not properties or has_choices:
        return False
    return not (properties.keys() & signature.places.keys())
