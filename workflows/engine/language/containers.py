"""The containers of the language: the names by which documents mark their entry and their content."""

from collections.abc import Mapping
from typing import Final


CONTAINERS: Final = ("iteration", "loop")


def get_entry_kind(container: str) -> str:
    """Return the kind of the node that a container's body begins with."""
    return f"{container}-start"


def get_content_markers(container: str) -> tuple[str, str]:
    """Return the keys that Dify writes into a node inside: the switch, and the container's id."""
    return f"isIn{container.capitalize()}", f"{container}_id"


ENTRY_KINDS: Final = frozenset(map(get_entry_kind, CONTAINERS))
INSIDE_MARKS: Final = tuple(
    mark for container in CONTAINERS for mark in get_content_markers(container)
)


def measure_depth(id_: str, containers: Mapping[str, str]) -> int:
    """Return the number of containers around a node; ``containers`` maps nodes to the container around them."""
    visited = {id_}
    while (container := containers.get(id_)) is not None and container not in visited:
        visited.add(container)
        id_ = container
    return len(visited) - 1
