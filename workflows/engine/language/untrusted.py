"""Whose words reach a node: those of strangers, as the web's or a tool's, are passed on by whatever reads them.

Where a kind brings them in, that is told from the document alone, before anything runs. Where memory
brings them back, its entries say so while the run goes on; the step keeps it with what it was given, so
that a run that goes on after a crash is told the same. What a turn of a conversation leaves of them, in
its answer or in a variable, is told to the next one. Careful on purpose: a model that read a web page
may say what the page wants said.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final

from pydantic import ValidationError

from workflows.engine.kinds import AnyKind, Execution
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.templating import references
from workflows.engine.language.variables import CONVERSATION


# Whose words are remembered, as memory's gate knows them.
WEB: Final = "web"
_STRANGERS: Final = frozenset({WEB, "tool"})
_SHORTEST_SELECTOR: Final = 2
# What was answered so far, as a later turn of the conversation is told it.
_ANSWERS: Final = "sys.answers"
_VARIABLES: Final = f"{CONVERSATION}."


class Flow:
    """Where words go in a document: from the node that gives them to whatever reads it.

    ``brought``: the nodes that bring strangers' words in.
    """

    def __init__(self, nodes: Iterable[NodeSpec], kinds: Mapping[str, AnyKind]) -> None:
        self._known = [(spec, kinds[spec.kind]) for spec in nodes if spec.kind in kinds]
        self.brought = frozenset(spec.id for spec, kind in self._known if kind.brings_outside)

    def reached(self, told: Collection[str] = ()) -> frozenset[str]:
        """Ids of nodes whose outputs may hold strangers' words, and variables of the conversation, dotted.

        ``told``: nodes that memory told some, and what earlier turns left.
        """
        return self.spread(self.brought.union(told)) if told else self._at_first

    def spread(self, found: frozenset[str]) -> frozenset[str]:
        before = 0
        while len(found) > before:
            before = len(found)
            for node, reads, gives in self._ways:
                if node in found or not found.isdisjoint(reads):
                    found |= gives
        return found

    @cached_property
    def _at_first(self) -> frozenset[str]:
        return self.spread(self.brought)

    @cached_property
    def _ways(self) -> list[tuple[str, frozenset[str], frozenset[str]]]:
        return [
            (spec.id, _reads(spec, kind), frozenset({spec.id, *map(_head, _writes(spec, kind))}))
            for spec, kind in self._known
        ]


def outside_of(nodes: Iterable[NodeSpec], kinds: Mapping[str, AnyKind]) -> frozenset[str]:
    """What is known before anything runs."""
    return Flow(nodes, kinds).reached()


def left_of(outside: Iterable[str]) -> tuple[str, ...]:
    """Of what is outside at a turn's end, that which the conversation's next turn may read."""
    return tuple(sorted(one for one in outside if one == _ANSWERS or one.startswith(_VARIABLES)))


def is_from_outside(selectors: Iterable[Selector | None], outside: frozenset[str]) -> bool:
    return any(selector is not None and _head(selector) in outside for selector in selectors)


def is_strangers(metadata: Mapping[str, Json] | None) -> bool:
    """Whether what is remembered came from outside, and no person has looked at it since."""
    known = metadata or {}
    return known.get("origin") in _STRANGERS and known.get("review") != "approve"


# What these scopes hold is recalled where nobody knows any more where it came from.
_CAREFUL: Final = frozenset({"user", "global"})


def has_to_wait(scope: str, *, trusted: bool) -> bool:
    """Whether strangers' words are looked at before they are remembered there."""
    return scope in _CAREFUL and not trusted


def _head(selector: Selector) -> str:
    """What is passed on as one: all of a node's outputs, but each of the conversation's variables."""
    return ".".join(selector[:2]) if selector[0] == CONVERSATION else selector[0]


def _selectors(value: Json) -> Iterator[Selector]:
    """Whatever refers to a variable, wherever in a node's configuration it stands."""
    if isinstance(value, str):
        yield from references(value)
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _selectors(one)
    elif isinstance(value, list | tuple):
        if len(value) >= _SHORTEST_SELECTOR and all(isinstance(one, str) and one for one in value):
            yield tuple(value)
        for one in value:
            yield from _selectors(one)


def _reads(spec: NodeSpec, kind: AnyKind) -> frozenset[str]:
    read = frozenset(map(_head, _selectors(spec.data)))
    return read | {_ANSWERS} if kind.hears_answers(spec) else read


def _writes(spec: NodeSpec, kind: AnyKind) -> tuple[Selector, ...]:
    if kind.execution is Execution.RESPONSE:
        return ((_ANSWERS,),)
    try:
        return tuple(kind.writes(kind.prepare(spec)))
    except ValidationError:
        return ()  # a draft; it won't run like this
