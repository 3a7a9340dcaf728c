"""The containers of the language: the names by which documents mark their entry and their content."""

from collections.abc import Container, Mapping
from typing import Final


CONTAINERS: Final = ("iteration", "loop")
# xworkflow's operations of a list operator that run a body for each item. Such a node is an iteration here.
LIST_OPERATOR: Final = "list-operator"
BODY_OPERATIONS: Final = frozenset({"filter", "map", "reduce"})
# Deeper nesting is neither read nor shown. A run allows less, but up to here a draft can be mended on the canvas.
MAX_NESTING: Final = 40


def get_entry_kind(container: str) -> str:
    """Return the kind of the node that a container's body begins with."""
    return f"{container}-start"


def get_content_markers(container: str) -> tuple[str, str]:
    """Return the two keys that Dify writes into a node inside: a switch, and the container's id."""
    return f"isIn{container.capitalize()}", f"{container}_id"


ENTRY_KINDS: Final = frozenset(map(get_entry_kind, CONTAINERS))
CONTENT_MARKERS: Final = tuple(
    marker for container in CONTAINERS for marker in get_content_markers(container)
)


def measure_nesting(parents: Mapping[str, str | None]) -> int:
    """Return the largest number of containers around a node. A circle of containers counts as at least its length."""
    depths: dict[str, int] = {}
    for start in parents:
        path, end = _follow(start, parents, depths)
        depth = depths.get(end, len(path)) if end is not None else -1
        for node in reversed(path):
            depth += 1
            depths[node] = depth
    return max(depths.values(), default=0)


def find_circles(parents: Mapping[str, str | None]) -> frozenset[str]:
    """Return the nodes whose containers never end, because a container is inside itself."""
    ends: dict[str, bool] = {}  # node → whether its containers end
    for start in parents:
        path, end = _follow(start, parents, ends)
        ends |= dict.fromkeys(path, end is None or (end not in path and ends[end]))
    return frozenset(node for node, has_end in ends.items() if not has_end)


def _follow(
    start: str, parents: Mapping[str, str | None], visited: Container[str]
) -> tuple[list[str], str | None]:
    """Return the nodes from ``start`` outwards, up to one that was visited or is among them; None if there is no such."""
    path: dict[str, None] = {}
    node: str | None = start
    while node is not None and node in parents:
        if node in visited or node in path:
            return [*path], node
        path[node] = None
        node = parents[node]
    return [*path], None


def list_containers(node_id: str, parents: Mapping[str, str | None]) -> list[str]:
    """Return the containers around a node, innermost first. ``parents`` maps each node to the container it is in."""
    containers: list[str] = []
    parent = parents.get(node_id)
    while parent is not None and parent not in (node_id, *containers):
        if len(containers) > MAX_NESTING:
            break
        containers.append(parent)
        parent = parents.get(parent)
    return containers
