"""Writes random workflows: one piece after the other, with branches, containers and called workflows between them."""

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.support.documents import answer, document, end, inside, node, start
from workflows.engine.language.document import Document, Mode, NodeSpec


Name = tuple[str, str]  # of a variable
Ends = list[str]  # where the next node is connected: ids of nodes, or those with a handle
VARIABLES = {"note": ("string", ""), "flag": ("string", "no")}
MAX_DEPTH = 2


@dataclass
class Scope:
    """What nodes at a place can read, and the loop variables that they can set."""

    parent: str | None
    texts: list[Name]
    lists: list[Name]
    loop_variables: list[Name] = field(default_factory=list)

    def copy(self, parent: str | None = None, more: Sequence[Name] = ()) -> "Scope":
        variables = [*self.loop_variables] if parent is None else []
        return Scope(parent or self.parent, [*self.texts, *more], [*self.lists], variables)


Piece = Callable[["Writer", Scope, Ends], Ends]


@dataclass
class Writer:
    """A workflow that is being written, of pieces with their weights. ``prefix`` begins the names of a called one."""

    chance: random.Random
    pieces: Mapping[Piece, int]
    prefix: str = ""
    nodes: list[NodeSpec] = field(default_factory=list)
    edges: list[str] = field(default_factory=list)
    workflows: dict[str, Document] = field(default_factory=dict)
    depth: int = 0
    numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def is_chat(self) -> bool:
        return not self.prefix

    def name(self, what: str) -> str:
        return f"{self.prefix}{what}{next(self.numbers)}"

    def happens(self, probability: float) -> bool:
        return self.chance.random() < probability

    def choose_text(self, scope: Scope) -> list[str]:
        return [*self.chance.choice(scope.texts)]

    def choose_list(self, scope: Scope) -> list[str]:
        return [*self.chance.choice(scope.lists)]

    def refer(self, scope: Scope) -> str:
        return f"{{{{#{'.'.join(self.choose_text(scope))}#}}}}"

    def add(self, made: NodeSpec, scope: Scope, ends: Ends) -> Ends:
        self.nodes.append(replace(made, parent=scope.parent) if scope.parent else made)
        self.edges += [f"{each} -> {made.id}" for each in ends]
        return [made.id]

    def add_container(self, made: NodeSpec, scope: Scope, ends: Ends) -> Ends:
        """Add a container whose body has been written."""
        container, begin = inside(made)
        self.nodes.append(begin)
        return self.add_with_failure(container, scope, ends)

    def add_with_failure(self, made: NodeSpec, scope: Scope, ends: Ends) -> Ends:
        """Add a node, and what happens at the handle of its failure, if it has one."""
        behind = self.add(made, scope, ends)
        if made.data.get("error_strategy") != "fail-branch":
            return behind
        more = self.write(scope.copy(), [f"{made.id}:fail-branch"], self.chance.randint(0, 2))
        return behind + more

    def choose_strategy(self) -> Mapping[str, Any]:
        """Return what happens if a node fails."""
        defaults = [
            {"key": "text", "type": "string", "value": "none"},
            {"key": "list", "type": "array[string]", "value": []},
        ]
        handled: Mapping[str, Any] = {"error_strategy": "default-value", "default_value": defaults}
        branches: Mapping[str, Any] = {"error_strategy": "fail-branch"}
        return self.chance.choices([branches, handled, {}], [2, 2, 1])[0]

    def write(self, scope: Scope, ends: Ends, count: int) -> Ends:
        """Write so many pieces behind these ends, and return the ends behind them."""
        for _number in range(count):
            if ends:
                [piece] = self.chance.choices([*self.pieces], [*self.pieces.values()])
                ends = piece(self, scope, ends)
        return ends

    def write_body(self, scope: Scope, container: str) -> Ends:
        self.depth += 1
        ends = self.write(scope, [f"{container}start"], self.chance.randint(1, 3))
        self.depth -= 1
        return ends

    def write_rows(self, variable: list[str], name: str) -> None:
        """Write the first node, which makes a list of the person's words."""
        made = node(name, "code", code_language="python3", variables=[
            {"variable": "x", "value_selector": variable}],
            code="def main(inputs):\n    return {'list': [inputs['x'], 'two']}",
            outputs={"list": {"type": "array[string]"}})  # fmt: skip
        self.nodes.append(made)
        self.edges.append(f"start -> {name}")


def write_called(writer: Writer) -> tuple[str, Document]:
    """Return a workflow that another one calls with the inputs ``own`` and ``given``, and its name."""
    slug = writer.name("call")
    called = Writer(writer.chance, writer.pieces, slug, depth=1)
    called.nodes.append(start("own", "given"))
    called.write_rows(["start", "own"], "rows")
    scope = Scope(None, [("start", "own"), ("start", "given")], [("rows", "list")])
    ends = called.write(scope, ["rows"], writer.chance.randint(1, 4))
    called.add(end("end", out=called.choose_text(scope)), scope, ends)
    return slug, document(called.nodes, called.edges)


def write_chat(seed: int, pieces: Mapping[Piece, int]) -> tuple[Document, Mapping[str, Document]]:
    """Return a chat, and the workflows that it calls."""
    writer = Writer(random.Random(seed), pieces)
    writer.nodes.append(start("own"))
    writer.write_rows(["start", "own"], "rows")
    texts = [("start", "own"), ("sys", "query"), ("conversation", "note"), ("conversation", "flag")]
    scope = Scope(None, texts, [("rows", "list")])
    ends = writer.write(scope, ["rows"], writer.chance.randint(5, 10))
    writer.add(answer("last", writer.refer(scope)), scope, ends)
    made = document(writer.nodes, writer.edges, mode=Mode.CHAT, conversation=VARIABLES)
    return made, writer.workflows
