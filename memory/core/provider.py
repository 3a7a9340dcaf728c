"""What a memory provider promises. ``tests/spec/providers`` holds every provider to it.

A provider keeps entries by (namespace, key) and finds them again. It works inside one team's
walls: two teams have two providers, or one that was given its team when it was made.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from memory.core.errors import InvalidInput
from memory.core.filters import parse_filter
from memory.core.records import MemoryEntry, MemoryQuery, StoreParams
from memory.core.scoped import ScopedMemory, port_over
from memory.core.tokens import LANGUAGES


Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


class MemoryProvider(ABC):
    """The contract, for whoever writes the next one.

    - ``store`` creates or overwrites; the same namespace and key is the same entry (same id) with
      its revision one higher, and the old value stays readable in ``history``. Tier, metadata,
      category and expiry are those of the last store. It is visible to the next recall, anywhere.
    - ``recall`` by ``key`` gives that entry or nothing. By ``query_text`` it gives what matches,
      best first, each with a score in 0..1 and the parts that add up to it. By neither it gives all,
      newest first. Ties are broken by id, newest id first. ``filter`` is applied before ``top_k``.
    - An entry whose metadata names a ``group`` gets a place in it, after everybody who ever had one;
      it keeps it, and leaves it empty when it goes. See ``memory.core.ranking``.
    - ``as_of`` answers as the very same query would have been answered at that moment.
    - Quarantined entries are never recalled, in no mode. An entry is gone at the very instant of
      its ``expires_at``; a store to its key then starts a new entry at revision 1.
    - ``delete`` says whether there was anything; ``clear_namespace`` says how much.
    - Limits are exact: with room for one more, one of two concurrent writers gets it.
    - A value, a key or a filter that makes no sense is refused with an error of the family in
      ``memory.core.errors``; a failing store behind the provider raises ``ProviderError``.
    """

    @abstractmethod
    async def store(self, params: StoreParams) -> MemoryEntry: ...

    @abstractmethod
    async def recall(self, query: MemoryQuery) -> list[MemoryEntry]: ...

    @abstractmethod
    async def delete(self, namespace: str, key: str) -> bool: ...

    @abstractmethod
    async def clear_namespace(self, namespace: str) -> int: ...

    @abstractmethod
    async def history(self, namespace: str, key: str) -> Sequence[MemoryEntry]:
        """Every value of the living entry, oldest first, the present one last."""

    def port(self) -> ScopedMemory:
        """The same memory as a workflow's nodes see it: scope words instead of namespaces."""
        return port_over(self)


def check_query(query: MemoryQuery) -> None:
    parse_filter(query.filter)  # nonsense is refused even where there is nothing to filter
    if query.top_k is not None and not 0 <= query.top_k <= MAX_TOP_K:
        raise InvalidInput(f"top_k: a number from 0 to {MAX_TOP_K} was expected.")
    if query.query_text is not None and len(query.query_text) > MAX_QUERY_LENGTH:
        raise InvalidInput(f"query_text: at most {MAX_QUERY_LENGTH} characters.")
    if query.language not in LANGUAGES:
        known = ", ".join(sorted(LANGUAGES))
        raise InvalidInput(f"language: {query.language!r} is not known; one of: {known}.")
    if query.recency_days is not None and not 0 < query.recency_days <= MAX_RECENCY_DAYS:
        raise InvalidInput(f"recency_days: from more than 0 to {MAX_RECENCY_DAYS} days.")
    if query.as_of is not None and query.as_of.tzinfo is None:
        raise InvalidInput("as_of: a moment with its time zone was expected.")


MAX_TOP_K = 1_000
MAX_QUERY_LENGTH = 20_000
MAX_RECENCY_DAYS = 36_500
