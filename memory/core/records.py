"""The records that every provider takes and returns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


# A value can be any JSON that the author stored.
Json = Any


class Tier(StrEnum):
    QUARANTINE = "quarantine"  # never searched, never injected, until someone approves it
    WORKING = "working"  # short-lived
    LONG_TERM = "long_term"  # verified, permanent


@dataclass(frozen=True, slots=True)
class Source:
    """The origin of an entry: a person, a run, a message or a rule."""

    actor: str = ""
    run_id: str = ""
    node_id: str = ""
    message: str = ""
    rule: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryContent:
    """The part of an entry that its author decides."""

    value: Json
    metadata: Mapping[str, Json] = field(default_factory=dict)
    tier: Tier = Tier.LONG_TERM
    category: str = "fact"
    importance: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryState(EntryContent):
    """The state of an entry after a change, as each revision stores it.

    ``position`` is its position in its group (metadata ``group``), from 1; 0 without a group.
    """

    position: int = 0
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class MemoryEntry(EntryState):
    """An entry. ``score`` (0.0 to 1.0) is present only after a search; ``explain`` has the parts of the score."""

    id: str
    namespace: str
    key: str
    score: float | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    source: Source = Source()
    revision: int = 1
    explain: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoreParams(EntryContent):
    """The parameters of a store."""

    namespace: str
    key: str
    ttl_seconds: float | None = None
    source: Source = Source()


@dataclass(frozen=True, slots=True)
class Meaning:
    """The meaning of a question, as a vector of length 1 of the named embedder. An empty vector means that the embedder
    did not answer.
    """

    embedder: str
    vector: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryQuery:
    """A query: ``key`` returns exactly that entry, ``query_text`` searches, and without both it lists the newest.

    ``recency_days`` weighs newer entries more, with half the weight after that many days. ``as_of`` returns the
    answer at that moment. ``meaning`` includes similarity in meaning.
    """

    namespace: str
    key: str | None = None
    query_text: str | None = None
    filter: Mapping[str, Json] | None = None
    top_k: int | None = None
    language: str = "english"  # of the stemmer for Latin words
    recency_days: float | None = None
    as_of: datetime | None = None
    meaning: Meaning | None = None
