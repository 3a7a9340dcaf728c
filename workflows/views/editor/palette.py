"""The installed node kinds that can be added to a draft, with their descriptions."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from workflows.engine.geometry import list_source_handles
from workflows.engine.kinds import AnyKind, Execution
from workflows.engine.language.document import NodeSpec
from workflows.execution.kinds import load_kinds


# group of a kind → its title, in the order of the palette
GROUPS: dict[str, str | Promise] = {
    "flow": gettext_lazy("Start & end"),
    "ai": gettext_lazy("Models"),
    "memory": gettext_lazy("Memory"),
    "logic": gettext_lazy("Logic"),
    "data": gettext_lazy("Data"),
    "tools": gettext_lazy("Tools"),
}


@dataclass(frozen=True, slots=True)
class PaletteItem:
    """A kind as the palette and the pickers show it."""

    kind: str
    title: str
    description: str
    icon: str
    family: str
    has_input: bool  # edges may end here
    has_output: bool  # edges may start here
    is_container: bool  # may contain other nodes
    handle: str  # the handle that continues when the node is inserted into an edge
    outputs: int  # of a new node, each of which is a row of its card if there are several
    containers: str  # kinds of containers it may be in, separated by spaces; empty for all


@dataclass(frozen=True, slots=True)
class PaletteGroup:
    name: str
    title: str
    items: tuple[PaletteItem, ...]


def list_palette_groups(mode: str) -> tuple[PaletteGroup, ...]:
    """Return the groups with the kinds that a workflow of this mode may contain."""
    kinds = [kind for kind in load_kinds().values() if _is_offered(kind, mode)]
    return tuple(
        PaletteGroup(name, title, items)
        for name, title in _list_groups(kinds)
        if (items := tuple(_build_item(kind) for kind in kinds if kind.group == name))
    )


def _is_offered(kind: AnyKind, mode: str) -> bool:
    """Return whether the palette offers a kind; containers create their entry nodes automatically."""
    return kind.execution is not Execution.ENTRY and kind.mode in (None, mode)


def _list_groups(kinds: Iterable[AnyKind]) -> Iterator[tuple[str, str]]:
    """Yield the known groups in their order, then the groups of plug-ins."""
    names = dict.fromkeys([*GROUPS, *(kind.group for kind in kinds)])
    for name in names:
        title = GROUPS.get(name)
        yield name, str(title) if title else name.replace("_", " ").capitalize()


def _build_item(kind: AnyKind) -> PaletteItem:
    defaults = {field.name: field.default for field in kind.fields if field.default is not None}
    handles = list_source_handles(NodeSpec("", kind.name, defaults), kind)
    return PaletteItem(
        kind=kind.name,
        title=_(kind.title),
        description=_(kind.description) if kind.description else "",
        icon=kind.icon,
        family=kind.family,
        has_input=kind.execution is not Execution.ROOT,
        has_output=kind.has_source_handle,
        is_container=kind.execution is Execution.CONTAINER,
        handle=next(iter(handles), "source"),
        outputs=len(handles),
        containers=" ".join(sorted(kind.allowed_containers)),
    )
