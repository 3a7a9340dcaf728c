"""The records that every provider takes and returns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from memory.core.identifiers import normalize_key


# A value can be any JSON that the author stored.
Json = Any

# The categories of what runs learned from their tasks: what was done, how it turned out, and what went wrong.
LESSON_CATEGORIES: Final = frozenset({"execution", "result", "error"})


class Tier(StrEnum):
    QUARANTINE = "quarantine"  # never searched or injected until a member approves it
    WORKING = "working"  # short-lived
    LONG_TERM = "long_term"  # verified, permanent


class PromptUse(StrEnum):
    """An entry enters the prompts of models always, by its relevance, or never."""

    AUTO = "auto"  # nobody has chosen: what the entry is decides, see ``memory.logic.profile``
    ALWAYS = "always"  # in every profile of the person
    RELEVANT = "relevant"  # when a recall finds it
    NEVER = "never"  # kept and shown to people only


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
    """The part of an entry that its author sets.

    An entry holds from ``valid_from`` until before ``valid_until``, and without them always. ``replaces`` is the id of the
    entry whose place this one took, ``replaced_by`` of the one that took its place. ``prompt_use`` is what a person chose.
    """

    value: Json
    metadata: Mapping[str, Json] = field(default_factory=dict)
    tier: Tier = Tier.LONG_TERM
    category: str = "fact"
    importance: float = 0.5
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    replaces: str = ""
    replaced_by: str = ""
    prompt_use: PromptUse = PromptUse.AUTO


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryState(EntryContent):
    """The state of an entry after a change, as each revision stores it.

    ``position`` is the 1-based position in the entry's group (metadata ``group``), or 0 without a group.
    """

    position: int = 0
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class MemoryEntry(EntryState):
    """An entry. ``score``, the share of the query that it meets, is present only after a search.

    ``explain`` has the parts that add up to the score, and the rank (its place among the results) with its parts.
    """

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
class NotedEntry(MemoryEntry):
    """An entry with what a prompt says beside it: who said it, and what disagrees with it until a person decides."""

    speaker: str = ""
    disagrees_with: tuple[MemoryEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class StoreParams(EntryContent):
    """The parameters of a ``store`` call."""

    namespace: str
    key: str  # normalized, as every key that is read
    ttl_seconds: float | None = None
    source: Source = Source()

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", normalize_key(self.key))


@dataclass(frozen=True, slots=True)
class QueryEmbedding:
    """The embedding of a query: a vector of length 1 from the named embedder; empty if the embedder did not answer.

    ``floors`` are the embedder's least scores of what may enter a prompt, which ``memory.core.recall.floor`` explains.
    """

    embedder: str
    vector: tuple[float, ...] = ()
    unrelated_cosine: float = 0.0
    same_cosine: float = 1.0
    floors: tuple[float, float] | None = None


def get_cosine_range(meaning: QueryEmbedding | None) -> tuple[float, float]:
    """Return the cosines of unrelated texts and of texts with the same meaning."""
    return (meaning.unrelated_cosine, meaning.same_cosine) if meaning else (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class TopicFloors:
    """It has the least nearness in meaning, by what an entry is about, at which it may enter the prompt of a question.

    ``by_attribute`` is for facts about the person, ``others`` for all other entries. An entry without any of the ``words``,
    which are those of the question that say something, isn't found by its words alone.
    """

    by_attribute: Mapping[str, float]
    others: float
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class MemoryQuery:
    """A query for the entry under ``key``, for the entries that match ``query_text`` or, without both, for the newest.

    ``recency_days`` is the half-life by which newer entries weigh more. ``as_of`` returns the result that the query
    had at that moment. ``meaning`` adds similarity in meaning to the score. A search leaves out entries whose score is
    less than ``min_score``; entries that are found by key or as the newest have no score and are never left out.

    Without a key, only entries are returned that hold at the moment ``valid_at``, which is now or ``as_of`` if it isn't
    set. ``include_former`` returns all, whenever they hold. ``for_prompt`` leaves out entries that may enter no prompt.
    ``without_lessons`` leaves out lessons of tasks, unless a key or a filter on the category asks for them.

    ``by_topic`` says of a query without a text that a question asked for the facts with its filter.

    ``concern`` is the probability that the text concerns the person whose memory is searched. It sets a floor under what
    is found by meaning, unless there is a ``min_score``: see ``memory.core.recall.floor``. Without it there is none.
    ``topic_floors`` raises that floor for entries about what the text doesn't ask for.
    """

    namespace: str
    key: str | None = None
    query_text: str | None = None
    filter: Mapping[str, Json] | None = None
    top_k: int | None = None
    language: str = "english"  # of the stemmer for Latin words
    recency_days: float | None = None
    as_of: datetime | None = None
    meaning: QueryEmbedding | None = None
    min_score: float | None = None
    valid_at: datetime | None = None
    include_former: bool = False
    for_prompt: bool = False
    concern: float | None = None
    topic_floors: TopicFloors | None = None
    without_lessons: bool = False
    by_topic: bool = False

    def __post_init__(self) -> None:
        if self.key is not None:
            object.__setattr__(self, "key", normalize_key(self.key))

    @property
    def is_search(self) -> bool:
        return self.key is None and bool(self.query_text and self.query_text.strip())

    @property
    def leaves_out_lessons(self) -> bool:
        return self.without_lessons and self.key is None and not _names_category(self.filter)

    def find_moment(self, now: datetime) -> datetime | None:
        """Return the moment at which an entry has to hold to be a result, or None if it need not hold.

        ``now`` is ``as_of``, if that is set.
        """
        if self.include_former or self.key is not None:
            return None
        return self.valid_at or now


def _names_category(raw_filter: Json) -> bool:
    """Return whether a filter has a condition on the category."""
    if isinstance(raw_filter, list | tuple):
        return any(map(_names_category, raw_filter))
    if not isinstance(raw_filter, Mapping):
        return False
    parts = (part for name, part in raw_filter.items() if name in ("$and", "$or", "$not"))
    return "category" in raw_filter or any(map(_names_category, parts))
