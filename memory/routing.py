"""Find the provider of a namespace: PostgreSQL or, for working memory, another one that the operator chose.

``MEMORY_PLACES`` has a rule for each scope, for all teams or for one: ``run=redis``, ``workflow@TEAM=http``. The memory
of persons, conversations and applications is always in PostgreSQL, because it must be possible to undo and restore it,
to audit it in the same transaction, and to erase it with proof. See adr 8.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from accounts.request_transaction import without_connection
from config.plugins import collect_mappings
from memory.core.errors import InvalidInput, MemoryFault
from memory.core.policy import NO_LIMITS, MemorySecurityPolicy
from memory.core.records import MemoryEntry, MemoryQuery, StoreParams
from memory.core.scope_kinds import SeenBy
from memory.core.scopes import ParsedNamespace, Scope, get_scope
from memory.providers import PROVIDERS, find_provider_factory
from memory.providers.base import MemoryProvider, Usage


DEFAULT = "postgres"


@dataclass(frozen=True, slots=True)
class ExternalProvider:
    """A provider that stores namespaces outside of PostgreSQL, and its name in the audit log."""

    name: str
    provider: MemoryProvider


class OutsideProvider(MemoryProvider):
    """A provider whose calls may take long: each one gives the database connection back until it has been answered.

    What the caller's transaction did before is committed by that, as ``accounts.request_transaction`` explains.
    """

    def __init__(self, provider: MemoryProvider) -> None:
        self._provider = provider

    def store(self, params: StoreParams) -> MemoryEntry:
        with without_connection(is_required=False):
            return self._provider.store(params)

    def recall(self, query: MemoryQuery) -> list[MemoryEntry]:
        with without_connection(is_required=False):
            return self._provider.recall(query)

    def delete(self, namespace: str, key: str) -> bool:
        with without_connection(is_required=False):
            return self._provider.delete(namespace, key)

    def clear_namespace(self, namespace: str) -> int:
        with without_connection(is_required=False):
            return self._provider.clear_namespace(namespace)

    def history(self, namespace: str, key: str) -> Sequence[MemoryEntry]:
        with without_connection(is_required=False):
            return self._provider.history(namespace, key)

    def measure(self, namespace: str) -> Usage:
        with without_connection(is_required=False):
            return self._provider.measure(namespace)

    def close(self) -> None:
        getattr(self._provider, "close", lambda: None)()


def find_external_provider(
    team_id: UUID, namespace: ParsedNamespace, policy: MemorySecurityPolicy
) -> ExternalProvider | None:
    """Return the provider of the namespace, or None for PostgreSQL."""
    name = find_place(team_id, namespace.scope)
    return None if name == DEFAULT else _get_or_make(name, team_id, policy)


def find_place(team_id: UUID, scope: str) -> str:
    """Return the name of the provider that has the team's namespaces of the scope."""
    return _find_provider_name(_parse_rules(settings.MEMORY_PLACES), scope, team_id)


def open_provider(name: str, team_id: UUID) -> MemoryProvider:
    """Return another provider than PostgreSQL by its name, without limits; raise ImproperlyConfigured if it can't be made."""
    return _get_or_make(name, team_id, NO_LIMITS).provider


def list_ruled_scopes() -> frozenset[str]:
    """Return the scopes that ``MEMORY_PLACES`` names, for whichever team."""
    return frozenset(scope for scope, _team in _parse_rules(settings.MEMORY_PLACES))


def list_external_scopes(team_id: UUID) -> frozenset[str]:
    """Return the scopes whose namespaces the team has outside of PostgreSQL."""
    rules = _parse_rules(settings.MEMORY_PLACES)
    return frozenset(
        scope
        for scope, team in rules
        if team in ("", str(team_id)) and _find_provider_name(rules, scope, team_id) != DEFAULT
    )


def check_rules() -> None:
    """Raise ImproperlyConfigured for a wrong rule. This is called at start-up, so that no run fails because of it."""
    for (scope, team), name in _parse_rules(settings.MEMORY_PLACES).items():
        if name != DEFAULT:
            _check_rule(scope, team, name)
            _get_or_make(name, UUID(team) if team else UUID(int=0), MemorySecurityPolicy())


def close_providers() -> None:
    """Close this process's connections to external providers. The next use opens new ones."""
    providers = list(_PROVIDERS.values())
    _PROVIDERS.clear()
    for external in providers:
        getattr(external.provider, "close", lambda: None)()


def _find_provider_name(rules: Mapping[tuple[str, str], str], scope: str, team_id: UUID) -> str:
    """Return the name of the provider. A team's own rule precedes the rule for all teams."""
    return rules.get((scope, str(team_id))) or rules.get((scope, "")) or DEFAULT


def _parse_rules(texts: tuple[str, ...]) -> dict[tuple[str, str], str]:
    return dict(_parse_rule(text) for text in texts)


@lru_cache(maxsize=64)
def _parse_rule(text: str) -> tuple[tuple[str, str], str]:
    target, equals, name = (part.strip() for part in text.partition("="))
    scope, _at, team = target.partition("@")
    if not equals or not name:
        raise ImproperlyConfigured(f"MEMORY_PLACES: {text!r} is not scope=provider.")
    try:
        return (str(get_scope(scope).word), str(UUID(team)) if team else ""), name
    except (InvalidInput, ValueError) as error:
        raise ImproperlyConfigured(f"MEMORY_PLACES: {text!r}: {error}") from error


def _check_rule(scope: str, team: str, name: str) -> None:
    if name not in {*PROVIDERS, *collect_mappings("memory_providers")}:
        raise ImproperlyConfigured(f"MEMORY_PLACES: there is no memory provider {name!r}.")
    if name == "in_memory":
        raise ImproperlyConfigured(
            "MEMORY_PLACES: in_memory is seen by one process only; web and workers are several."
        )
    if scope == Scope.GLOBAL or get_scope(scope).seen_by in (SeenBy.PERSON, SeenBy.PARTICIPANTS):
        raise ImproperlyConfigured(
            f"MEMORY_PLACES: the {scope} scope stays in PostgreSQL, where it can be undone and erased "
            "with proof. Working memory may be elsewhere: run, run_metadata, workflow."
        )
    if name == "http" and not team:
        raise ImproperlyConfigured(
            f"MEMORY_PLACES: {scope}=http needs its team ({scope}@TEAM=http): a key over there is one "
            "team's memory, and two of ours would meet in it."
        )


@dataclass(frozen=True, slots=True)
class _Addresses:
    """The addresses of providers. They are part of a provider's cache key because tests and reloads may change them."""

    redis_url: str
    http_url: str
    http_key: str


def _read_addresses() -> _Addresses:
    return _Addresses(
        settings.MEMORY_REDIS_URL or settings.REDIS_URL,
        settings.MEMORY_HTTP_URL or "",
        settings.MEMORY_HTTP_KEY or "",
    )


_PROVIDERS: dict[tuple[str, UUID, MemorySecurityPolicy, _Addresses], ExternalProvider] = {}


def _get_or_make(name: str, team_id: UUID, policy: MemorySecurityPolicy) -> ExternalProvider:
    """Return the provider, shared by all callers with the same limits. Two made at the same time are harmless."""
    cache_key = (name, team_id, policy, _read_addresses())
    if cache_key not in _PROVIDERS:
        _PROVIDERS[cache_key] = _make_provider(*cache_key)
    return _PROVIDERS[cache_key]


def _make_provider(
    name: str, team_id: UUID, policy: MemorySecurityPolicy, addresses: _Addresses
) -> ExternalProvider:
    factory = find_provider_factory(name, collect_mappings("memory_providers"))
    options: dict[str, Any] = {"policy": policy}  # the further options of each provider
    if name == "http":
        options |= {"url": addresses.http_url, "key": addresses.http_key}
    else:
        options |= {"space": str(team_id)}
    if name == "redis":
        options["url"] = addresses.redis_url
    try:
        provider = factory(**options)
        return ExternalProvider(
            name, OutsideProvider(provider) if provider.is_outside else provider
        )
    except (MemoryFault, TypeError) as error:
        raise ImproperlyConfigured(f"The memory provider {name}: {error}") from error
