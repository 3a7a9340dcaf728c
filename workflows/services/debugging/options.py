"""How a run is to be debugged, as it is asked for and as the run's row keeps it."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID

from django.utils.translation import gettext as _

from workflows.engine.errors import InputRejected
from workflows.engine.kinds import AnyKind
from workflows.engine.language.document import Document, Json
from workflows.engine.runtime.partial_runs import Extent, Part, ancestors, outermost, root_of
from workflows.errors import InvalidValue


MOST_BREAKPOINTS = 500
WHOLE = Part()

Values = Mapping[str, Mapping[str, Json]]  # node → output → value


class NodeNeedsValues(InputRejected):
    """A node that runs alone reads values nothing has run for; say what they are."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """``reuse``: the run whose results are kept. ``values``: typed in for what never ran. ``pins``: use them."""

    part: Part = WHOLE
    reuse: UUID | None = None
    breakpoints: tuple[str, ...] = ()
    step: bool = False
    memory: Literal["real", "sandbox"] = "real"
    pins: bool = False
    values: Values = field(default_factory=dict)

    def stored(self, **more: Json) -> dict[str, Json]:
        """For ``Run.debug``; ``execution.debugging.Debug`` reads it."""
        part = (
            {}
            if self.part.extent is Extent.ALL
            else {self.part.extent.value: list(self.part.nodes)}
        )
        return {
            **part,
            "reuse": str(self.reuse) if self.reuse else None,
            "breakpoints": list(self.breakpoints),
            "step": self.step,
            "memory": self.memory,
            **more,
        }


def part_asked(
    *, only: Iterable[str] = (), until: Iterable[str] = (), start_from: Iterable[str] = ()
) -> Part:
    """At most one of them may be asked for."""
    asked = [
        Part(extent, nodes)
        for extent, given in (
            (Extent.ONLY, only),
            (Extent.UNTIL, until),
            (Extent.FROM, start_from),
        )
        if (nodes := tuple(given))
    ]
    if len(asked) > 1:
        raise InvalidValue(_("Use only one of: only, until, from."), field="debug")
    return asked[0] if asked else WHOLE


def check_options(options: RunOptions, document: Document, kinds: Mapping[str, AnyKind]) -> None:
    """Raises InvalidValue for nodes that aren't there, or that no run can reach."""
    known = {node.id for node in document.nodes}
    _check_known(options.part.nodes, known, "debug")
    if len(options.breakpoints) > MOST_BREAKPOINTS:
        raise InvalidValue(_("Too many breakpoints."), field="breakpoints")
    if options.part.extent is Extent.FROM and options.reuse is None:
        raise InvalidValue(_("No earlier results to reuse. Run to here first."), field="reuse")
    root = root_of(document, kinds)
    if options.part.extent in (Extent.UNTIL, Extent.FROM) and root is not None:
        for node in options.part.nodes:
            top = outermost(document, node)
            if top != root and root not in ancestors(document, [top]):
                raise InvalidValue(
                    _("%(node)s is not reachable from the Start node.") % {"node": node},
                    field="debug",
                )


def _check_known(nodes: Collection[str], known: Collection[str], where: str) -> None:
    for node in nodes:
        if node not in known:
            raise InvalidValue(_("Node %(node)s not found.") % {"node": node}, field=where)
