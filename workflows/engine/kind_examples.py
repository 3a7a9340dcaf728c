"""Builds example data from a kind's fields, and lists a node's outputs, for the reference and for the editor."""

from collections.abc import Iterable, Mapping

from workflows.engine.kinds import AnyKind, Field, Output
from workflows.engine.language.document import Json, NodeSpec
from workflows.engine.language.values import ValueType, build_zero_value, parse_type


def build_example_data(kind: AnyKind) -> dict[str, Json]:
    """Return data for a node of the kind, with its required fields and all fields that have an example."""
    return {"type": kind.name, "title": kind.title, **_collect_examples(kind.fields)}


def list_outputs(kind: AnyKind, data: Mapping[str, Json] | None = None) -> tuple[Output, ...]:
    """Return the outputs of a node with the data, or with the example data; none if the data is invalid."""
    spec = NodeSpec("example", kind.name, data if data is not None else build_example_data(kind))
    try:
        return tuple(kind.list_outputs(spec))
    except (ValueError, TypeError, KeyError, AttributeError):
        return ()


def build_example_outputs(kind: AnyKind, data: Mapping[str, Json]) -> dict[str, Json]:
    """Return typical outputs of a node with the data, as a person could enter them.

    An output without an example has the empty value of its type, or is left out if that would be an empty list or object.
    """
    values = {output.name: _build_example_value(output) for output in list_outputs(kind, data)}
    return {name: value for name, value in values.items() if value not in (None, [], {})} or values


def _build_example_value(output: Output) -> Json:
    if output.example is not None:
        return output.example
    return build_zero_value(parse_type(output.type) or ValueType.ANY)


def _collect_examples(fields: Iterable[Field]) -> dict[str, Json]:
    examples: dict[str, Json] = {}
    for field in fields:
        value = field.example
        if value is None and field.required:
            value = field.default
            if value is None and field.fields:
                value = _collect_examples(field.fields)
        if value is not None:
            examples[field.name] = value
    return examples
