"""The runs that a run started as sub-workflows, at any depth."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from accounts.principals import Principal
from workflows.models import Run


# The kinds of nodes that can start runs.
STARTING_KINDS: Final = frozenset({"sub-workflow", "agent", "tool"})
MAX_NESTING: Final = 8  # of runs that started other runs


@dataclass(frozen=True, slots=True)
class Descendant:
    """A run below one of the given runs. ``node`` is the node of that run which led to it."""

    run: Run
    root: UUID
    node: str


def list_descendants(principal: Principal, runs: Sequence[Run]) -> list[Descendant]:
    """Return the runs below these, those of a level after those above them. The caller may see the given runs.

    The rounds that other workers ran for a run are part of it, and are left out.
    """
    descendants: list[Descendant] = []
    above = {run.pk: (run.pk, "") for run in runs}
    for _depth in range(MAX_NESTING):
        rows = Run.objects.visible_to(principal).filter(parent__in=above, rounds__isnull=True)
        children = rows.select_related("workflow").order_by("created_at", "id")
        level = [_describe(child, above) for child in children]
        if not level:
            break
        descendants += level
        above = {each.run.pk: (each.root, each.node) for each in level}
    return descendants


def get_starting_node(child: Run) -> str:
    """Return the node whose step started the run: its key is ``run:node:rounds`` and perhaps more."""
    return child.parent_key.removeprefix(f"{child.parent_id}:").partition(":")[0]


def _describe(child: Run, above: dict[UUID, tuple[UUID, str]]) -> Descendant:
    root, node = above[child.parent_id or child.pk]
    return Descendant(child, root, node or get_starting_node(child))
