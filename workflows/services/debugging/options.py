"""The options of a debug run, as requested and as stored in the run's row."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID

from django.utils.translation import gettext as _

from workflows.engine.errors import InputRejected
from workflows.engine.kinds import AnyKind
from workflows.engine.language.document import Document, Json
from workflows.engine.runtime.partial_runs import (
    Extent,
    Part,
    find_ancestors,
    find_outermost,
    find_root,
)
from workflows.errors import InvalidValue


MAX_BREAKPOINTS = 500
WHOLE_WORKFLOW = Part()

Values = Mapping[str, Mapping[str, Json]]  # node → output → value


class NodeNeedsValues(InputRejected):
    """A node that runs alone reads values that no earlier run has produced and that were not entered."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a debug run: the part to run, the run whose results are reused, and where to pause.

    ``step``: pause after each node. ``memory``: "sandbox" for a dry run. ``pins``: whether pins apply. ``values``: outputs
    that a person entered for nodes that don't run.
    """

    part: Part = WHOLE_WORKFLOW
    reuse: UUID | None = None
    breakpoints: tuple[str, ...] = ()
    step: bool = False
    memory: Literal["real", "sandbox"] = "real"
    pins: bool = False
    values: Values = field(default_factory=dict)

    @property
    def replaces_results(self) -> bool:
        """Return whether nodes get values that this run doesn't compute."""
        return bool(self.values) or self.reuse is not None or not self.part.is_whole

    def dump(self, **additional: Json) -> dict[str, Json]:
        """Return the value for ``Run.debug``, which ``execution.debugging.run_options.DebugOptions`` reads."""
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
            **additional,
        }


def select_part(
    *, only: Iterable[str] = (), until: Iterable[str] = (), start_from: Iterable[str] = ()
) -> Part:
    """Return the part of the workflow to run, by default all of it. Raises InvalidValue if several are requested."""
    parts = [
        Part(extent, nodes)
        for extent, node_ids in (
            (Extent.ONLY, only),
            (Extent.UNTIL, until),
            (Extent.FROM, start_from),
        )
        if (nodes := tuple(node_ids))
    ]
    if len(parts) > 1:
        raise InvalidValue(_("Use only one of: only, until, from."), field="debug")
    return parts[0] if parts else WHOLE_WORKFLOW


def check_options(options: RunOptions, document: Document, kinds: Mapping[str, AnyKind]) -> None:
    """Raise InvalidValue for options that the document doesn't allow, such as nodes that no run can reach."""
    node_ids = {node.id for node in document.nodes}
    _check_nodes(options.part.nodes, node_ids, "debug")
    if len(options.breakpoints) > MAX_BREAKPOINTS:
        raise InvalidValue(_("Too many breakpoints."), field="breakpoints")
    if options.part.extent is Extent.FROM and options.reuse is None:
        raise InvalidValue(_("No earlier results to reuse. Run to here first."), field="reuse")
    root = find_root(document, kinds)
    if options.part.extent in (Extent.UNTIL, Extent.FROM) and root is not None:
        for node in options.part.nodes:
            top = find_outermost(document, node)
            if top != root and root not in find_ancestors(document, [top]):
                raise InvalidValue(
                    _("%(node)s is not reachable from the Start node.") % {"node": node},
                    field="debug",
                )


def _check_nodes(nodes: Collection[str], node_ids: Collection[str], field: str) -> None:
    for node in nodes:
        if node not in node_ids:
            raise InvalidValue(_("Node %(node)s not found.") % {"node": node}, field=field)
