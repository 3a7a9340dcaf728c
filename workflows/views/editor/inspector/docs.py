"""The page about a node's kind, beside its form: made from the same description."""

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


def docs_of(kind: AnyKind, spec: NodeSpec, outputs: tuple[Output, ...]) -> dict[str, Any]:
    return {
        "kind": kind,
        "fields": _rows(kind.fields),
        "outputs": outputs or list_outputs(kind),
        "handles": _handles(kind, spec),
        "example": yaml.safe_dump(build_example_data(kind), allow_unicode=True, sort_keys=False),
    }


def _rows(fields: tuple[Field, ...], depth: int = 0) -> tuple[FieldRow, ...]:
    rows: list[FieldRow] = []
    for field in fields:
        rows += [FieldRow(field, depth), *_rows(field.fields, depth + 1)]
    return tuple(rows)


def _handles(kind: AnyKind, spec: NodeSpec) -> tuple[str, ...]:
    try:
        found = kind.handles(spec)
    except (ValueError, TypeError, KeyError, AttributeError):
        return ()
    return found if len(found) > 1 else ()
