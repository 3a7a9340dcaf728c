"""The memory providers by name. A new provider needs a module and a row here, or comes from a plug-in."""

from collections.abc import Callable, Mapping
from importlib import import_module

from memory.core.errors import InvalidInput
from memory.providers.base import MemoryProvider


ProviderFactory = Callable[..., MemoryProvider]

# Imported on first use: ``in_memory`` works without Django, and no provider needs the library of another.
PROVIDERS: dict[str, str] = {
    "http": "memory.providers.http:HttpProvider",
    "in_memory": "memory.providers.in_memory:InMemoryProvider",
    "postgres": "memory.providers.postgres:PostgresProvider",
    "redis": "memory.providers.redis:RedisProvider",
}


def find_provider_factory(
    name: str, plugins: Mapping[str, ProviderFactory] | None = None
) -> ProviderFactory:
    """Return the factory of a built-in provider or of one from ``plugins``; raise InvalidInput for an unknown name."""
    if conflicts := sorted(set(PROVIDERS) & set(plugins or {})):
        raise InvalidInput(
            f"A plug-in offers the memory provider {conflicts[0]!r}, which is built in."
        )
    if plugins and name in plugins:
        return plugins[name]
    if name not in PROVIDERS:
        names = ", ".join(sorted({*PROVIDERS, *(plugins or {})}))
        raise InvalidInput(f"Unknown memory provider {name!r}; use one of: {names}.")
    module, _, attribute = PROVIDERS[name].partition(":")
    factory: ProviderFactory = getattr(import_module(module), attribute)
    return factory
