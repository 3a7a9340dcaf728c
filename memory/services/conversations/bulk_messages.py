"""Reads all messages of a conversation at once, with no more of their entries than a history needs."""

from memory.core.records import MemoryEntry
from memory.providers.postgres import rows
from memory.services.gateway.namespace_access import NamespaceAccess


def read_category(access: NamespaceAccess, category: str) -> list[MemoryEntry]:
    """Return the entries of a category with key, value and metadata only.

    A chat may have ten thousand messages; making whole entries of them takes longer than all the rest of a look.
    """
    if access.target.row is None:
        return []
    visible = rows.visible(access.target.row, access.now).filter(category=category).order_by("key")
    columns = visible.values_list("key", "value", "metadata")
    return [
        MemoryEntry("", access.text, key, value=value, metadata=metadata, category=category)
        for key, value, metadata in columns
    ]
