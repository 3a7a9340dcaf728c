"""The cards of the gallery: a sample with a small picture of its nodes and a description."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from workflows.engine.kinds import AnyKind
from workflows.engine.nodes import find_appearance
from workflows.execution.kinds import load_kinds
from workflows.samples import Sample
from workflows.services.samples import samples
from workflows.templatetags.kind_words import get_kind_title


MAX_NODES: Final = 7  # in a picture; the number of further nodes is shown

SCOPE_LABELS: Final[Mapping[str, Promise]] = {
    "user": _("User memory"),
    "conversation": _("Conversation memory"),
    "global": _("Global memory"),
    "workflow": _("Workflow memory"),
}


@dataclass(frozen=True, slots=True)
class CardNode:
    icon: str
    family: str
    title: str


@dataclass(frozen=True, slots=True)
class SampleCard:
    sample: Sample
    nodes: tuple[CardNode, ...]
    hidden_count: int  # the number of nodes that the picture leaves out
    scopes: tuple[Promise, ...]


@dataclass(frozen=True, slots=True)
class Gallery:
    """The cards of the samples that use the memory scope, or of all samples if ``scope`` is empty."""

    cards: tuple[SampleCard, ...]
    scope: str

    @property
    def choices(self) -> list[tuple[str, Promise, bool]]:
        """Return each scope with its label and whether it is selected; the empty scope stands for all."""
        return [
            ("", _("All"), not self.scope),
            *((scope, label, scope == self.scope) for scope, label in SCOPE_LABELS.items()),
        ]


def build_gallery(scope: str) -> Gallery:
    """Return the gallery for a requested scope; an unknown scope selects all samples."""
    selected_scope = scope if scope in SCOPE_LABELS else ""
    matches = [
        sample
        for sample in samples.list_offered()
        if not selected_scope or selected_scope in sample.scopes
    ]
    return Gallery(tuple(build_card(sample) for sample in matches), selected_scope)


def build_card(sample: Sample) -> SampleCard:
    kinds, node_kinds = load_kinds(), _list_node_kinds(sample)
    nodes = tuple(_build_node(name, kinds) for name in node_kinds[:MAX_NODES])
    hidden_count = max(0, len(node_kinds) - MAX_NODES)
    return SampleCard(
        sample, nodes, hidden_count, tuple(SCOPE_LABELS[scope] for scope in sample.scopes)
    )


@cache
def _list_node_kinds(sample: Sample) -> tuple[str, ...]:
    """Return the kinds of the sample's nodes, cached because its document doesn't change while the process runs."""
    return sample.kinds


def _build_node(name: str, kinds: Mapping[str, AnyKind]) -> CardNode:
    appearance = find_appearance(name, kinds)
    return CardNode(appearance.icon, appearance.family, get_kind_title(name, kinds))
