"""What can be added to a draft: the kinds of this installation, by their own descriptions."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from workflows.engine.document import Mode, NodeSpec
from workflows.engine.geometry import ways_out
from workflows.engine.kinds import AnyKind, Execution
from workflows.services.kinds import installed_kinds
from workflows.views.editor.looks import look_of


# group of a kind → what it is called, in the order people look for them; memory is nobody's appendix
GROUPS: dict[str, str | Promise] = {
    "flow": gettext_lazy("Begin and end"),
    "ai": gettext_lazy("Models"),
    "memory": gettext_lazy("Memory"),
    "logic": gettext_lazy("Logic"),
    "data": gettext_lazy("Data"),
    "tools": gettext_lazy("Tools"),
}
# The other mode's way of speaking can be added, but is of no use: not offered.
ONLY_IN = {"answer": Mode.CHAT, "end": Mode.WORKFLOW}


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


def offered(mode: str) -> tuple[OfferGroup, ...]:
    kinds = [kind for kind in installed_kinds().values() if _is_for(kind, mode)]
    return tuple(
        OfferGroup(name, title, offers)
        for name, title in _groups(kinds)
        if (offers := tuple(_offer(kind) for kind in kinds if kind.group == name))
    )


def _is_for(kind: AnyKind, mode: str) -> bool:
    """A container makes its entry itself."""
    return kind.execution is not Execution.ENTRY and ONLY_IN.get(kind.name, mode) == mode


def _groups(kinds: Iterable[AnyKind]) -> Iterator[tuple[str, str]]:
    """The known groups in their order, then those that plug-ins bring along."""
    names = dict.fromkeys([*GROUPS, *(kind.group for kind in kinds)])
    for name in names:
        title = GROUPS.get(name)
        yield name, str(title) if title else name.replace("_", " ").capitalize()


def _offer(kind: AnyKind) -> Offer:
    look = look_of(kind.name, kind)
    return Offer(
        kind=kind.name,
        title=_(kind.title),
        description=_(kind.description) if kind.description else "",
        icon=look.icon,
        family=look.family,
        takes=kind.execution is not Execution.ROOT,
        gives=not (kind.gives_results or kind.ends_rounds),
        holds=kind.execution is Execution.CONTAINER,
        way=next(iter(ways_out(NodeSpec("", kind.name, {}), kind)), "source"),
        inside=" ".join(sorted(kind.lives_in)),
    )
