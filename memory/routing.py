"""Where memories are kept: in PostgreSQL, or, for working memory, with another provider that the operator chose.

``MEMORY_PLACES`` has a rule a scope, for everybody or for one team: ``run=redis``, ``workflow@TEAM=http``.
What is a person's, a conversation's or an application's stays in PostgreSQL: it must be undone, restored,
audited in one transaction and erased with proof. See adr 8.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config.plugins import offered
from memory.core.errors import InvalidInput, MemoryFault
from memory.core.policy import MemorySecurityPolicy
from memory.core.provider import MemoryProvider
from memory.core.records import MemoryEntry, MemoryQuery, StoreParams
from memory.core.scope_kinds import SeenBy
from memory.core.scopes import ParsedNamespace, Scope, scope_named
from memory.providers import PROVIDERS, provider_factory


T = TypeVar("T")

HERE = "postgres"


def _nobody_listens() -> None:
    pass


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A provider for callers that are no coroutines; it raises what the provider raises.

    ``changed`` is told when something was: no transaction of ours takes that back.
    """

    name: str
    provider: MemoryProvider
    changed: Callable[[], None] = _nobody_listens

    def store(self, params: StoreParams) -> MemoryEntry:
        return self._told(_wait(self.provider.store(params)))

    def recall(self, query: MemoryQuery) -> list[MemoryEntry]:
        return _wait(self.provider.recall(query))

    def delete(self, namespace: str, key: str) -> bool:
        return self._told(_wait(self.provider.delete(namespace, key)))

    def clear_namespace(self, namespace: str) -> int:
        return self._told(_wait(self.provider.clear_namespace(namespace)))

    def history(self, namespace: str, key: str) -> Sequence[MemoryEntry]:
        return _wait(self._history(namespace, key))

    def _told(self, done: T) -> T:
        if done:
            self.changed()
        return done

    async def _history(self, namespace: str, key: str) -> Sequence[MemoryEntry]:
        return await self.provider.history(namespace, key)


def elsewhere(
    team_id: UUID, named: ParsedNamespace, policy: MemorySecurityPolicy
) -> Elsewhere | None:
    """The provider a namespace is kept with; none: PostgreSQL."""
    rules = _rules(settings.MEMORY_PLACES)
    name = _kept_with(rules, named.scope, team_id)
    return None if name == HERE else _made(name, team_id, policy, _addresses())


def scopes_elsewhere(team_id: UUID) -> frozenset[str]:
    """Of which a team's namespaces are not in PostgreSQL."""
    rules = _rules(settings.MEMORY_PLACES)
    return frozenset(
        scope
        for scope, team in rules
        if team in ("", str(team_id)) and _kept_with(rules, scope, team_id) != HERE
    )


def check() -> None:
    """At start: a rule that makes no sense, or asks for what can't be kept, stops here and not in a run."""
    for (scope, team), name in _rules(settings.MEMORY_PLACES).items():
        if name != HERE:
            _check_rule(scope, team, name)
            _made(name, UUID(team) if team else UUID(int=0), MemorySecurityPolicy(), _addresses())


def close() -> None:
    """Ends the connections of this process; the next who asks makes new ones."""
    made = list(_MADE.values())
    _MADE.clear()
    for one in made:
        end = getattr(one.provider, "aclose", None)
        if end is not None and _RUNNING.loop is not None:
            _wait(end())


def _kept_with(rules: Mapping[tuple[str, str], str], scope: str, team_id: UUID) -> str:
    """A team's own rule goes before that for everybody."""
    return rules.get((scope, str(team_id))) or rules.get((scope, "")) or HERE


def _rules(written: tuple[str, ...]) -> dict[tuple[str, str], str]:
    return dict(_rule(one) for one in written)


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
    if name not in {*PROVIDERS, *offered("memory_providers")}:
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


_MADE: dict[tuple[str, UUID, MemorySecurityPolicy, _Addresses], Elsewhere] = {}


def _made(name: str, team_id: UUID, policy: MemorySecurityPolicy, at: _Addresses) -> Elsewhere:
    """One for all who ask with the same limits; two made at once are one too many and no more."""
    key = (name, team_id, policy, at)
    if key not in _MADE:
        _MADE[key] = _new(name, team_id, policy, at)
    return _MADE[key]


def _new(name: str, team_id: UUID, policy: MemorySecurityPolicy, at: _Addresses) -> Elsewhere:
    factory = provider_factory(name, offered("memory_providers"))
    options: dict[str, Any] = {"policy": policy}  # what each of them takes besides
    if name == "http":
        options |= {"url": at.http_url, "key": at.http_key}
    elif name == "redis":
        options |= {"url": at.redis_url, "space": str(team_id)}
    else:
        options |= {"space": str(team_id)}
    try:
        return Elsewhere(name, factory(**options))
    except (MemoryFault, TypeError) as wrong:
        raise ImproperlyConfigured(f"The memory provider {name}: {wrong}") from wrong


def _wait(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run_coroutine_threadsafe(work, _loop()).result()


@dataclass
class _Running:
    pid: int = 0
    loop: asyncio.AbstractEventLoop | None = None


_RUNNING = _Running()
_STARTING = threading.Lock()


def _loop() -> asyncio.AbstractEventLoop:
    """One for all of a process, in a thread of its own: connections belong to the loop they were made in."""
    with _STARTING:
        if _RUNNING.loop is None or _RUNNING.pid != os.getpid():
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="memory-places", daemon=True).start()
            _RUNNING.pid, _RUNNING.loop = os.getpid(), loop
        return _RUNNING.loop
