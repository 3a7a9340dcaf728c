"""Examples made of a kind's own description: for the reference, and for the editor's page about a node."""

from collections.abc import Iterable, Mapping

from workflows.engine.document import Json, NodeSpec
from workflows.engine.kinds import AnyKind, Field, Output


def example_data(kind: AnyKind) -> dict[str, Json]:
    """A node's data as somebody might write it: what must be given, and what has an example."""
    return {"type": kind.name, "title": kind.title, **_examples(kind.fields)}


def outputs_declared(kind: AnyKind, data: Mapping[str, Json] | None = None) -> tuple[Output, ...]:
    """What a node of the kind gives, configured like this or like the example."""
    spec = NodeSpec("example", kind.name, data if data is not None else example_data(kind))
    try:
        return tuple(kind.outputs(spec))
    except (ValueError, TypeError, KeyError, AttributeError):
        return ()


def _examples(fields: Iterable[Field]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for field in fields:
        value = field.example if field.example is not None else _given(field)
        if field.fields and value is None:
            value = _examples(field.fields) if field.required else None
        if value is not None:
            found[field.name] = value
    return found


def _given(field: Field) -> Json:
    return field.default if field.required else None
