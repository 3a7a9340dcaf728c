"""What an edit changed, in words: from its operations and those that take them back.

Of a field the value before and the one after; of what was only moved about, how many there were.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext as _

from workflows.engine.kinds import AnyKind, Field
from workflows.engine.language.document import Json
from workflows.views.value_text import shown


MOST = 12  # lines told of one edit
SHORT = 40  # characters of a value in the line everybody sees
LONG = 1_000  # and in what is opened

Tree = Mapping[str, Any]  # Any: JSON of the log


@dataclass(frozen=True, slots=True)
class Named:
    """A node as the history calls it."""

    title: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """``before`` and ``after`` None: there is no value to it, the words say all."""

    text: str
    before: str | None = None
    after: str | None = None

    @property
    def in_short(self) -> str:
        if self.before is None or self.after is None:
            return self.text
        return f"{self.text}: {_cut(self.before)} → {_cut(self.after)}"


@dataclass(frozen=True, slots=True)
class Told:
    lines: tuple[Line, ...]
    more: int = 0

    @property
    def gist(self) -> str:
        first = self.lines[0].in_short
        others = len(self.lines) - 1 + self.more
        return _("%(first)s, and %(n)s more") % {"first": first, "n": others} if others else first


def mentioned(trees: Iterable[Tree]) -> set[str]:
    """Ids of the nodes an edit is about, and of what could be one in its values."""
    found: set[Any] = set()
    for tree in trees:
        edge = tree.get("edge") or {}
        found |= {tree.get("id"), tree.get("parent"), edge.get("source"), edge.get("target")}
        found |= set(_heads(tree.get("value")))
    return {id_ for id_ in found if isinstance(id_, str)}


def _heads(value: Json) -> Iterator[str]:
    """What lists of names begin with: a variable's is its node's id."""
    todo = [value]
    while todo:
        part = todo.pop()
        if isinstance(part, Mapping):
            todo += part.values()
        elif isinstance(part, list):
            todo += part
            if part and isinstance(part[0], str):
                yield part[0]


def named_in(trees: Iterable[Tree]) -> dict[str, Named]:
    """Nodes that an edit brought or took: their names are in it."""
    nodes = [tree["node"] for tree in trees if tree["op"] == "add"]
    return {node["id"]: Named(node.get("title", ""), node.get("kind", "")) for node in nodes}


def told(
    ops: Iterable[Tree],
    inverse: Iterable[Tree],
    nodes: Mapping[str, Named],
    kinds: Mapping[str, AnyKind],
) -> Told | None:
    """None: there is nothing to tell of it. ``nodes``: those there are now, by id."""
    ops, inverse = list(ops), list(inverse)
    words = _Words({**named_in(inverse), **named_in(ops), **nodes}, kinds, _befores(inverse))
    # of one field set several times the last value is the one after
    last = {_target(op): op for op in ops}
    lines = [line for op in last.values() for line in words.lines(op)]
    lines += words.counted(list(last.values()))
    return Told(tuple(lines[:MOST]), max(0, len(lines) - MOST)) if lines else None


def _target(tree: Tree) -> tuple[str, ...]:
    things = (tree.get("edge"), tree.get("node"), tree.get("note"))
    ids = [thing.get("id") for thing in things if thing]
    about = [tree.get(key) for key in ("id", "area", "name", "field", "path")]
    return tuple(map(str, (tree["op"], *about, *ids)))


def _befores(inverse: Iterable[Tree]) -> dict[tuple[str, ...], Tree]:
    """What the first change of each thing found: the inverse is in the order things are taken back."""
    return {_target(tree): tree for tree in inverse}


class _Words:
    def __init__(
        self,
        nodes: Mapping[str, Named],
        kinds: Mapping[str, AnyKind],
        befores: Mapping[tuple[str, ...], Tree],
    ) -> None:
        self.nodes = nodes
        self.kinds = kinds
        self.befores = befores

    def lines(self, op: Tree) -> Iterator[Line]:
        made = self._told_by.get(op["op"])
        if made:
            yield made(self, op)

    def counted(self, ops: list[Tree]) -> Iterator[Line]:
        for name, sentence in (
            ("move", _("Moved nodes: %(n)s")),
            ("resize", _("Resized nodes: %(n)s")),
        ):
            if count := sum(op["op"] == name for op in ops):
                yield Line(sentence % {"n": count})

    def name(self, id_: str | None) -> str:
        found = self.nodes.get(id_ or "")
        if found is None:
            return id_ or ""
        kind = self.kinds.get(found.kind)
        return found.title or (_(kind.title) if kind else found.kind) or _("Note")

    def _add(self, op: Tree) -> Line:
        return Line(_("Added %(what)s") % {"what": self.name(op["node"]["id"])})

    def _note(self, op: Tree) -> Line:
        return Line(_("Added a note"))

    def _delete(self, op: Tree) -> Line:
        return Line(_("Deleted %(what)s") % {"what": self.name(op["id"])})

    def _connect(self, op: Tree) -> Line:
        return Line(_("Connected %(edge)s") % {"edge": self._edge(op["edge"])})

    def _disconnect(self, op: Tree) -> Line:
        was: Tree = next(
            (
                t["edge"]
                for t in self.befores.values()
                if t["op"] == "connect" and t["edge"]["id"] == op["id"]
            ),
            {},
        )
        return Line(_("Disconnected %(edge)s") % {"edge": self._edge(was)})

    def _edge(self, edge: Tree) -> str:
        return f"{self.name(edge.get('source'))} → {self.name(edge.get('target'))}"

    def _reparent(self, op: Tree) -> Line:
        name = self.name(op["id"])
        if op["parent"] is None:
            return Line(_("Moved %(what)s out of its container") % {"what": name})
        return Line(
            _("Moved %(what)s into %(box)s") % {"what": name, "box": self.name(op["parent"])}
        )

    def _rename(self, op: Tree) -> Line:
        return self._changed(op, _("Title"), "title")

    def _set(self, op: Tree) -> Line:
        named = self.nodes.get(op["id"])
        kind = self.kinds.get(named.kind) if named else None
        field = _label(op["path"], kind.fields if kind else ())
        return self._changed(op, f"{self.name(op['id'])} › {field}")

    def _feature(self, op: Tree) -> Line:
        return self._changed(op, " › ".join(map(str, op["path"])))

    def _header(self, op: Tree) -> Line:
        return self._changed(op, _HEADERS.get(op["field"], lambda: op["field"])())

    def _variable(self, op: Tree) -> Line:
        return self._changed(op, _("Variable %(name)s") % {"name": op["name"]}, "spec")

    def _replace(self, op: Tree) -> Line:
        return Line(_("Replaced the whole draft"))

    def _changed(self, op: Tree, text: str, key: str = "value") -> Line:
        before, after = self.befores.get(_target(op), {}).get(key), op.get(key)
        if isinstance(before, list) and isinstance(after, list):
            before, after = _without(before, after), _without(after, before)
        return Line(text, self._shown(before), self._shown(after))

    def _shown(self, value: Json) -> str:
        text = self._text(value) or _("(empty)")
        return text if len(text) <= LONG else f"{text[:LONG]}…"

    def _text(self, value: Json) -> str:
        """As people say it: a variable by its node's title, rows of a list one a line."""
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, list):
            names = all(isinstance(step, str) for step in value)
            if names and len(value) > 1 and value[0] in self.nodes:
                return " › ".join((self.name(value[0]), *value[1:]))
            return "\n".join(map(self._text, value))
        return "" if value is None else shown(value)

    def _mapping(self, value: Mapping[str, Json]) -> str:
        if {"value_type", "rank"} <= value.keys():  # a variable: its value is what people gave it
            is_secret = value["value_type"] == "secret"
            return _("(secret)") if is_secret else self._text(value.get("value"))
        if value.keys() == {"variable", "value_selector"}:
            return f"{value['variable']} = {self._text(value['value_selector'])}"
        told = {name: self._text(part) for name, part in value.items()}
        return ", ".join(f"{name}: {text}" for name, text in told.items() if text)

    _told_by: Final[Mapping[str, Callable[["_Words", Tree], Line]]] = {
        "add": _add,
        "note": _note,
        "delete": _delete,
        "connect": _connect,
        "disconnect": _disconnect,
        "reparent": _reparent,
        "rename": _rename,
        "set": _set,
        "feature": _feature,
        "header": _header,
        "variable": _variable,
        "replace": _replace,
    }


_HEADERS: Final[Mapping[str, Callable[[], str]]] = {
    "name": lambda: _("Name"),
    "description": lambda: _("Description"),
}


def _label(path: list[str | int], fields: Iterable[Field]) -> str:
    """What the form calls the field; of what has no name there, the path's own."""
    names: list[str] = []
    for at, step in enumerate(path):
        field = next((f for f in fields if f.name == step), None)
        if field is None:
            names += [str(s + 1) if isinstance(s, int) else s for s in path[at:]]
            break
        names.append(_(field.label) if field.label else field.name)
        fields = field.fields
    return " › ".join(names)


def _without(rows: list[Json], others: list[Json]) -> list[Json]:
    """The rows that aren't in both; all of them where only their order differs."""
    return [row for row in rows if row not in others] if rows != others else rows


def _cut(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= SHORT else f"{words[:SHORT].rstrip()}…"
