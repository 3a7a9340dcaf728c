"""Providers by name. A new one is a file and a row here; a plug-in brings both itself."""

from collections.abc import Callable, Mapping
from importlib import import_module

from memory.core.errors import InvalidInput
from memory.providers.base import MemoryProvider


ProviderFactory = Callable[..., MemoryProvider]

# Imported when asked for: ``in_memory`` must not need Django, nor any of them another's library.
PROVIDERS: dict[str, str] = {
    "http": "memory.providers.http:HttpProvider",
    "in_memory": "memory.providers.in_memory:InMemoryProvider",
    "postgres": "memory.providers.postgres:PostgresProvider",
    "redis": "memory.providers.redis:RedisProvider",
}


def provider_factory(
    name: str, plugged: Mapping[str, ProviderFactory] | None = None
) -> ProviderFactory:
    """The class behind a name; ``plugged`` is what plug-ins offered, see ``memory.plugins``."""
    if taken := sorted(set(PROVIDERS) & set(plugged or {})):
        raise InvalidInput(f"A plug-in offers the memory provider {taken[0]!r}, which is built in.")
    if plugged and name in plugged:
        return plugged[name]
    if name not in PROVIDERS:
        names = ", ".join(sorted({*PROVIDERS, *(plugged or {})}))
        raise InvalidInput(f"Unknown memory provider {name!r}; use one of: {names}.")
    module, _, attribute = PROVIDERS[name].partition(":")
    factory: ProviderFactory = getattr(import_module(module), attribute)
    return factory
