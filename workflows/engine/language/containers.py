"""The containers of the language: the names by which documents mark their entry and their content."""

from collections.abc import Mapping
from typing import Final


CONTAINERS: Final = ("iteration", "loop")


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


def list_containers(node_id: str, parents: Mapping[str, str | None]) -> list[str]:
    """Return the containers around a node, innermost first. ``parents`` maps each node to the container it is in."""
    containers: list[str] = []
    parent = parents.get(node_id)
    while parent is not None and parent not in (node_id, *containers):
        containers.append(parent)
        parent = parents.get(parent)
    return containers
