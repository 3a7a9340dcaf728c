"""Plans how a node of a missing kind is replaced: what the new node takes over, what is lost, and what others no longer find."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from workflows.engine.configuration import Field, Widget
from workflows.engine.editing.diff import iter_changes
from workflows.engine.editing.ops import Path
from workflows.engine.editing.references import Names, rename_references
from workflows.engine.field_labels import SEPARATOR
from workflows.engine.foreign_kinds.read_outputs import build_pin_template, list_read_outputs
from workflows.engine.initial_values import collect_initial_data
from workflows.engine.kinds import AnyKind, Execution, NodeKind, Output
from workflows.engine.language.config_errors import HALF_MADE
from workflows.engine.language.document import Document, Json, NodeSpec
from workflows.engine.language.failure_policy import FAIL_HANDLE
from workflows.engine.language.problems import Problem
from workflows.engine.language.templating import format_reference
from workflows.engine.language.values import parse_type


# What every node may have, whatever its kind.
_COMMON_KEYS: Final = ("desc", "error_strategy", "default_value", "retry_config", "disabled")
# What says only where the node came from, or how another product drew it.
ORIGIN_KEYS: Final = frozenset(
    {
        *("type", "title", "selected", "width", "height", "version", "tool_node_version"),
        *("isInIteration", "isInLoop", "iteration_id", "loop_id", "paramSchemas", "params"),
        *("plugin_unique_identifier", "plugin_id", "provider_name", "provider_id", "tool_name"),
        *("datasource_name", "event_name", "provider_type", "tool_label", "is_team_authorization"),
    }
)
# The arguments of tools of Dify: name → {type: variable | mixed | constant, value}.
_ARGUMENTS_SUFFIX: Final = "_parameters"
_SELECTOR_WIDGETS: Final = frozenset({Widget.SELECTOR, Widget.INNER_SELECTOR})


@dataclass(frozen=True, slots=True)
class Rename:
    """An output that others read, and the one of the new node that they read then. ``readers`` are their ids."""

    old: str
    new: str
    readers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Replacement:
    """``data`` is that of the new node; the other parts say what becomes of the old one."""

    data: Mapping[str, Json]
    kept_labels: tuple[str, ...]  # labels of fields
    lost: tuple[str, ...]  # names of settings
    missing_outputs: tuple[str, ...]  # outputs that others read and the new node doesn't have
    readers: tuple[str, ...]  # ids of the nodes that read these
    renames: tuple[Rename, ...]
    changes: tuple[
        tuple[str, Path, Json], ...
    ]  # what these change: the node, the path and the value
    lost_handles: tuple[str, ...]  # branches with edges that the new node doesn't have


def plan_replacement(
    document: Document,
    kinds: Mapping[str, AnyKind],
    spec: NodeSpec,
    kind: AnyKind,
    *,
    may_rename: bool = True,
) -> Replacement:
    """Return what a new node of the kind takes over from this node: everything of an equal name that fits its form.

    If an output that others read is the only one of its type that the new node lacks, they read another one of that type
    instead. Outputs of a pinned node may not be renamed, since its pin has the old names.
    """
    carried = dict(_iter_carried(spec, kind))
    fields = {field.name: field.label for field in kind.fields}
    carried_labels = tuple(fields[name] for name in carried if name in fields)
    settings = _list_settings(spec.data)
    lost = tuple(path for path in settings if path.rpartition(SEPARATOR)[2] not in carried)
    if kind.execution is not Execution.ROOT:
        carried |= {name: spec.data[name] for name in _COMMON_KEYS if name in spec.data}
    carried |= _declare_outputs(document, kinds, spec, kind, carried)
    new = NodeSpec(spec.id, kind.name, {**collect_initial_data(kind.fields), **carried})
    missing = _find_missing_outputs(document, kinds, new, kind)
    pairs = _pair_outputs(document, kinds, new, kind, missing) if may_rename else {}
    missing = tuple(name for name in missing if name not in pairs)
    return Replacement(
        data=carried,
        kept_labels=carried_labels,
        lost=lost,
        missing_outputs=missing,
        readers=tuple(_iter_readers(document, kinds, spec.id, missing)),
        renames=tuple(_iter_renames(document, spec.id, pairs)),
        changes=tuple(_iter_changes(document, spec.id, pairs)),
        lost_handles=_find_lost_handles(document, new, kind),
    )


def _iter_carried(spec: NodeSpec, kind: AnyKind) -> Iterator[tuple[str, Json]]:
    values = dict(_iter_values(spec.data))
    blank = collect_initial_data(kind.fields)
    for field in kind.fields:
        value = _convert(values.get(field.name), field)
        if value not in (None, "", [], {}) and _fits(kind, {**blank, field.name: value}, field):
            yield field.name, value


def _iter_values(data: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    """Yield the settings, and before them the arguments, which a setting of the same name replaces."""
    for name, value in data.items():
        if name.endswith(_ARGUMENTS_SUFFIX) and isinstance(value, Mapping):
            yield from value.items()
    for name, value in data.items():
        if name not in ORIGIN_KEYS:
            yield name, value


def _convert(value: Json, field: Field) -> Json:
    """Return an argument as the field stores it: a variable as a selector or a reference, a text as it is."""
    if not isinstance(value, Mapping) or value.keys() - {"type", "value"} or "value" not in value:
        return value
    inner = value["value"]
    is_selector = value.get("type") == "variable" and isinstance(inner, list | tuple)
    if is_selector and field.widget not in _SELECTOR_WIDGETS:
        return format_reference(tuple(map(str, inner)))
    return inner


def _fits(kind: AnyKind, data: Mapping[str, Any], field: Field) -> bool:
    value, choices = data[field.name], {choice.lower() for choice, _label in field.choices}
    if choices and isinstance(value, str) and value.lower() not in choices:
        return False
    problems = _check(kind, data)
    return not any((problem.field or "").split(".")[0] == field.name for problem in problems)


def _check(kind: AnyKind, data: Mapping[str, Any]) -> list[Problem]:
    try:
        return kind.check(NodeSpec("new", kind.name, data))
    except HALF_MADE:
        return []


def _list_settings(data: Mapping[str, Json]) -> list[str]:
    """Return the names of the settings with a value; those of arguments behind the name of their group."""
    names: list[str] = []
    for name, value in data.items():
        if name in ORIGIN_KEYS or name in _COMMON_KEYS or value in (None, "", [], {}):
            continue
        if name.endswith(_ARGUMENTS_SUFFIX) and isinstance(value, Mapping):
            names += [f"{name}{SEPARATOR}{argument}" for argument in value]
        else:
            names.append(name)
    return names


def _declare_outputs(
    document: Document,
    kinds: Mapping[str, AnyKind],
    spec: NodeSpec,
    kind: AnyKind,
    carried: Mapping[str, Json],
) -> Mapping[str, Json]:
    """Return outputs for a kind whose author declares them, with code that returns them, so that readers find them."""
    declares = any(field.widget is Widget.TYPED_OUTPUTS for field in kind.fields)
    template = build_pin_template(document.nodes, kinds, spec.id)
    if not declares or not template or "outputs" in carried or "code" in carried:
        return {}
    read = list_read_outputs(document.nodes, kinds, spec.id)
    choices = {
        value for field in kind.fields if field.name == "outputs" for value, _ in field.choices
    }
    types = {each.name: each.type if each.type in choices else "object" for each in read}
    return {
        "outputs": {name: {"type": type_name} for name, type_name in types.items()},
        "code": f"def main() -> dict:\n    return {template!r}\n",
    }


def _find_missing_outputs(
    document: Document, kinds: Mapping[str, AnyKind], new: NodeSpec, kind: AnyKind
) -> tuple[str, ...]:
    read = [output.name for output in list_read_outputs(document.nodes, kinds, new.id)]
    if type(kind).list_outputs is NodeKind.list_outputs and kind.execution is Execution.CONTAINER:
        return ()
    names = {output.name for output in _list_outputs(new, kind)}
    return tuple(name for name in read if name not in names)


def _list_outputs(new: NodeSpec, kind: AnyKind) -> tuple[Output, ...]:
    try:
        return kind.list_outputs(new)
    except HALF_MADE:
        return ()


def _pair_outputs(
    document: Document,
    kinds: Mapping[str, AnyKind],
    new: NodeSpec,
    kind: AnyKind,
    missing: tuple[str, ...],
) -> dict[str, str]:
    """Return missing outputs, each with the first output of the new node that has its type and that nobody reads yet.

    Of several missing ones of one type nobody can tell which is which.
    """
    types = {
        output.name: output.type for output in list_read_outputs(document.nodes, kinds, new.id)
    }
    counts = Counter(parse_type(types[name]) for name in missing)
    pairs: dict[str, str] = {}
    for name in missing:
        value_type = parse_type(types[name])
        names = (
            output.name
            for output in _list_outputs(new, kind)
            if output.name not in types and parse_type(output.type) == value_type
        )
        if counts[value_type] == 1 and (new_name := next(names, None)):
            pairs[name] = new_name
    return pairs


def _iter_renames(document: Document, node_id: str, pairs: Mapping[str, str]) -> Iterator[Rename]:
    for old, new in pairs.items():
        changes = _iter_changes(document, node_id, {old: new})
        yield Rename(old, new, tuple(dict.fromkeys(reader for reader, _path, _value in changes)))


def _iter_changes(
    document: Document, node_id: str, pairs: Mapping[str, str]
) -> Iterator[tuple[str, Path, Json]]:
    names: Names = {(node_id, old): (node_id, new) for old, new in pairs.items()}
    for node in document.nodes if pairs else ():
        data = dict(node.data)
        if node.id != node_id:
            for path, value, _rule in iter_changes(data, rename_references(data, names)):
                yield node.id, path, value


def _iter_readers(
    document: Document, kinds: Mapping[str, AnyKind], node_id: str, missing: tuple[str, ...]
) -> Iterator[str]:
    for node in document.nodes:
        read = list_read_outputs([node], kinds, node_id)
        if any(output.name in missing for output in read):
            yield node.id


def _find_lost_handles(document: Document, new: NodeSpec, kind: AnyKind) -> tuple[str, ...]:
    """Return the branches that the new node lacks. A node with one branch continues at the first one of the new node."""
    handles = dict.fromkeys(
        edge.handle
        for edge in document.edges
        if edge.source == new.id and edge.handle != FAIL_HANDLE
    )
    if len(handles) < 2:
        return ()
    try:
        new_handles = kind.list_handles(new)
    except HALF_MADE:
        new_handles = ()
    return tuple(handle for handle in handles if handle not in new_handles)
