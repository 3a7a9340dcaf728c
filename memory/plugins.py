"""Find and register the memory providers and scopes of plug-ins."""

from typing import Final

from config.plugins import collect_mappings
from memory.core import scopes
from memory.core.errors import InvalidInput
from memory.core.scope_kinds import ScopeKind
from memory.embedding.embedders import get_configured_embedder
from memory.embedding.judge import find_judge
from memory.providers import find_provider_factory
from memory.providers.base import MemoryProvider


IN_MEMORY: Final = "in_memory"


def make_provider(name: str, **options: object) -> MemoryProvider:
    """Make a memory provider, built in or from a plug-in, by its name and options. It judges as the server does."""
    if name == IN_MEMORY:
        options = {"embedder": get_configured_embedder(), **options}
    provider = find_provider_factory(name, collect_mappings("memory_providers"))(**options)
    provider.judge = find_judge()
    return provider


def make_temporary_memory() -> MemoryProvider:
    """Make a memory that lasts as long as a command or a test, and judges and finds as the server does."""
    return make_provider(IN_MEMORY)


def plug_in_scopes() -> None:
    """Register the scopes of all plug-ins. This replaces those that were registered before."""
    scopes.plug_in(_check_scope(word, kind) for word, kind in collect_mappings("scopes").items())


def _check_scope(word: str, kind: object) -> ScopeKind:
    if not isinstance(kind, ScopeKind) or kind.word != word:
        raise InvalidInput(f"The plug-in's scope {word!r} must be a ScopeKind with that word.")
    return kind
