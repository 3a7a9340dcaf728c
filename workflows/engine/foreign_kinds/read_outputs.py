"""Finds the outputs that other nodes read from a node whose own outputs aren't known, and guesses their types."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from workflows.engine.kinds import AnyKind, Field, Output
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.failure_policy import ERROR_OUTPUTS
from workflows.engine.language.templating import list_references
from workflows.engine.language.values import ValueType, build_zero_value, parse_type


# Keys beside a selector that tell the type of its value.
_TYPE_KEYS: Final = ("value_type", "varType", "var_type")
_NUMBER_OPERATORS: Final = frozenset({"=", "≠", ">", "<", "≥", "≤"})
# The types of outputs that tools of Dify have under these names.
_TYPES_BY_NAME: Final[Mapping[str, ValueType]] = {
    "files": ValueType.ARRAY_FILE,
    "json": ValueType.ARRAY_OBJECT,
}
# What a text or a form prints, and what is guessed when nothing tells the type.
_DEFAULT_TYPE: Final = ValueType.STRING
_VAGUE_TYPES: Final = frozenset({None, ValueType.ANY, ValueType.NONE})
# Levels of a node's data that are searched.
_MAX_DEPTH: Final = 40


@dataclass(frozen=True, slots=True)
class _Read:
    selector: Selector
    value_type: ValueType | None  # as its place tells


def list_read_outputs(
    nodes: Iterable[NodeSpec], kinds: Mapping[str, AnyKind], node_id: str
) -> tuple[Output, ...]:
    """Return the outputs that other nodes read from this one, in the order of the document."""
    types: dict[str, ValueType | None] = {}
    for read in _iter_reads_of(nodes, kinds, node_id):
        name, *path = read.selector[1:]
        guess = ValueType.OBJECT if path else read.value_type
        types[name] = types.get(name) or guess
    return tuple(Output(name, str(_choose_type(name, guess))) for name, guess in types.items())


def build_pin_template(
    nodes: Iterable[NodeSpec], kinds: Mapping[str, AnyKind], node_id: str
) -> dict[str, Json]:
    """Return outputs with an empty value of the guessed type for each one that other nodes read."""
    nodes = [*nodes]
    template: dict[str, Json] = {
        output.name: build_zero_value(parse_type(output.type) or _DEFAULT_TYPE)
        for output in list_read_outputs(nodes, kinds, node_id)
    }
    for read in _iter_reads_of(nodes, kinds, node_id):
        _add_parts(template, read)
    return template


def _add_parts(template: dict[str, Json], read: _Read) -> None:
    """Add the parts of an object that a selector such as ``[node, result, name]`` reads."""
    *parents, last = read.selector[1:]
    part: dict[str, Json] = template
    for name in parents:
        inner = part.setdefault(name, {})
        if not isinstance(inner, dict):
            return
        part = inner
    part.setdefault(last, build_zero_value(_choose_type(last, read.value_type)))


def _choose_type(name: str, guess: ValueType | None) -> ValueType:
    return guess or _TYPES_BY_NAME.get(name) or _DEFAULT_TYPE


def _iter_reads_of(
    nodes: Iterable[NodeSpec], kinds: Mapping[str, AnyKind], node_id: str
) -> Iterator[_Read]:
    for node in nodes:
        if node.id == node_id:
            continue
        kind = kinds.get(node.kind)
        skipped = {"type", "title", "desc"} | (kind.code_fields if kind else frozenset())
        fields = {field.name: field for field in kind.fields} if kind else {}
        for name, value in node.data.items():
            if name in skipped:
                continue
            for read in _iter_reads(value, {}, fields.get(name), _MAX_DEPTH):
                selector = read.selector
                if selector[0] == node_id and selector[1] not in ERROR_OUTPUTS:
                    yield read


def _iter_reads(
    value: Json, around: Mapping[str, Json], field: Field | None, depth: int
) -> Iterator[_Read]:
    """Yield the variables that a value of a node's data reads. ``around`` is the mapping that the value is in."""
    if isinstance(value, str):
        for selector in list_references(value):
            yield _Read(selector, None)
    elif not depth:
        return
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _iter_reads(part, value, None, depth - 1)
    elif isinstance(value, list | tuple):
        if len(value) > 1 and all(isinstance(part, str) for part in value):
            yield _Read(tuple(value), _guess_type(around, field))
        else:
            for part in value:
                yield from _iter_reads(part, {}, None, depth - 1)


def _guess_type(around: Mapping[str, Json], field: Field | None) -> ValueType | None:
    """Return the type that a selector's place tells: its field, a key beside it, or the operator of its condition."""
    if field is not None and field.accepted_types:
        return parse_type(field.accepted_types[0])
    for key in _TYPE_KEYS:
        name = around.get(key)
        value_type = parse_type(name) if isinstance(name, str) else None
        if value_type not in _VAGUE_TYPES:
            return value_type
    if around.get("comparison_operator") in _NUMBER_OPERATORS:
        return ValueType.NUMBER
    return None
