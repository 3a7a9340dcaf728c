"""The interface of a memory store. ``tests/spec/providers`` runs one suite against every implementation.

A store keeps entries by namespace and key and searches them. It is confined to one team: two teams have two stores,
or a store gets its team when it is created.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Protocol

from memory.core.errors import InvalidInput
from memory.core.filters import parse_filter
from memory.core.recall.tokens import LANGUAGES
from memory.core.records import MemoryEntry, MemoryQuery, StoreParams


MAX_TOP_K = 1_000
MAX_QUERY_LENGTH = 20_000
MAX_RECENCY_DAYS = 36_500

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


class NamespaceStore(Protocol):
    """The five operations on namespaces. They are plain calls, which may wait for a network or a database.

    - ``store`` creates or overwrites an entry, which the next recall in any process returns. A store under the same key
      keeps the entry's id, raises its revision by one and replaces tier, metadata, category and expiry as well. The
      earlier values stay readable in ``history``.
    - ``recall`` by ``key`` returns at most that entry. ``recall`` by ``query_text`` returns the matches, best first, each
      with a score in 0..1, the share of the query that it meets, and the parts that explain it. The order is that of the
      rank, which compares the matches. ``recall`` without both returns all entries, newest first, without scores.
      Ties are broken by id, newest id first. ``filter`` and ``min_score`` are applied before ``top_k``, and the floor of a
      query with a ``concern`` after it.
    - Entries that don't hold at the query's moment are left out before they are ranked, so that they change no score, unless
      the query has a key or ``include_former``. ``memory.core.recall.selection.answer`` does so, and leaves out entries that
      may enter no prompt if the query is ``for_prompt``, and lessons if it ``leaves_out_lessons``.
    - An entry whose metadata names a ``group`` gets the next position in the group and keeps it. The position of a
      deleted entry stays empty. See ``memory.core.recall.ranking``.
    - A query with ``as_of`` returns the answer that it had at that moment.
    - Quarantined entries are never recalled. From the instant of its ``expires_at`` on, an entry is gone, and a store
      under its key starts a new entry at revision 1.
    - ``delete`` returns whether there was an entry; ``clear_namespace`` returns how many there were.
    - Limits are exact: with space for one more entry, one of two concurrent writers succeeds.
    - An invalid value, key or filter is refused with an error of ``memory.core.errors``; a failing store behind
      the provider raises ``ProviderError``, and one that can't be reached may raise ``ProviderAway``: the step of a run
      then waits and calls again, until its time limit. The messages name the provider, and quote no driver.
    """

    @abstractmethod
    def store(self, params: StoreParams) -> MemoryEntry: ...

    @abstractmethod
    def recall(self, query: MemoryQuery) -> list[MemoryEntry]: ...

    @abstractmethod
    def delete(self, namespace: str, key: str) -> bool: ...

    @abstractmethod
    def clear_namespace(self, namespace: str) -> int: ...

    @abstractmethod
    def history(self, namespace: str, key: str) -> Sequence[MemoryEntry]:
        """Return every value of the current entry under a key, oldest first, the present value last."""
        ...


def check_query(query: MemoryQuery) -> None:
    """Raise InvalidInput for a query that no store can answer."""
    if query.filter is not None:
        parse_filter(query.filter)  # an invalid filter is refused even if there are no entries
    if query.top_k is not None and not 0 <= query.top_k <= MAX_TOP_K:
        raise InvalidInput(f"top_k: must be a number from 0 to {MAX_TOP_K}.")
    if query.query_text is not None and len(query.query_text) > MAX_QUERY_LENGTH:
        raise InvalidInput(f"query_text: at most {MAX_QUERY_LENGTH} characters.")
    check_min_score(query.min_score)
    if query.concern is not None and not 0 <= query.concern <= 1:
        raise InvalidInput("concern: must be a number from 0 to 1.")
    if query.language not in LANGUAGES:
        names = ", ".join(sorted(LANGUAGES))
        raise InvalidInput(f"language: unknown language {query.language!r}; use one of: {names}.")
    if query.recency_days is not None and not 0 < query.recency_days <= MAX_RECENCY_DAYS:
        raise InvalidInput(f"recency_days: must be more than 0 and at most {MAX_RECENCY_DAYS}.")
    if query.as_of is not None and query.as_of.tzinfo is None:
        raise InvalidInput("as_of: must be a date and time with a time zone.")
    if query.valid_at is not None and query.valid_at.tzinfo is None:
        raise InvalidInput("valid_at: must be a date and time with a time zone.")


def check_min_score(min_score: float | None) -> None:
    if min_score is not None and not 0 <= min_score <= 1:
        raise InvalidInput("min_score: must be a number from 0 to 1.")
