"""The kinds that can be added to a draft: those of this installation, by their own descriptions."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from workflows.engine.geometry import list_source_handles
from workflows.engine.kinds import AnyKind, Execution
from workflows.engine.language.document import NodeSpec
from workflows.services.kinds import installed_kinds


# group of a kind → what it is called, in the order people look for them; memory is nobody's appendix
GROUPS: dict[str, str | Promise] = {
    "flow": gettext_lazy("Start & end"),
    "ai": gettext_lazy("Models"),
    "memory": gettext_lazy("Memory"),
    "logic": gettext_lazy("Logic"),
    "data": gettext_lazy("Data"),
    "tools": gettext_lazy("Tools"),
}


@dataclass(frozen=True, slots=True)
class Offer:
    """One kind as the palette and the pickers show it."""

    kind: str
    title: str
    description: str
    icon: str
    family: str
    takes: bool  # edges may lead to it
    gives: bool  # edges may leave it
    holds: bool  # other nodes may lie in it
    way: str  # the way out that goes on when it is put into an edge
    inside: str  # the kinds of containers it may lie in, with spaces between; empty for anywhere


@dataclass(frozen=True, slots=True)
class OfferGroup:
    name: str
    title: str
    offers: tuple[Offer, ...]


def list_offers(mode: str) -> tuple[OfferGroup, ...]:
    kinds = [kind for kind in installed_kinds().values() if _is_offered(kind, mode)]
    return tuple(
        OfferGroup(name, title, offers)
        for name, title in _list_groups(kinds)
        if (offers := tuple(_build_offer(kind) for kind in kinds if kind.group == name))
    )


def _is_offered(kind: AnyKind, mode: str) -> bool:
    """Tell whether the palette offers a kind; a container makes its entry itself."""
    return kind.execution is not Execution.ENTRY and kind.mode in (None, mode)


def _list_groups(kinds: Iterable[AnyKind]) -> Iterator[tuple[str, str]]:
    """Yield the known groups in their order, then those that plug-ins bring along."""
    names = dict.fromkeys([*GROUPS, *(kind.group for kind in kinds)])
    for name in names:
        title = GROUPS.get(name)
        yield name, str(title) if title else name.replace("_", " ").capitalize()


def _build_offer(kind: AnyKind) -> Offer:
    return Offer(
        kind=kind.name,
        title=_(kind.title),
        description=_(kind.description) if kind.description else "",
        icon=kind.icon,
        family=kind.family,
        takes=kind.execution is not Execution.ROOT,
        gives=kind.has_source_handle,
        holds=kind.execution is Execution.CONTAINER,
        way=next(iter(list_source_handles(NodeSpec("", kind.name, {}), kind)), "source"),
        inside=" ".join(sorted(kind.allowed_containers)),
    )
