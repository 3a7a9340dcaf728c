"""The Redis provider. Each operation is one script, so that it is atomic."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from config.ids import uuid7
from memory.core.errors import InvalidInput, ProviderError
from memory.core.filters import build_filter_document, matches, parse_filter
from memory.core.identifiers import normalize_key
from memory.core.policy import (
    NO_LIMITS,
    MemorySecurityPolicy,
    check_entry,
    check_namespace,
    check_room,
)
from memory.core.provider import Clock, check_query
from memory.core.recall.selection import answer, is_visible
from memory.core.records import MemoryEntry, MemoryQuery, StoreParams
from memory.core.scopes import check_namespace_text
from memory.providers.base import MemoryProvider, Usage
from memory.providers.redis.connection import Connection
from memory.providers.redis.rows import (
    TICK,
    encode_body,
    encode_group,
    find_rows_at,
    from_ticks,
    parse_entry,
    to_ticks,
)


SCHEMES = ("redis://", "rediss://", "unix://")
PREFIX = "mnemoflow:memory"
DEFAULT_PAST_KEPT = timedelta(days=3)
TIMEOUT = 5.0
KEY_SUFFIXES = ("rows", "ends", "log", "places", "bytes")
NO_LIMIT = -1


class RedisProvider(MemoryProvider):
    """A provider for small namespaces in frequent use, since this process ranks all rows of a namespace.

    ``space`` is the owner of the memory, such as a team's id; spaces are isolated from each other. Without a ``clock``,
    the server's clock gives the time, the same for every worker. If every entry of a namespace has an expiry, its
    history is kept for ``past_kept`` after the last expiry.
    """

    is_outside = False

    def __init__(
        self,
        url: str,
        *,
        space: str = "default",
        clock: Clock | None = None,
        policy: MemorySecurityPolicy = NO_LIMITS,
        past_kept: timedelta = DEFAULT_PAST_KEPT,
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
        check_namespace_text(params.namespace)
        size = check_entry(self._policy, params)
        ttl_ticks = params.ttl_seconds and timedelta(seconds=params.ttl_seconds) // TICK
        result = self._call(
            "store",
            params.namespace,
            self._get_time(),
            self._get_retention(),
            params.key,
            encode_body(params),
            size,
            ttl_ticks or "",
            _encode_limit(self._policy.max_entries_per_namespace),
            _encode_limit(self._policy.max_namespace_bytes),
            str(uuid7()),
            encode_group(params),
        )
        if result[0] == "full":
            check_room(self._policy, params.namespace, entries=int(result[1]), size=int(result[2]))
            raise ProviderError("The provider refused an entry that the policy allows.")
        return parse_entry(params.namespace, result[1])

    def recall(self, query: MemoryQuery) -> list[MemoryEntry]:
        check_query(query)
        check_namespace(self._policy, query.namespace)
        filter_ = parse_filter(query.filter)
        if query.key == "":
            return []  # no entry has that key
        arguments = (self._get_time(), query.key or "", "past" if query.as_of else "")
        server_time, rows = self._call("recall", query.namespace, *arguments)
        now = query.as_of or from_ticks(server_time)
        if query.as_of is not None:
            rows = find_rows_at(rows, query.as_of)
        candidates = [
            entry
            for entry in (parse_entry(query.namespace, row) for row in rows)
            if is_visible(entry, now)
            and (query.key is None or entry.key == query.key)
            and matches(filter_, build_filter_document(entry))
        ]
        return answer(query, candidates, now)

    def delete(self, namespace: str, key: str) -> bool:
        check_namespace(self._policy, namespace)
        key = normalize_key(key)
        if not key:
            return False  # an empty string would mean every key to the script
        return bool(self._call("delete", namespace, self._get_time(), self._get_retention(), key))

    def clear_namespace(self, namespace: str) -> int:
        check_namespace(self._policy, namespace)
        return int(self._call("delete", namespace, self._get_time(), self._get_retention(), ""))

    def history(self, namespace: str, key: str) -> Sequence[MemoryEntry]:
        check_namespace(self._policy, namespace)
        rows = self._call("history", namespace, self._get_time(), normalize_key(key))
        return [parse_entry(namespace, row) for row in rows]

    def measure(self, namespace: str) -> Usage:
        return Usage(*map(int, self._call("measure", namespace, self._get_time())))

    def close(self) -> None:
        """Close the connections of this process; the next call makes new ones."""
        self._connection.close()

    def _call(self, script: str, namespace: str, *args: str | int) -> Any:  # as the script answers
        prefix = f"{PREFIX}:{{{self._space}:{namespace}}}"
        keys = [f"{prefix}:{suffix}" for suffix in KEY_SUFFIXES]
        return self._connection.call(script, keys, args)

    def _get_time(self) -> str:
        """Return the time in ticks, or "" for the time of the server."""
        return str(to_ticks(self._clock())) if self._clock else ""

    def _get_retention(self) -> str:
        """Return the retention of the history, or "" for ever: with another clock, the server can't tell what expired."""
        return "" if self._clock else str(self._past_kept // TICK)


def _encode_limit(limit: int | None) -> int:
    return NO_LIMIT if limit is None else limit
