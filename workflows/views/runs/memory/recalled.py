"""A memory that a run recalled or wrote, as the pages show it: its scope, its score and the reasons."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.apps import apps
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from workflows.engine.language.document import Json
from workflows.engine.nodes.memory.entry_keys import is_built_key
from workflows.engine.runtime.events import MemoryRecalled
from workflows.models import RunEvent
from workflows.views.request_context import parse_id_or_none


# Reported by memory.core.recall.selection; it adds nothing to the score.
NO_VECTOR: Final = "no_vector"
# Reported by memory.logic.profile instead of a score.
ALWAYS: Final = "always"
# Reported by memory.services.recall.prompt_notes instead of a score.
DISAGREES: Final = "disagrees"
# Reported by memory.logic.judgement.asked_facts; a hit may have a score besides.
TOPIC: Final = "topic"
# The parts of a score by their names in memory.core.recall, and of the order what no part of the score says. Runs from
# before scores were absolute have recorded neighbours and recency as parts of the score.
SCORE_PARTS: Final[Mapping[str, Promise]] = {
    "words": _("Words"),
    "context": _("With context"),
    "literal": _("Exact match"),
    "neighbours": _("Neighbors"),
    "vector": _("Meaning"),
    "recency": _("Recency"),
    "rank_neighbours": _("Order: neighbors"),
    "rank_recency": _("Order: recency"),
    NO_VECTOR: _("Not searched by meaning: the embedding model did not respond"),
}
# Why a memory was recalled that doesn't match the query, in the same words on every page.
IN_PROFILE: Final = _("Always: in the profile")
DISAGREEING: Final = _("Disagrees")
BY_TOPIC: Final = _("By topic")
RECENT: Final = _("Recent")
SCOPE_LABELS: Final[Mapping[str, Promise]] = {
    "conversation": _("Conversation"),
    "user": _("User"),
    "global": _("Global"),
    "workflow": _("Workflow"),
    "run": _("Run"),
}
# A weaker match says nothing about the query: the entry is there because it is one of the few recent ones.
MIN_SHOWN_PERCENT: Final = 8
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{8}([0-9a-f]{4})", re.I)


@dataclass(frozen=True, slots=True)
class SourceRun:
    """The run in which an entry was learned, with its query."""

    run_id: UUID
    query: str


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """A memory that was recalled or written; ``name`` and ``scope_label`` show its key and namespace to people."""

    node: str
    title: str
    key: str
    value: str
    namespace: str
    scope_label: str | Promise
    url: str
    score: float | None = None
    parts: tuple[tuple[str | Promise, float], ...] = ()
    is_always: bool = False  # in the profile, whatever the query is
    is_disputed: bool = False  # it disagrees with one that was recalled
    is_on_topic: bool = False  # it is about what the query asks for, whatever its words are
    reason: str | Promise = ""  # why it was recalled, unless it matches the query
    valid_until: datetime | None = None
    is_newest: bool = False  # recalled as one of the newest, without a query
    missed_query: str = ""  # the query of another node that did not match this entry
    injected: bool = False
    source_run: SourceRun | None = None
    stated_in: str = ""  # the message of the run that wrote it
    private_to: str = ""  # the external user to whom it belongs, if another person reads it

    @property
    def percent(self) -> int:
        return round((self.score or 0) * 100)

    @property
    def name(self) -> str:
        return name_key(self.key)


def build_memory_row(
    entry: Mapping[str, Json],
    event: RunEvent,
    *,
    value: str,
    titles: Mapping[str, str],
    source_run: SourceRun | None = None,
    missed_query: str = "",
    is_in_prompt: bool = False,
) -> MemoryRow:
    data = event.data
    is_only_recent = bool(missed_query) or is_recent(entry, event)
    node, scope = str(data.get("node", "")), str(data.get("scope", ""))
    score = entry.get("score")
    return MemoryRow(
        node=node,
        title=titles.get(node) or node,
        key=str(entry.get("key", "")),
        value=value,
        namespace=str(data.get("namespace", "")),
        scope_label=SCOPE_LABELS.get(scope, scope),
        url=build_entry_url(str(entry.get("id", ""))),
        score=score,
        parts=tuple(list_score_parts(entry.get("parts") or {})),
        is_always=is_always(entry),
        is_disputed=is_disputed(entry),
        is_on_topic=is_on_topic(entry),
        reason=find_reason(entry, is_recent=is_only_recent),
        valid_until=read_valid_until(entry),
        is_newest=is_recency_match(entry, event),
        missed_query=missed_query,
        injected=is_in_prompt or bool(data.get("injected")),
        source_run=source_run,
    )


def name_key(key: str) -> str:
    """Return the key that somebody chose, with its ids shortened to four characters; nothing for one made from the value."""
    return "" if is_built_key(key) else _ID.sub(r"…\1", key)


def find_reason(entry: Mapping[str, Json], *, is_recent: bool) -> str | Promise:
    """Return why the entry was recalled, or an empty text if it was because it matches the query."""
    is_only_on_topic = is_on_topic(entry) and is_weak(entry.get("score"))
    reasons = (
        (is_always(entry), IN_PROFILE),
        (is_disputed(entry), DISAGREEING),
        (is_only_on_topic, BY_TOPIC),
        (is_recent, RECENT),
    )
    return next((label for applies, label in reasons if applies), "")


def list_profile_ids(events: Iterable[RunEvent]) -> frozenset[str]:
    """Return the ids of the entries that these events recalled as parts of the profile."""
    recalled = (e for event in events for e in event.data.get("entries") or () if is_always(e))
    return frozenset(str(entry["id"]) for entry in recalled if entry.get("id"))


def set_reason(entry: Mapping[str, Json], profile_ids: Collection[str]) -> Mapping[str, Json]:
    """Return the entry as a part of the profile if it is one: how well it matches a query says nothing about it."""
    if str(entry.get("id")) not in profile_ids:
        return entry
    return {**entry, "score": None, "parts": {ALWAYS: 1.0}}


def is_always(entry: Mapping[str, Json]) -> bool:
    """Return whether the entry was recalled as a part of the profile."""
    return ALWAYS in (entry.get("parts") or {})


def is_disputed(entry: Mapping[str, Json]) -> bool:
    """Return whether the entry was recalled because another one disagrees with it."""
    return DISAGREES in (entry.get("parts") or {})


def is_on_topic(entry: Mapping[str, Json]) -> bool:
    """Return whether the entry was recalled because the query asks for what it is about."""
    return TOPIC in (entry.get("parts") or {})


def read_valid_until(entry: Mapping[str, Json]) -> datetime | None:
    """Return the moment until which a recalled entry holds or held, if it has one."""
    text = entry.get("valid_until")
    return datetime.fromisoformat(text) if text else None


def is_recency_match(entry: Mapping[str, Json], event: RunEvent) -> bool:
    """Return whether the entry was recalled as one of the newest, without a query."""
    is_unscored = event.name == MemoryRecalled.name and entry.get("score") is None
    return is_unscored and not _has_reason(entry) and not event.data.get("query")


def is_recent(entry: Mapping[str, Json], event: RunEvent) -> bool:
    """Return whether a recalled entry matches the query so little that its score is not shown."""
    if event.name != MemoryRecalled.name or (event.data.get("sought") or {}).get("key"):
        return False
    if _has_reason(entry):
        return False
    return is_weak(entry.get("score"))


def _has_reason(entry: Mapping[str, Json]) -> bool:
    """Return whether the entry was recalled for another reason than its words, meaning or age."""
    return is_always(entry) or is_disputed(entry) or is_on_topic(entry)


def is_weak(score: float | None) -> bool:
    """Return whether a recalled entry has no score, or one that says nothing about the query."""
    return score is None or round(score * 100) < MIN_SHOWN_PERCENT


def find_missed_query(
    entry: Mapping[str, Json], event: RunEvent, events: Iterable[RunEvent]
) -> str:
    """Return a query that searched the same memory below its limit and didn't find this entry, or an empty text."""
    if not is_recency_match(entry, event) or not entry.get("id"):
        return ""
    for other in events:
        search, entries = other.data.get("sought") or {}, other.data.get("entries", [])
        is_same_search = (
            not search.get("key")
            and not search.get("min_score")  # it may have met a little of the query
            and other.data.get("scope") == event.data.get("scope")
            and search.get("filter") == (event.data.get("sought") or {}).get("filter")
        )
        has_room = other.data.get("query") and len(entries) < (search.get("top_k") or 0)
        if is_same_search and has_room and all(hit.get("id") != entry["id"] for hit in entries):
            return str(other.data["query"])
    return ""


def build_entry_url(entry_id: str) -> str:
    """Return the entry's page, or an empty text for an entry of an external provider."""
    has_page = apps.is_installed("memory") and parse_id_or_none(entry_id)
    return reverse("memory:entry", args=[entry_id]) if has_page else ""


def list_score_parts(parts: Mapping[str, Json]) -> list[tuple[str | Promise, float]]:
    """Return the parts that people read, with their labels: the positive ones, and the note that there was no vector."""
    return [
        (SCORE_PARTS[name], float(part))
        for name, part in parts.items()
        if name in SCORE_PARTS and (float(part) > 0 or name == NO_VECTOR)
    ]
