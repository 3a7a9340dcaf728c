"""Groups of neighbouring entries: a chat's session, a document's chapter."""

from collections.abc import Mapping

from memory.core.records import Json


# A group, and the entry's place in it. Places are given once and never again.
Place = tuple[str, int]

MAX_GROUP_LENGTH = 200


def group_of(metadata: Mapping[str, Json]) -> str:
    """Authors name the group in the metadata; no name, no group."""
    found = metadata.get("group")
    return found if isinstance(found, str) and len(found) <= MAX_GROUP_LENGTH else ""
