"""Groups of neighbouring entries: a chat's session, a document's chapter."""

from collections.abc import Mapping

from memory.core.records import Json


# A group and the position in it. A position is assigned once and never reused.
GroupPosition = tuple[str, int]

MAX_GROUP_LENGTH = 200


def get_group(metadata: Mapping[str, Json]) -> str:
    """Return the name of the group in the metadata of an entry, or an empty string if there is none."""
    group = metadata.get("group")
    return group if isinstance(group, str) and len(group) <= MAX_GROUP_LENGTH else ""
