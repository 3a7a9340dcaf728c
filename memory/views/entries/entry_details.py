"""The details of an entry: its author, its recalls, its revisions and its links."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.principals import Principal
from memory import selectors
from memory.core.identifiers import is_uuid
from memory.core.recall.selection import NO_VECTOR
from memory.core.records import Json, Tier
from memory.logic.entries.duplicates import count_evidence
from memory.logic.entries.tiers import TRANSITIONS, TierAction
from memory.logic.judgement.asked_facts import TOPIC_PART
from memory.logic.knowledge.pages import PAGE_CATEGORY, build_page_key
from memory.logic.profile import ALWAYS_PART
from memory.logic.text_diff import diff_values
from memory.models import Entry, Read, Revision
from memory.provenance import load_provenance
from memory.providers.postgres.rows import build_entry
from memory.services.entries.linked_entries import (
    list_linked_entries,
    list_revisions_before,
    list_superseding_entries,
)
from memory.views.entries.revisions import (
    REVISIONS_PER_PAGE,
    Origin,
    RevisionRow,
    TextChange,
    build_origin,
    build_revision_rows,
    find_older_number,
)


SCORE_LABELS: Final[Mapping[str, Promise]] = {
    "words": _("words"),
    "context": _("context"),
    "literal": _("exact match"),
    "neighbours": _("neighbors"),
    "vector": _("meaning"),
    NO_VECTOR: _("meaning not scored: the embedder did not answer"),
    "recency": _("recency"),
    "rank_neighbours": _("order: neighbors"),
    "rank_recency": _("order: recency"),
    "title": _("title"),
    "summary": _("summary"),
    "tags": _("tags"),
    "content": _("content"),
    "bm25": _("full text"),
}

# The parts of a score with their labels.
ScoreParts = tuple[tuple[str | Promise, float], ...]


@dataclass(frozen=True, slots=True)
class ReadRow:
    row: Read
    origin: Origin

    @property
    def percent(self) -> int:
        return round((self.row.score or 0) * 100)

    @property
    def is_always(self) -> bool:
        """Return whether the entry was recalled as a part of the profile."""
        return ALWAYS_PART in self.row.explain

    @property
    def is_on_topic(self) -> bool:
        """Return whether the entry was recalled because a question asked for what it is about."""
        return TOPIC_PART in self.row.explain

    @property
    def parts(self) -> ScoreParts:
        return label_score_parts(self.row.explain)


@dataclass(frozen=True, slots=True)
class EntryLink:
    """A link; ``entry`` is None if the linked entry no longer exists."""

    label: str | Promise
    name: str
    entry: Entry | None


@dataclass(frozen=True, slots=True)
class TierMove:
    action: TierAction
    target_tier: Tier
    label: str | Promise
    hint: str | Promise
    is_main: bool = False


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


@dataclass(frozen=True, slots=True)
class EntryDetails:
    origin: Origin
    rule: str
    revisions: tuple[RevisionRow, ...]
    older: int | None  # the lowest revision number shown, if there are older ones
    reads: tuple[ReadRow, ...]
    links: tuple[EntryLink, ...]
    successions: tuple[
        tuple[Promise, Entry], ...
    ]  # the entries before and after this one, with labels
    moves: tuple[TierMove, ...]
    evidence_count: int


def build_details(principal: Principal, entry: Entry, before: int | None = None) -> EntryDetails:
    """Build the details of an entry, with the newest revisions, or the newest with a number below ``before``."""
    revisions = list_revisions_before(entry, before, REVISIONS_PER_PAGE)
    reads = selectors.list_reads(entry)
    provenance = load_provenance(
        principal,
        [entry.source_actor, entry.source_rule, *(row.actor for row in revisions)],
        [entry.source_run, *(row.run_id for row in revisions), *(row.run_id for row in reads)],
    )
    return EntryDetails(
        build_origin(provenance, entry.source_actor, entry.source_run, entry.source_node),
        provenance.actors.get(entry.source_rule, ""),
        build_revision_rows(provenance, revisions, _diff_revisions),
        find_older_number(revisions),
        tuple(ReadRow(row, build_origin(provenance, "", row.run_id, row.node_id)) for row in reads),
        tuple(_list_links(entry)),
        tuple(_list_successions(principal, entry)),
        () if entry.is_forgotten else list_moves(entry),
        count_evidence(build_entry(entry, entry.namespace.text)),
    )


def label_score_parts(parts: Mapping[str, float]) -> ScoreParts:
    """Return the parts of a score that people read, with their labels: the positive ones, and a missing vector."""
    return tuple(
        (SCORE_LABELS[name], part)
        for name, part in parts.items()
        if name in SCORE_LABELS and (part > 0 or name == NO_VECTOR)
    )


def list_moves(entry: Entry) -> tuple[TierMove, ...]:
    """Return the moves that the entry's tier allows, except rejecting an entry that is rejected already."""
    is_rejected = entry.metadata.get("review") == TierAction.REJECT
    return tuple(
        move
        for move in _TIER_MOVES
        if move.target_tier in TRANSITIONS.get((Tier(entry.tier), move.action), ())
        and not (is_rejected and move.action is TierAction.REJECT)
    )


def is_page_row(entry: Entry) -> bool:
    return entry.category == PAGE_CATEGORY and entry.key.startswith(build_page_key(""))


def _diff_revisions(before: Revision, after: Revision) -> Iterable[TextChange]:
    if before.value != after.value:
        yield "", diff_values(before.value, after.value)


def _list_links(entry: Entry) -> Iterable[EntryLink]:
    """Yield the links in both directions: from its metadata, and from the metadata of others."""
    links = list(_list_linked_names(entry))
    if links:
        keys, ids = [key for _, key, _ in links], [id_ for *_, id_ in links if id_]
        entries = list_linked_entries(entry, keys, ids)
        by_id = {str(linked.pk): linked for linked in entries}
        by_key = {linked.key: linked for linked in reversed(entries)}
        for label, key, id_ in links:
            yield EntryLink(label, key, by_id.get(id_) or by_key.get(key))
    for other in list_superseding_entries(entry):
        supersedes = other.metadata.get("supersedes") == entry.key
        yield EntryLink(_("Replaced by") if supersedes else _("Merged into"), other.key, other)


def _list_successions(principal: Principal, entry: Entry) -> Iterable[tuple[Promise, Entry]]:
    """Yield the entry whose place this one took, and the one that took its place, if the principal may see them."""
    replaced = pgettext_lazy("a memory", "Replaced")
    names = ((replaced, entry.replaces), (_("Replaced by"), entry.replaced_by))
    ids = [UUID(name) for _label, name in names if is_uuid(name)]
    entries = selectors.find_entries(principal, entry.team_id, ids) if ids else {}
    for label, name in names:
        if name in entries:
            yield label, entries[name]


def _list_linked_names(entry: Entry) -> Iterable[tuple[Promise, str, str]]:
    """Yield label, key and, if known, id of each entry that the metadata names."""
    metadata = entry.metadata
    if isinstance(replaced := metadata.get("supersedes"), str):
        yield _("Replaces"), replaced, ""
    for item in _to_list(metadata.get("merged_from")):
        if isinstance(item, dict) and isinstance(item.get("key"), str):
            yield _("Merged from"), item["key"], str(item.get("id", ""))
    for item in _to_list(metadata.get("related")):
        if isinstance(item, str):
            yield _("Related"), item, ""


def _to_list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
