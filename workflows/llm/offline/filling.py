"""Fills a JSON schema with a minimal valid value, whose texts and numbers come from sentences of the request."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from workflows.engine.language.json_schema import unwrap_schema
from workflows.engine.ports import ModelRequest
from workflows.llm.offline import words
from workflows.llm.offline.sentences import is_command, is_question


Schema = Mapping[str, Any]  # JSON Schema allows unknown keys

_MAX_DEPTH = 12
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_FORMATS = {
    "date": "1970-01-01",
    "date-time": "1970-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "email": "nobody@example.com",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "ipv4": "192.0.2.1",
}


def find_schema(request: ModelRequest) -> Schema | None:
    """Return the schema to fill if the request asks for JSON, else None."""
    if request.json_schema:
        return unwrap_schema(request.json_schema)
    response_format = request.params.get("response_format")
    kind = response_format.get("type") if isinstance(response_format, Mapping) else response_format
    if kind == "json_object":
        return {"type": "object", "properties": {"answer": {"type": "string"}}}
    return None


def fill_schema(schema: Schema, question: str, sentences: Sequence[str]) -> Any:
    """Return a value of the schema. The ``sentences`` are ranked, best first."""
    return _SchemaFiller(schema, question, sentences).build_value(schema, "", 0)


class _SchemaFiller:
    """Builds the values of a schema and its subschemas from the same sentences."""

    def __init__(self, root: Schema, question: str, sentences: Sequence[str]) -> None:
        self._root = root
        # A question contains no facts, so only the statements are searched.
        is_request = is_question(question) or is_command(question)
        self._sentences = list(sentences) if is_request and sentences else [question, *sentences]
        self._whole_text = " ".join([question, *sentences])

    def build_value(self, schema: Schema, name: str, depth: int) -> Any:
        """Return a value of the schema for the field of that name."""
        schema = self._resolve(schema)
        if "const" in schema:
            return schema["const"]
        if options := schema.get("enum"):
            return self._choose_option(options)
        schema_type = _get_schema_type(schema)
        if depth > _MAX_DEPTH:
            return None
        match schema_type:
            case "object":
                return self._build_object(schema, depth)
            case "array":
                items = schema.get("items")
                count = int(schema.get("minItems", 0))
                item_schema = items if isinstance(items, Mapping) else {}
                return [self.build_value(item_schema, name, depth + 1) for _ in range(count)]
            case "integer" | "number":
                return self._build_number(schema, name, is_integer=schema_type == "integer")
            case "boolean":
                return False
            case "null":
                return None
            case _:
                return self._build_string(schema, name)

    def _resolve(self, schema: Schema) -> Schema:
        """Return the schema with references and combinators replaced. Of several alternatives the first one is used."""
        for _ in range(_MAX_DEPTH):
            if isinstance(ref := schema.get("$ref"), str):
                schema = self._resolve_ref(ref)
            elif merged := schema.get("allOf"):
                siblings = {key: value for key, value in schema.items() if key != "allOf"}
                schema = _merge_schemas([*merged, siblings])
            elif choices := schema.get("anyOf") or schema.get("oneOf"):
                schema = choices[0]
            else:
                break
        return schema

    def _resolve_ref(self, ref: str) -> Schema:
        target: Any = self._root
        for key in ref.removeprefix("#").strip("/").split("/"):
            if key and isinstance(target, Mapping):
                target = target.get(key.replace("~1", "/").replace("~0", "~"), {})
        return target if isinstance(target, Mapping) else {}

    def _build_object(self, schema: Schema, depth: int) -> dict[str, Any]:
        properties: Mapping[str, Any] = schema.get("properties") or {}
        names = list(schema.get("required") or properties)
        return {
            name: self.build_value(properties.get(name) or {}, name, depth + 1) for name in names
        }

    def _choose_option(self, options: Sequence[Any]) -> Any:
        """Return the option that the text mentions, else the most similar one, else the first."""
        lowered = self._whole_text.lower()
        for option in options:
            if isinstance(option, str) and option and option.lower() in lowered:
                return option
        features = words.extract_features(self._whole_text)

        def measure_similarity(option: Any) -> float:
            option_features = words.extract_features(str(option).replace("_", " "))
            return words.measure_overlap(option_features, features)

        return max(options, key=measure_similarity)

    def _build_number(self, schema: Schema, name: str, *, is_integer: bool) -> float | int:
        numbers = [float(text) for text in _NUMBER.findall(self._find_closest(name))]
        low, high = _get_bounds(schema, is_integer=is_integer)
        fitting = [number for number in numbers if low <= number <= high]
        number = fitting[0] if fitting else max(low, min(0.0, high))
        step = schema.get("multipleOf")
        if isinstance(step, int | float) and step > 0:
            number = -(-max(number, low) // step) * step
        return int(number) if is_integer else number

    def _build_string(self, schema: Schema, name: str) -> str:
        if schema.get("format") in _FORMATS:
            return _FORMATS[schema["format"]]
        text = self._find_closest(name)
        if isinstance(limit := schema.get("maxLength"), int):
            text = text[:limit]
        return text.ljust(int(schema.get("minLength", 0)), ".")

    def _find_closest(self, name: str) -> str:
        """Return the sentence that is most similar to a field's name, or the first one if none is similar."""
        name_features = words.extract_features(re.sub(r"(?<=[a-z])(?=[A-Z])|[_\-]+", " ", name))
        return max(
            self._sentences,
            key=lambda text: words.measure_overlap(name_features, words.extract_features(text)),
            default="",
        )


def _get_schema_type(schema: Schema) -> str:
    schema_type = schema.get("type")
    if isinstance(schema_type, list):
        schema_type = next((name for name in schema_type if name != "null"), "null")
    if isinstance(schema_type, str):
        return schema_type
    return "object" if "properties" in schema else "string"


def _get_bounds(schema: Schema, *, is_integer: bool) -> tuple[float, float]:
    step = 1.0 if is_integer else 1e-6
    low = float(schema.get("minimum", "-inf"))
    high = float(schema.get("maximum", "inf"))
    if isinstance(above := schema.get("exclusiveMinimum"), int | float):
        low = max(low, above + step)
    if isinstance(below := schema.get("exclusiveMaximum"), int | float):
        high = min(high, below - step)
    return low, high


def _merge_schemas(schemas: Sequence[Schema]) -> Schema:
    merged: dict[str, Any] = {}
    for schema in schemas:
        for key, value in schema.items():
            if key == "properties":
                merged[key] = {**merged.get(key, {}), **value}
            elif key == "required":
                merged[key] = [*merged.get(key, []), *value]
            else:
                merged[key] = value
    return merged
