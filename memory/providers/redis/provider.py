"""The provider: each verb is one script, so that it happens whole or not at all, whoever else writes."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from config.ids import uuid7
from memory.core.errors import InvalidInput, ProviderError
from memory.core.filters import document_of, matches, parse_filter
from memory.core.policy import (
    NO_LIMITS,
    MemorySecurityPolicy,
    check_namespace,
    check_room,
    check_value,
)
from memory.core.provider import Clock, check_query
from memory.core.recall.selection import answer, is_visible
from memory.core.records import MemoryEntry, MemoryQuery, StoreParams
from memory.core.scopes import parse_namespace
from memory.core.values import check_params
from memory.providers.base import MemoryProvider
from memory.providers.redis.connection import Connection
from memory.providers.redis.rows import (
    TICK,
    body_of,
    entry_of,
    group_field,
    moment_of,
    states_at,
    ticks,
)


SCHEMES = ("redis://", "rediss://", "unix://")
PREFIX = "mnemoflow:memory"
PAST_KEPT = timedelta(days=3)
TIMEOUT = 5.0
PARTS = ("rows", "ends", "log", "places", "bytes")
NO_LIMIT = -1


class RedisProvider(MemoryProvider):
    """``space`` is whose memory it is, a team's id: two spaces never meet.

    Without a ``clock`` the server's own tells the time, the same for every worker. Ranking is done
    here, over the namespace's rows: meant for what is hot and not endless. Where no entry stays for
    good, the namespace's past is kept for ``past_kept`` after its last entry ended.
    """

    def __init__(
        self,
        url: str,
        *,
        space: str = "default",
        clock: Clock | None = None,
        policy: MemorySecurityPolicy = NO_LIMITS,
        past_kept: timedelta = PAST_KEPT,
        timeout: float = TIMEOUT,
    ) -> None:
        if not url.startswith(SCHEMES):
            raise InvalidInput(f"url: must be an address that starts with {', '.join(SCHEMES)}.")
        if not space or set("{}") & set(space):
            raise InvalidInput("space: must be a name without braces.")
        self._space = space
        self._clock = clock
        self._policy = policy
        self._past_kept = past_kept
        self._connection = Connection(url, timeout=timeout)

    def store(self, params: StoreParams) -> MemoryEntry:
        check_params(params)
        parse_namespace(params.namespace)
        check_namespace(self._policy, params.namespace)
        size = check_value(self._policy, params.value)
        life = params.ttl_seconds and timedelta(seconds=params.ttl_seconds) // TICK
        answer = self._call(
            "store",
            params.namespace,
            self._now(),
            self._keep(),
            params.key,
            body_of(params),
            size,
            life or "",
            _limit(self._policy.max_entries_per_namespace),
            _limit(self._policy.max_namespace_bytes),
            str(uuid7()),
            group_field(params),
        )
        if answer[0] == "full":
            check_room(self._policy, params.namespace, entries=int(answer[1]), size=int(answer[2]))
            raise ProviderError("The provider refused an entry that the policy allows.")
        return entry_of(params.namespace, answer[1])

    def recall(self, query: MemoryQuery) -> list[MemoryEntry]:
        check_query(query)
        check_namespace(self._policy, query.namespace)
        filter_ = parse_filter(query.filter)
        if query.key == "":
            return []  # no entry has that key
        past = query.as_of
        server_time, rows = self._call(
            "recall", query.namespace, self._now(), query.key or "", "past" if past else ""
        )
        now = past or moment_of(server_time)
        if past is not None:
            rows = states_at(rows, past)
        candidates = [
            entry
            for entry in (entry_of(query.namespace, row) for row in rows)
            if is_visible(entry, now)
            and (query.key is None or entry.key == query.key)
            and matches(filter_, document_of(entry))
        ]
        return answer(query, candidates, now)

    def delete(self, namespace: str, key: str) -> bool:
        check_namespace(self._policy, namespace)
        if not key:
            return False  # to the script that would mean every key
        return bool(self._call("delete", namespace, self._now(), self._keep(), key))

    def clear_namespace(self, namespace: str) -> int:
        check_namespace(self._policy, namespace)
        return int(self._call("delete", namespace, self._now(), self._keep(), ""))

    def history(self, namespace: str, key: str) -> Sequence[MemoryEntry]:
        check_namespace(self._policy, namespace)
        rows = self._call("history", namespace, self._now(), key)
        return [entry_of(namespace, row) for row in rows]

    def close(self) -> None:
        """Close the connections of this process; the next call makes new ones."""
        self._connection.close()

    def _call(self, script: str, namespace: str, *args: str | int) -> Any:  # as the script answers
        tag = f"{PREFIX}:{{{self._space}:{namespace}}}"
        return self._connection.call(script, [f"{tag}:{part}" for part in PARTS], args)

    def _now(self) -> str:
        return str(ticks(self._clock())) if self._clock else ""

    def _keep(self) -> str:
        """With a clock of our own the server doesn't know when anything is over."""
        return "" if self._clock else str(self._past_kept // TICK)


def _limit(most: int | None) -> int:
    return NO_LIMIT if most is None else most
