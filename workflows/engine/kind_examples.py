"""Builds example data from a kind's fields, and lists a node's outputs, for the reference and for the editor."""

from collections.abc import Iterable, Mapping

from workflows.engine.kinds import AnyKind, Field, Output
from workflows.engine.language.document import Json, NodeSpec


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
