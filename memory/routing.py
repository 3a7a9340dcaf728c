"""The routing of namespaces: PostgreSQL or, for working memory, another provider that the operator chose.

``MEMORY_PLACES`` has a rule a scope, for everybody or for one team: ``run=redis``, ``workflow@TEAM=http``.
Memory of persons, conversations and applications stays in PostgreSQL: it must be undone, restored,
audited in one transaction and erased with proof. See adr 8.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config.plugins import collect_mappings
from memory.core.errors import InvalidInput, MemoryFault
from memory.core.policy import MemorySecurityPolicy
from memory.core.scope_kinds import SeenBy
from memory.core.scopes import ParsedNamespace, Scope, scope_named
from memory.providers import PROVIDERS, provider_factory
from memory.providers.base import MemoryProvider


HERE = "postgres"


@dataclass(frozen=True, slots=True)
class ExternalProvider:
    """A provider that keeps namespaces outside of PostgreSQL; ``name`` is what the audit trail calls it."""

    name: str
    provider: MemoryProvider


def external_provider(
    team_id: UUID, named: ParsedNamespace, policy: MemorySecurityPolicy
) -> ExternalProvider | None:
    """The provider a namespace is kept with; none: PostgreSQL."""
    rules = _rules(settings.MEMORY_PLACES)
    name = _provider_name(rules, named.scope, team_id)
    return None if name == HERE else _get_or_make(name, team_id, policy, _addresses())


def external_scopes(team_id: UUID) -> frozenset[str]:
    """Of which a team's namespaces are not in PostgreSQL."""
    rules = _rules(settings.MEMORY_PLACES)
    return frozenset(
        scope
        for scope, team in rules
        if team in ("", str(team_id)) and _provider_name(rules, scope, team_id) != HERE
    )


def check() -> None:
    """At start: a rule that makes no sense, or asks for what can't be kept, stops here and not in a run."""
    for (scope, team), name in _rules(settings.MEMORY_PLACES).items():
        if name != HERE:
            _check_rule(scope, team, name)
            _get_or_make(
                name, UUID(team) if team else UUID(int=0), MemorySecurityPolicy(), _addresses()
            )


def close() -> None:
    """Ends the connections of this process; the next who asks makes new ones."""
    providers = list(_MADE.values())
    _MADE.clear()
    for external in providers:
        close_provider = getattr(external.provider, "close", None)
        if close_provider is not None:
            close_provider()


def _provider_name(rules: Mapping[tuple[str, str], str], scope: str, team_id: UUID) -> str:
    """A team's own rule goes before that for everybody."""
    return rules.get((scope, str(team_id))) or rules.get((scope, "")) or HERE


def _rules(written: tuple[str, ...]) -> dict[tuple[str, str], str]:
    return dict(_rule(rule) for rule in written)


@lru_cache(maxsize=64)
def _rule(written: str) -> tuple[tuple[str, str], str]:
    place, equals, name = (part.strip() for part in written.partition("="))
    scope, _at, team = place.partition("@")
    if not equals or not name:
        raise ImproperlyConfigured(f"MEMORY_PLACES: {written!r} is not scope=provider.")
    try:
        return (str(scope_named(scope).word), str(UUID(team)) if team else ""), name
    except (InvalidInput, ValueError) as wrong:
        raise ImproperlyConfigured(f"MEMORY_PLACES: {written!r}: {wrong}") from wrong


def _check_rule(scope: str, team: str, name: str) -> None:
    if name not in {*PROVIDERS, *collect_mappings("memory_providers")}:
        raise ImproperlyConfigured(f"MEMORY_PLACES: there is no memory provider {name!r}.")
    if name == "in_memory":
        raise ImproperlyConfigured(
            "MEMORY_PLACES: in_memory is seen by one process only; web and workers are several."
        )
    if scope == Scope.GLOBAL or scope_named(scope).seen_by in (SeenBy.PERSON, SeenBy.PARTICIPANTS):
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
    """A part of the cache's key: tests, and a reload, may change them."""

    redis_url: str
    http_url: str
    http_key: str


def _addresses() -> _Addresses:
    return _Addresses(
        settings.MEMORY_REDIS_URL or settings.REDIS_URL,
        settings.MEMORY_HTTP_URL or "",
        settings.MEMORY_HTTP_KEY or "",
    )


_MADE: dict[tuple[str, UUID, MemorySecurityPolicy, _Addresses], ExternalProvider] = {}


def _get_or_make(
    name: str, team_id: UUID, policy: MemorySecurityPolicy, at: _Addresses
) -> ExternalProvider:
    """One for all who ask with the same limits; two made at once are one too many and no more."""
    key = (name, team_id, policy, at)
    if key not in _MADE:
        _MADE[key] = _new(name, team_id, policy, at)
    return _MADE[key]


def _new(
    name: str, team_id: UUID, policy: MemorySecurityPolicy, at: _Addresses
) -> ExternalProvider:
    factory = provider_factory(name, collect_mappings("memory_providers"))
    options: dict[str, Any] = {"policy": policy}  # what each of them takes besides
    if name == "http":
        options |= {"url": at.http_url, "key": at.http_key}
    elif name == "redis":
        options |= {"url": at.redis_url, "space": str(team_id)}
    else:
        options |= {"space": str(team_id)}
    try:
        return ExternalProvider(name, factory(**options))
    except (MemoryFault, TypeError) as wrong:
        raise ImproperlyConfigured(f"The memory provider {name}: {wrong}") from wrong
