"""Describes an edit for people: a changed field by its values before and after, moved nodes by their number."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from django.utils.translation import gettext as _

from workflows.engine.field_labels import build_field_label
from workflows.engine.kinds import AnyKind
from workflows.engine.language.document import Json
from workflows.templatetags.kind_words import get_kind_title
from workflows.templatetags.problem_sentences import translate_label
from workflows.views.value_text import format_value


MAX_LINES = 12  # of the description of an edit
SUMMARY_LENGTH = 40  # characters of a value in the visible line
VALUE_LENGTH = 1_000  # characters of a value in the details

Tree = Mapping[str, Any]  # Any: JSON of the log


@dataclass(frozen=True, slots=True)
class NodeLabel:
    """The title and kind under which the history lists a node."""

    title: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """A line of a description; without ``before`` and ``after`` the text says everything."""

    text: str
    before: str | None = None
    after: str | None = None

    @property
    def short_text(self) -> str:
        if self.before is None or self.after is None:
            return self.text
        return f"{self.text}: {_shorten(self.before)} → {_shorten(self.after)}"


@dataclass(frozen=True, slots=True)
class EditDescription:
    lines: tuple[ChangeLine, ...]
    more: int = 0

    @property
    def summary(self) -> str:
        first = self.lines[0].short_text
        if remaining := len(self.lines) - 1 + self.more:
            return _("%(first)s, and %(n)s more") % {"first": first, "n": remaining}
        return first


def collect_ids(trees: Iterable[Tree]) -> set[str]:
    """Return the ids of the nodes in an edit's operations, and other strings that could be such ids."""
    ids: set[Any] = set()
    for tree in trees:
        edge = tree.get("edge") or {}
        ids |= {tree.get("id"), tree.get("parent"), edge.get("source"), edge.get("target")}
        ids |= set(_list_variable_sources(tree.get("value")))
    return {id_ for id_ in ids if isinstance(id_, str)}


def _list_variable_sources(value: Json) -> Iterator[str]:
    """Yield the first items of lists of names: a variable's selector begins with its node's id."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, Mapping):
            pending += item.values()
        elif isinstance(item, list):
            pending += item
            if item and isinstance(item[0], str):
                yield item[0]


def collect_node_labels(trees: Iterable[Tree]) -> dict[str, NodeLabel]:
    """Return the labels of the nodes that an edit adds; they are in its operations."""
    nodes = [tree["node"] for tree in trees if tree["op"] == "add"]
    return {node["id"]: NodeLabel(node.get("title", ""), node.get("kind", "")) for node in nodes}


def describe_edit(
    ops: Iterable[Tree],
    inverse: Iterable[Tree],
    labels: Mapping[str, NodeLabel],
    kinds: Mapping[str, AnyKind],
) -> EditDescription | None:
    """Describe an edit, or return None if no operation has a description. ``labels``: the current nodes' labels by id."""
    ops, inverse = list(ops), list(inverse)
    describer = _Describer(
        {**collect_node_labels(inverse), **collect_node_labels(ops), **labels},
        kinds,
        # The inverse is in the order of undoing, so that the value before the first change wins.
        {_build_target(tree): tree for tree in inverse},
    )
    # If a field was set several times, the last value counts.
    last_ops = {_build_target(op): op for op in ops}.values()
    lines = [line for op in last_ops for line in describer.describe(op)]
    lines += describer.describe_moves(last_ops)
    if not lines:
        return None
    return EditDescription(tuple(lines[:MAX_LINES]), max(0, len(lines) - MAX_LINES))


def _build_target(tree: Tree) -> tuple[str, ...]:
    """Return a key of the thing that an operation changes, which is the same for its inverse."""
    parts = (tree.get("edge"), tree.get("node"), tree.get("note"))
    ids = [part.get("id") for part in parts if part]
    keys = [tree.get(key) for key in ("id", "area", "name", "field", "path")]
    return tuple(map(str, (tree["op"], *keys, *ids)))


@dataclass(frozen=True)
class _Describer:
    """Describes the operations of one edit; ``previous`` has the inverse operation of each target."""

    labels: Mapping[str, NodeLabel]
    kinds: Mapping[str, AnyKind]
    previous: Mapping[tuple[str, ...], Tree]

    def describe(self, op: Tree) -> Iterator[ChangeLine]:
        if describe_op := self._describers.get(op["op"]):
            yield describe_op(self, op)

    def describe_moves(self, ops: Collection[Tree]) -> Iterator[ChangeLine]:
        for name, sentence in (
            ("move", _("Moved nodes: %(n)s")),
            ("resize", _("Resized nodes: %(n)s")),
        ):
            if count := sum(op["op"] == name for op in ops):
                yield ChangeLine(sentence % {"n": count})

    def get_name(self, id_: str | None) -> str:
        label = self.labels.get(id_ or "")
        if label is None:
            return id_ or ""
        return label.title or get_kind_title(label.kind, self.kinds) or _("Note")

    def _describe_add(self, op: Tree) -> ChangeLine:
        return ChangeLine(_("Added %(what)s") % {"what": self.get_name(op["node"]["id"])})

    def _describe_note(self, op: Tree) -> ChangeLine:
        return ChangeLine(_("Added a note"))

    def _describe_delete(self, op: Tree) -> ChangeLine:
        return ChangeLine(_("Deleted %(what)s") % {"what": self.get_name(op["id"])})

    def _describe_connect(self, op: Tree) -> ChangeLine:
        return ChangeLine(_("Connected %(edge)s") % {"edge": self._format_edge(op["edge"])})

    def _describe_disconnect(self, op: Tree) -> ChangeLine:
        edges = (tree["edge"] for tree in self.previous.values() if tree["op"] == "connect")
        edge: Tree = next((edge for edge in edges if edge["id"] == op["id"]), {})
        return ChangeLine(_("Disconnected %(edge)s") % {"edge": self._format_edge(edge)})

    def _format_edge(self, edge: Tree) -> str:
        return f"{self.get_name(edge.get('source'))} → {self.get_name(edge.get('target'))}"

    def _describe_reparent(self, op: Tree) -> ChangeLine:
        name = self.get_name(op["id"])
        if op["parent"] is None:
            return ChangeLine(_("Moved %(what)s out of its container") % {"what": name})
        return ChangeLine(
            _("Moved %(what)s into %(box)s") % {"what": name, "box": self.get_name(op["parent"])}
        )

    def _describe_rename(self, op: Tree) -> ChangeLine:
        return self._describe_change(op, _("Title"), "title")

    def _describe_set(self, op: Tree) -> ChangeLine:
        label = self.labels.get(op["id"])
        kind = self.kinds.get(label.kind) if label else None
        field = translate_label(build_field_label(op["path"], kind.fields if kind else ()))
        return self._describe_change(op, f"{self.get_name(op['id'])} › {field}")

    def _describe_feature(self, op: Tree) -> ChangeLine:
        return self._describe_change(op, " › ".join(map(str, op["path"])))

    def _describe_header(self, op: Tree) -> ChangeLine:
        return self._describe_change(op, _HEADERS.get(op["field"], lambda: op["field"])())

    def _describe_variable(self, op: Tree) -> ChangeLine:
        return self._describe_change(op, _("Variable %(name)s") % {"name": op["name"]}, "spec")

    def _describe_replace(self, op: Tree) -> ChangeLine:
        return ChangeLine(_("Replaced the whole draft"))

    def _describe_change(self, op: Tree, text: str, key: str = "value") -> ChangeLine:
        before, after = self.previous.get(_build_target(op), {}).get(key), op.get(key)
        if isinstance(before, list) and isinstance(after, list):
            before, after = _exclude_rows(before, after), _exclude_rows(after, before)
        return ChangeLine(text, self._format_value(before), self._format_value(after))

    def _format_value(self, value: Json) -> str:
        text = self._format_text(value) or _("(empty)")
        return text if len(text) <= VALUE_LENGTH else f"{text[:VALUE_LENGTH]}…"

    def _format_text(self, value: Json) -> str:
        """Format a value for people: a variable with its node's title, a list with one row a line."""
        if isinstance(value, Mapping):
            return self._format_mapping(value)
        if isinstance(value, list):
            is_selector = len(value) > 1 and all(isinstance(step, str) for step in value)
            if is_selector and value[0] in self.labels:
                return " › ".join((self.get_name(value[0]), *value[1:]))
            return "\n".join(map(self._format_text, value))
        return "" if value is None else format_value(value)

    def _format_mapping(self, value: Mapping[str, Json]) -> str:
        if {"value_type", "rank"} <= value.keys():  # a variable
            is_secret = value["value_type"] == "secret"
            return _("(secret)") if is_secret else self._format_text(value.get("value"))
        if value.keys() == {"variable", "value_selector"}:
            return f"{value['variable']} = {self._format_text(value['value_selector'])}"
        texts = {name: self._format_text(part) for name, part in value.items()}
        return ", ".join(f"{name}: {text}" for name, text in texts.items() if text)

    _describers: ClassVar[Mapping[str, Callable[["_Describer", Tree], ChangeLine]]] = {
        "add": _describe_add,
        "note": _describe_note,
        "delete": _describe_delete,
        "connect": _describe_connect,
        "disconnect": _describe_disconnect,
        "reparent": _describe_reparent,
        "rename": _describe_rename,
        "set": _describe_set,
        "feature": _describe_feature,
        "header": _describe_header,
        "variable": _describe_variable,
        "replace": _describe_replace,
    }


_HEADERS: Final[Mapping[str, Callable[[], str]]] = {
    "name": lambda: _("Name"),
    "description": lambda: _("Description"),
}


def _exclude_rows(rows: list[Json], excluded: list[Json]) -> list[Json]:
    """Return the rows that aren't in both lists, or all of them if only their order differs."""
    return [row for row in rows if row not in excluded] if rows != excluded else rows


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SUMMARY_LENGTH else f"{line[:SUMMARY_LENGTH].rstrip()}…"
