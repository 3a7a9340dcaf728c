"""Searching many namespaces with one question, as if all they hold lay in one.

Each namespace numbers its entries from nought; here they get a stretch of slots each, one behind the other, and the
same sums run over all of them, so that how rare a word is and how good a hit is mean the same wherever it was found.
Only namespaces with a word of the question are read; where there is little altogether, everything is.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import numpy as np
from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import QuerySet

from config.sql import read_queries
from memory.core.recall.literal_match import MAX_TEXTS_READ, Question, parse_question
from memory.core.recall.scoring import ScoreParts
from memory.core.recall.selection import MAX_EXCERPT_LENGTH
from memory.models import Entry, Namespace
from memory.providers.postgres.postings import BLOCK, REGISTER
from memory.providers.postgres.scoring import Block, Floats, Ints, final, read_register, score


QUERIES: Final = read_queries("memory/sql/queries/search_all.sql")

MOST_WAITING: Final = 1_000  # that are looked through


@dataclass(frozen=True, slots=True)
class Ranked:
    """A page of the hits, best first: each row with its score and what that is made of; ``total``: all there are."""

    hits: Sequence[tuple[Entry, float, ScoreParts]]
    total: int


NOTHING: Final = Ranked((), 0)


def ranked(
    places: QuerySet[Namespace],
    words: str,
    now: datetime,
    *,
    category: str = "",
    tier: str = "",
    limit: int,
    offset: int,
) -> Ranked:
    """The caller has checked the namespaces. Of equals the one numbered last comes first."""
    asked = parse_question(words, "english")
    found = _found(places, asked, now)
    if not found.firsts:
        return NOTHING
    only = found.passing(category, tier) if category or tier else None
    register = read_register(found.register, only=only, without=found.over)
    sums = score(asked, found.postings, register)
    literal = np.zeros(len(register.visible), dtype=bool)
    literal[_literal(found, asked, sums.readable)] = True
    slots = np.flatnonzero(register.visible & ((sums.total > 0) | literal))
    scores = final(sums, slots, literal[slots], None)
    page = _best(slots, scores)[offset : offset + limit]
    rows = found.rows([int(slots[at]) for at in page])
    hits = []
    for at in page:
        slot = int(slots[at])
        if slot in rows:  # or somebody has just forgotten it
            parts = sums.of(slot, literal=bool(literal[slot]), recency=None).explain(sums.by)
            hits.append((rows[slot], float(scores[at]), parts))
    return Ranked(hits, len(slots))


def waiting(
    places: QuerySet[Namespace], words: str, now: datetime, *, category: str = ""
) -> list[UUID]:
    """What waits in quarantine and has every word, newest first; of very many only the newest are looked through."""
    try:
        sql, of_places = places.order_by().values("id").query.sql_with_params()
    except EmptyResultSet:
        return []
    params = (*of_places, MAX_EXCERPT_LENGTH, now, category, category, MOST_WAITING, MOST_WAITING)
    wanted = words.casefold().split()
    return [
        entry_id
        for entry_id, text in _rows(QUERIES["quarantined"].format(namespaces=sql), *params)
        if all(word in text.casefold() for word in wanted)
    ]


def asked_of(
    places: QuerySet[Namespace], asked: Question, now: datetime
) -> tuple[str, tuple[Any, ...]]:
    """The question for postings and its parameters."""
    sql, of_places = places.order_by().values("id", "entry_count").query.sql_with_params()
    params = (*of_places, [*asked.terms], MAX_TEXTS_READ, REGISTER, now)
    return QUERIES["postings"].format(namespaces=sql), params


@dataclass(frozen=True, slots=True)
class _Found:
    """Everything in slots. ``firsts``: where each namespace's begin, in the order of their ids."""

    firsts: Mapping[UUID, int]
    register: Sequence[Block]
    postings: Mapping[str, Sequence[Block]]
    over: Sequence[int]

    def passing(self, category: str, tier: str) -> list[int]:
        rows = Entry.objects.unscoped().filter(namespace_id__in=[*self.firsts], deleted_at=None)
        wanted = {"category": category, "tier": tier}
        rows = rows.filter(**{name: value for name, value in wanted.items() if value})
        numbered = rows.exclude(number=None).order_by().values_list("namespace_id", "number")
        return [self.firsts[place] + (number or 0) for place, number in numbered]

    def of_slots(self, slots: Sequence[int]) -> tuple[str, str, str]:
        """As the query ``by_slots`` takes them."""
        places, firsts = [*self.firsts], [*self.firsts.values()]
        at = np.searchsorted(firsts, slots, side="right") - 1
        pairs = [(places[n], slot - firsts[n]) for n, slot in zip(at, slots, strict=True)]
        return (
            ",".join(map(str, slots)),
            ",".join(str(place) for place, _number in pairs),
            ",".join(str(number) for _place, number in pairs),
        )

    def rows(self, slots: Sequence[int]) -> dict[int, Entry]:
        if not slots:
            return {}
        sql = QUERIES["by_slots"].format(columns="memory_entry.*")
        found: Any = Entry.objects.unscoped().raw(sql, self.of_slots(slots))  # Any: has a slot too
        return {row.slot: row for row in found}


def _found(places: QuerySet[Namespace], asked: Question, now: datetime) -> _Found:
    try:
        sql, params = asked_of(places, asked, now)
    except EmptyResultSet:  # nobody sees anything, and nothing needs be asked
        return _Found({}, [], {}, [])
    rows = _rows(sql, *params)
    blocks: dict[UUID, int] = defaultdict(int)
    for place, term, block, _packed in rows:
        if term == REGISTER:
            blocks[place] = max(blocks[place], block + 1)
    firsts, last = {}, 0
    for place in sorted(blocks):
        firsts[place] = last * BLOCK
        last += blocks[place]
    register: list[Block] = []
    postings: dict[str, list[Block]] = defaultdict(list)
    over = []
    for place, term, block, packed in rows:
        if place not in firsts:
            continue
        first = firsts[place]
        if term is None:
            over.append(first + block)
        elif term == REGISTER:
            register.append((first // BLOCK + block, _moved(packed, first)))
        else:
            postings[term].append((first // BLOCK + block, packed))
    return _Found(firsts, register, dict(postings), over)


def _moved(packed: bytes, first: int) -> bytes:
    """A block of the register; who comes before whom is said in slots."""
    seats = np.frombuffer(packed, dtype="<u4").reshape(-1, 2)
    if not first or not seats[:, 1].any():
        return packed
    seats = seats.copy()
    seats[:, 1] += np.where(seats[:, 1] > 0, first, 0).astype("<u4")
    return seats.tobytes()


def _literal(found: _Found, asked: Question, readable: Sequence[int]) -> list[int]:
    """Of those worth reading, who says the question word for word."""
    if not readable or not asked.needle:
        return []
    sql = QUERIES["by_slots"].format(columns="memory_entry.text")
    texts = _rows(sql, *found.of_slots(readable))
    return [slot for slot, text in texts if asked.is_in(text)]


def _best(slots: Ints, scores: Floats) -> list[int]:
    order: list[int] = np.lexsort((-slots, -scores)).tolist()
    return order


def _rows(sql: str, *params: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        found: list[Any] = cursor.fetchall()
    return found
