"""Memory's plug-ins: providers and scopes."""

from config.plugins import collect_mappings
from memory.core import scopes
from memory.core.errors import InvalidInput
from memory.core.scope_kinds import ScopeKind
from memory.providers import find_provider_factory
from memory.providers.base import MemoryProvider


def make_provider(name: str, **options: object) -> MemoryProvider:
    """Make a provider by name, built in or from a plug-in."""
    return find_provider_factory(name, collect_mappings("memory_providers"))(**options)


def plug_in_scopes() -> None:
    """Add the scopes of plug-ins to memory's table, at start-up and again in a test that adds one."""
    scopes.plug_in(_check_scope(word, kind) for word, kind in collect_mappings("scopes").items())


def _check_scope(word: str, kind: object) -> ScopeKind:
    if not isinstance(kind, ScopeKind) or kind.word != word:
        raise InvalidInput(f"The plug-in's scope {word!r} must be a ScopeKind with that word.")
    return kind
