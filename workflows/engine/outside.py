"""Whose words reach a node: those of strangers, as the web's or a tool's, are passed on by whatever reads them.

Told from the document alone, before anything runs, so that a run that goes on after a crash is told
the same. Careful on purpose: a model that read a web page may say what the page wants said.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from pydantic import ValidationError

from workflows.engine.document import Json, NodeSpec, Selector
from workflows.engine.kinds import AnyKind
from workflows.engine.templating import references
from workflows.engine.variables import CONVERSATION


_SHORTEST_SELECTOR: Final = 2


def outside_of(nodes: Iterable[NodeSpec], kinds: Mapping[str, AnyKind]) -> frozenset[str]:
    """Ids of nodes whose outputs may hold strangers' words, and variables of the conversation, dotted."""
    known = [(spec, kinds[spec.kind]) for spec in nodes if spec.kind in kinds]
    found = {spec.id for spec, kind in known if kind.brings_outside}
    if not found:
        return frozenset()
    reads = {spec.id: frozenset(map(_head, _selectors(spec.data))) for spec, _ in known}
    before = 0
    while len(found) > before:
        before = len(found)
        for spec, kind in known:
            if not found.isdisjoint({spec.id, *reads[spec.id]}):
                found |= {spec.id, *map(_head, _writes(spec, kind))}
    return frozenset(found)


def is_from_outside(selectors: Iterable[Selector | None], outside: frozenset[str]) -> bool:
    return any(selector is not None and _head(selector) in outside for selector in selectors)


# Whose words are remembered, as memory's gate knows them.
WEB: Final = "web"
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


def _writes(spec: NodeSpec, kind: AnyKind) -> tuple[Selector, ...]:
    try:
        return tuple(kind.writes(kind.prepare(spec)))
    except ValidationError:
        return ()  # a draft; it won't run like this
