"""What the page of one memory tells: who wrote it, whom it reached, what changed, what it is linked with."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.principals import Principal
from memory import selectors
from memory.core.recall.selection import NO_VECTOR
from memory.core.records import Json, Tier
from memory.logic.entries.duplicates import count_evidence
from memory.logic.entries.tiers import TRANSITIONS, TierAction
from memory.logic.knowledge.pages import CATEGORY
from memory.logic.knowledge.pages import build_page_key as page_key
from memory.logic.text_diff import diff_values
from memory.models import Entry, Read, Revision
from memory.provenance import Provenance, load_provenance
from memory.providers.postgres.rows import entry_of
from memory.services.entries.linked_entries import (
    list_linked,
    list_revisions_before,
    list_superseding,
)
from memory.views.entries.revisions import (
    REVISIONS_A_PAGE,
    Changed,
    Origin,
    RevisionTold,
    older_than,
    origin_of,
    revisions_told,
)


@dataclass(frozen=True, slots=True)
class ReadTold:
    origin: Origin
    score: float | None
    parts: tuple[tuple[str | Promise, float], ...]
    injected: bool
    revision: int
    at: datetime

    @property
    def percent(self) -> int:
        return round((self.score or 0) * 100)


@dataclass(frozen=True, slots=True)
class LinkTold:
    """``entry`` is none where what was named is not there any more."""

    label: str | Promise
    name: str
    entry: Entry | None


@dataclass(frozen=True, slots=True)
class TierMove:
    move: TierAction
    to: Tier
    label: str | Promise
    why: str | Promise
    is_main: bool = False


@dataclass(frozen=True, slots=True)
class Story:
    written: Origin
    rule: str
    revisions: tuple[RevisionTold, ...]
    older: int | None  # the number before which there are more
    reads: tuple[ReadTold, ...]
    links: tuple[LinkTold, ...]
    moves: tuple[TierMove, ...]
    proofs: int


def story(principal: Principal, entry: Entry, before: int | None = None) -> Story:
    """``before``: its past from that revision on, rather than from the newest."""
    revisions = list_revisions_before(entry, before, REVISIONS_A_PAGE)
    reads = selectors.list_reads(entry)
    told = load_provenance(
        principal,
        [entry.source_actor, entry.source_rule, *(one.actor for one in revisions)],
        [entry.source_run, *(one.run_id for one in revisions), *(one.run_id for one in reads)],
    )
    return Story(
        origin_of(told, entry.source_actor, entry.source_run, entry.source_node),
        told.actors.get(entry.source_rule, ""),
        revisions_told(told, revisions, _texts),
        older_than(revisions),
        tuple(_read(told, one) for one in reads),
        tuple(_links(entry)),
        () if entry.is_forgotten else moves_of(entry),
        count_evidence(entry_of(entry, entry.namespace.text)),
    )


def moves_of(entry: Entry) -> tuple[TierMove, ...]:
    """Where it may go from its tier; what was rejected already isn't rejected again."""
    tier = Tier(entry.tier)
    rejected = entry.metadata.get("review") == TierAction.REJECT
    return tuple(
        one
        for one in _TIER_MOVES
        if one.to in TRANSITIONS.get((tier, one.move), ())
        and not (rejected and one.move is TierAction.REJECT)
    )


PARTS: Final[Mapping[str, Promise]] = {
    "words": _("words"),
    "context": _("context"),
    "literal": _("exact match"),
    "neighbours": _("neighbors"),
    "vector": _("meaning"),
    NO_VECTOR: _("meaning not scored: the embedder did not answer"),
    "recency": _("recency"),
    "title": _("title"),
    "summary": _("summary"),
    "tags": _("tags"),
    "content": _("content"),
    "bm25": _("full text"),
}

TIER_HINTS: Final[Mapping[Tier, Promise]] = {
    Tier.QUARANTINE: _("Quarantined: not recalled until approved."),
    Tier.WORKING: _("In use. Expires after a day unless it proves useful."),
    Tier.LONG_TERM: _("In use. Does not expire."),
}

_TIER_MOVES = (
    TierMove(
        TierAction.APPROVE,
        Tier.LONG_TERM,
        _("Approve as long-term"),
        _("Workflows can recall it from now on."),
        is_main=True,
    ),
    TierMove(
        TierAction.APPROVE,
        Tier.WORKING,
        _("Approve for 1 day"),
        _("Moves to working memory and expires tomorrow unless it proves useful."),
    ),
    TierMove(
        TierAction.REJECT,
        Tier.QUARANTINE,
        _("Reject"),
        _("Stays in quarantine so that it isn't proposed again."),
    ),
    TierMove(
        TierAction.PROMOTE,
        Tier.LONG_TERM,
        _("Move to long-term"),
        _("Moves to long-term memory and no longer expires."),
        is_main=True,
    ),
    TierMove(
        TierAction.QUARANTINE,
        Tier.QUARANTINE,
        _("Move to quarantine"),
        _("Not recalled by any workflow until approved."),
    ),
)


def _read(told: Provenance, row: Read) -> ReadTold:
    parts = ((PARTS.get(name, name), float(part)) for name, part in row.explain.items())
    return ReadTold(
        origin_of(told, "", row.run_id, row.node_id),
        row.score,
        tuple((name, part) for name, part in parts if part > 0),
        row.injected,
        row.revision,
        row.at,
    )


def _texts(before: Revision, row: Revision) -> Iterable[Changed]:
    if before.value != row.value:
        yield "", diff_values(before.value, row.value)


def _links(entry: Entry) -> Iterable[LinkTold]:
    """Both ways: what its metadata names, and whose metadata name it."""
    named = list(_named(entry))
    if named:
        keys = [name for _label, name, _id in named]
        found = list_linked(entry, keys, [one for *_, one in named if one])
        by_id = {str(one.pk): one for one in found}
        by_key = {one.key: one for one in reversed(found)}
        for label, name, linked in named:
            yield LinkTold(label, name, by_id.get(linked) or by_key.get(name))
    for other in list_superseding(entry):
        label = _SUPERSEDED if other.metadata.get("supersedes") == entry.key else _MERGED_INTO
        yield LinkTold(label, other.key, other)


_SUPERSEDED = _("Replaced by")
_MERGED_INTO = _("Merged into")


def _named(entry: Entry) -> Iterable[tuple[Promise, str, str]]:
    """Label, key and, where it is known, id."""
    metadata = entry.metadata
    if isinstance(replaced := metadata.get("supersedes"), str):
        yield _("Replaces"), replaced, ""
    for one in _listed(metadata.get("merged_from")):
        if isinstance(one, dict) and isinstance(one.get("key"), str):
            yield _("Merged from"), one["key"], str(one.get("id", ""))
    for one in _listed(metadata.get("related")):
        if isinstance(one, str):
            yield _("Related"), one, ""


def _listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def is_page(entry: Entry) -> bool:
    return entry.category == CATEGORY and entry.key.startswith(page_key(""))
