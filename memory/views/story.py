"""What the page of one memory tells: who wrote it, whom it reached, what changed, what it is linked with."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.utils import formats, timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.principals import Principal
from memory import selectors
from memory.core.records import Json, Tier
from memory.logic.near import proofs
from memory.logic.pages import CATEGORY
from memory.logic.pages import key_of as page_key
from memory.logic.tiers import MOVES, Move
from memory.models import Entry, Read, Revision
from memory.models.entries import TierChoice
from memory.provenance import Backers, RunTold, backers
from memory.providers.postgres.rows import entry_of
from memory.services.linked import named_beside, revisions_before, superseding
from memory.views.differences import Piece, pieces_between


@dataclass(frozen=True, slots=True)
class Origin:
    """Who or what; ``run`` is none where there was none, or where the reader may not see it."""

    actor: str
    run: RunTold | None
    run_id: str
    node: str


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
class RevisionTold:
    """``pieces``: the value against the one before; ``fields``: what else changed, before and after."""

    row: Revision
    origin: Origin
    is_first: bool
    pieces: tuple[Piece, ...]
    fields: tuple[tuple[str | Promise, str, str], ...]


@dataclass(frozen=True, slots=True)
class LinkTold:
    """``entry`` is none where what was named is not there any more."""

    label: str | Promise
    name: str
    entry: Entry | None


@dataclass(frozen=True, slots=True)
class TierMove:
    move: Move
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
    revisions = revisions_before(entry, before, REVISIONS_A_PAGE)
    reads = selectors.reads_of(entry)
    told = backers(
        principal,
        [entry.source_actor, entry.source_rule, *(one.actor for one in revisions)],
        [entry.source_run, *(one.run_id for one in revisions), *(one.run_id for one in reads)],
    )
    return Story(
        origin_of(told, entry.source_actor, entry.source_run, entry.source_node),
        told.actors.get(entry.source_rule, ""),
        tuple(_revisions(told, revisions)),
        older_than(revisions),
        tuple(_read(told, one) for one in reads),
        tuple(_links(entry)),
        () if entry.is_forgotten else moves_of(entry),
        proofs(entry_of(entry, entry.namespace.text)),
    )


def moves_of(entry: Entry) -> tuple[TierMove, ...]:
    """Where it may go from its tier; what was rejected already isn't rejected again."""
    tier = Tier(entry.tier)
    rejected = entry.metadata.get("review") == Move.REJECT
    return tuple(
        one
        for one in _TIER_MOVES
        if one.to in MOVES.get((tier, one.move), ()) and not (rejected and one.move is Move.REJECT)
    )


REVISIONS_A_PAGE: Final = 25
PARTS: Final[Mapping[str, Promise]] = {
    "words": _("words"),
    "context": _("with what came before"),
    "literal": _("literally"),
    "neighbours": _("from what stands beside it"),
    "vector": _("by meaning"),
    "recency": _("newer"),
    "title": _("title"),
    "summary": _("summary"),
    "tags": _("tags"),
    "content": _("content"),
    "bm25": _("full text"),
}

_TIER_MOVES = (
    TierMove(
        Move.APPROVE,
        Tier.LONG_TERM,
        _("Approve for good"),
        _("Workflows may recall it from now on."),
        is_main=True,
    ),
    TierMove(
        Move.APPROVE,
        Tier.WORKING,
        _("Approve for a day"),
        _("Into working memory: gone tomorrow unless it proves useful."),
    ),
    TierMove(
        Move.REJECT,
        Tier.QUARANTINE,
        _("Reject"),
        _("Stays in quarantine, so that it isn't proposed again."),
    ),
    TierMove(
        Move.PROMOTE,
        Tier.LONG_TERM,
        _("Keep for good"),
        _("Into long-term memory: it has no end any more."),
        is_main=True,
    ),
    TierMove(
        Move.QUARANTINE,
        Tier.QUARANTINE,
        _("Put into quarantine"),
        _("No workflow recalls it until somebody approves it."),
    ),
)

_FIELDS: Final[tuple[tuple[str, Promise], ...]] = (
    ("tier", _("Tier")),
    ("category", _("Category")),
    ("importance", _("Importance")),
    ("expires_at", _("Expires")),
)


def origin_of(told: Backers, actor: str, run_id: str, node_id: str) -> Origin:
    """A run that acts for itself is named once, as the run."""
    run = told.runs.get(run_id)
    itself = run is not None and actor == f"run:{run_id}"
    who = "" if itself else told.actors.get(actor, "")
    return Origin(who, run, run_id, told.node(run_id, node_id))


def _read(told: Backers, row: Read) -> ReadTold:
    parts = ((PARTS.get(name, name), float(part)) for name, part in row.explain.items())
    return ReadTold(
        origin_of(told, "", row.run_id, row.node_id),
        row.score,
        tuple((name, part) for name, part in parts if part > 0),
        row.injected,
        row.revision,
        row.at,
    )


def _revisions(told: Backers, rows: Sequence[Revision]) -> Iterable[RevisionTold]:
    """Newest first, each against the one that follows it here."""
    for row, before in with_the_one_before(rows):
        yield RevisionTold(
            row,
            origin_of(told, row.actor, row.run_id, row.node_id),
            before is None,
            _pieces(row.value, before),
            tuple(_fields(row, before)) if before else (),
        )


def with_the_one_before(
    rows: Sequence[Revision],
) -> Iterable[tuple[Revision, Revision | None]]:
    """As many as a page shows."""
    return list(zip(rows, [*rows[1:], None], strict=True))[:REVISIONS_A_PAGE]


def older_than(rows: Sequence[Revision]) -> int | None:
    return rows[REVISIONS_A_PAGE - 1].number if len(rows) > REVISIONS_A_PAGE else None


def number_asked(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 10 else None


def _pieces(value: Json, before: Revision | None) -> tuple[Piece, ...]:
    if before is None or before.value == value:
        return ()
    return pieces_between(before.value, value)


def _fields(row: Revision, before: Revision) -> Iterable[tuple[str | Promise, str, str]]:
    for name, label in _FIELDS:
        old, new = getattr(before, name), getattr(row, name)
        if old != new:
            yield label, _shown(old), _shown(new)
    if row.metadata != before.metadata:
        for name in sorted({*row.metadata, *before.metadata}):
            old, new = before.metadata.get(name), row.metadata.get(name)
            if old != new:
                yield name, _shown(old), _shown(new)


def _shown(value: Json) -> str:
    if value in TierChoice.values:
        return str(TierChoice(value).label)
    if isinstance(value, datetime):
        return formats.date_format(timezone.localtime(value), "DATETIME_FORMAT")
    return "–" if value is None else str(value)


def _links(entry: Entry) -> Iterable[LinkTold]:
    """Both ways: what its metadata names, and whose metadata name it."""
    named = list(_named(entry))
    if named:
        keys = [name for _label, name, _id in named]
        found = named_beside(entry, keys, [one for *_, one in named if one])
        by_id = {str(one.pk): one for one in found}
        by_key = {one.key: one for one in reversed(found)}
        for label, name, linked in named:
            yield LinkTold(label, name, by_id.get(linked) or by_key.get(name))
    for other in superseding(entry):
        label = _SUPERSEDED if other.metadata.get("supersedes") == entry.key else _MERGED_INTO
        yield LinkTold(label, other.key, other)


_SUPERSEDED = _("Superseded by")
_MERGED_INTO = _("Merged into")


def _named(entry: Entry) -> Iterable[tuple[Promise, str, str]]:
    """Label, key and, where it is known, id."""
    metadata = entry.metadata
    if isinstance(replaced := metadata.get("supersedes"), str):
        yield _("Supersedes"), replaced, ""
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
