"""The documentation of a node's kind beside its form, from the same description."""

from dataclasses import dataclass
from typing import Any

import yaml

from workflows.engine.kind_examples import build_example_data, list_outputs
from workflows.engine.kinds import AnyKind, Field, Output
from workflows.engine.language.document import NodeSpec


@dataclass(frozen=True, slots=True)
class FieldRow:
    field: Field
    depth: int


def build_docs(kind: AnyKind, spec: NodeSpec, outputs: tuple[Output, ...]) -> dict[str, Any]:
    return {
        "kind": kind,
        "fields": _list_rows(kind.fields),
        "outputs": outputs or list_outputs(kind),
        "handles": _list_handles(kind, spec),
        "example": yaml.safe_dump(build_example_data(kind), allow_unicode=True, sort_keys=False),
    }


def _list_rows(fields: tuple[Field, ...], depth: int = 0) -> tuple[FieldRow, ...]:
    rows: list[FieldRow] = []
    for field in fields:
        rows += [FieldRow(field, depth), *_list_rows(field.fields, depth + 1)]
    return tuple(rows)


def _list_handles(kind: AnyKind, spec: NodeSpec) -> tuple[str, ...]:
    try:
        handles = kind.list_handles(spec)
    except (ValueError, TypeError, KeyError, AttributeError):
        return ()
    return handles if len(handles) > 1 else ()
