"""Memory's own row in the plug-in table, and what others plugged in."""

from config.plugins import collect_mappings
from memory.core import scopes
from memory.core.errors import InvalidInput
from memory.core.scope_kinds import ScopeKind
from memory.providers import provider_factory
from memory.providers.base import MemoryProvider


def make_provider(name: str, **options: object) -> MemoryProvider:
    """A provider by name, ours or a plug-in's."""
    return provider_factory(name, collect_mappings("memory_providers"))(**options)


def plug_in_scopes() -> None:
    """What plug-ins offer as scopes, into memory's table; at start, and again in a test that adds one."""
    scopes.plug_in(_checked(word, kind) for word, kind in collect_mappings("scopes").items())


def _checked(word: str, kind: object) -> ScopeKind:
    if not isinstance(kind, ScopeKind) or kind.word != word:
        raise InvalidInput(f"The plug-in's scope {word!r} must be a ScopeKind with that word.")
    return kind
