"""The cards of the gallery: a sample, a small picture of its nodes, and what it is about."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from workflows.engine.kinds import AnyKind
from workflows.engine.nodes import find_appearance
from workflows.execution.kinds import load_kinds
from workflows.samples import Sample
from workflows.services.samples import samples


MOST_NODES: Final = 7  # of a picture; what is more is a number

SCOPES: Final[Mapping[str, Promise]] = {
    "user": _("User memory"),
    "conversation": _("Conversation memory"),
    "global": _("Global memory"),
}


@dataclass(frozen=True, slots=True)
class Node:
    icon: str
    family: str
    title: str


@dataclass(frozen=True, slots=True)
class Card:
    sample: Sample
    nodes: tuple[Node, ...]
    more: int
    scopes: tuple[Promise, ...]


@dataclass(frozen=True, slots=True)
class Shelf:
    """``chosen``: the scope that is looked for; empty for all of them."""

    cards: tuple[Card, ...]
    chosen: str

    @property
    def choices(self) -> list[tuple[str, Promise, bool]]:
        return [
            ("", _("All"), not self.chosen),
            *((word, name, word == self.chosen) for word, name in SCOPES.items()),
        ]


def shelf_of(scope: str) -> Shelf:
    chosen = scope if scope in SCOPES else ""
    found = [sample for sample in samples.list_offered() if not chosen or chosen in sample.scopes]
    return Shelf(tuple(card_of(sample) for sample in found), chosen)


def card_of(sample: Sample) -> Card:
    known = load_kinds()
    drawn = tuple(_node(name, known) for name in _kinds_of(sample)[:MOST_NODES])
    more = max(0, len(_kinds_of(sample)) - MOST_NODES)
    return Card(sample, drawn, more, tuple(SCOPES[scope] for scope in sample.scopes))


@cache
def _kinds_of(sample: Sample) -> tuple[str, ...]:
    """The documents are files of ours, which don't change while a process lives."""
    return sample.kinds


def _node(name: str, known: Mapping[str, AnyKind]) -> Node:
    appearance, kind = find_appearance(name, known), known.get(name)
    return Node(appearance.icon, appearance.family, gettext(kind.title) if kind else name)
