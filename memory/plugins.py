"""Memory's own row in the plug-in table, and what others plugged in."""

from config.plugins import offered
from memory.core.provider import MemoryProvider
from memory.providers import provider_factory


def make_provider(name: str, **options: object) -> MemoryProvider:
    """A provider by name, ours or a plug-in's."""
    return provider_factory(name, offered("memory_providers"))(**options)
