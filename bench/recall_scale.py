"""Recall, store and the newest page in a table of a million: `python -m bench.recall_scale [--entries 1000000]`.

One namespace has 50,000 entries, a thousand people of the same team have 100 each, the rest is spread over other
namespaces of another team. Entries are copied in rounds, so that each namespace's rows lie far apart; their postings
come from the builder the service uses. Words are drawn as languages draw them: a few are in nearly every text.
The questions, the stores and the page go through the service, one after another, in four
rounds: their p95 is printed over all, of the round in the middle, which the bar judges, and of the best.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any
from uuid import UUID

from bench._common import LATENCY_HEADS, Bar, latency, report
from bench._services import own_services, takes_really
from bench.memory import _operator


LARGE, PEOPLE, EACH = 50_000, 1_000, 100
ELSEWHERE = 5_000  # entries in each namespace of the other team
VOCABULARY, WORDS = 30_000, (6, 24)
ROUND = 20_000  # entries copied at once
QUESTIONS, STORES, PAGES, ROUNDS = 100, 100, 100, 4


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the bars down")
    takes_really(parser)
    options = parser.parse_args()
    with own_services(really=options.really):
        return _measure(options)


def _measure(options: argparse.Namespace) -> int:
    world = _make_world(options.entries)
    times = {
        "recall among 50,000": _times(_asking(world), QUESTIONS),
        "recall of a common word": _times(_asking_common(world), QUESTIONS),
        "store anew among 50,000": _times(_storing(world, "fresh"), STORES),
        "store over among 50,000": _times(_storing(world, "k"), STORES),
        "newest page": _times(_paging(world, world.person), PAGES),
        "newest page of who sees nothing": _times(_paging(world, world.stranger), PAGES),
    }
    sys.stdout.write(f"{'ms':34}{'p50':>8}   p95 of{LATENCY_HEADS}\n")
    for what, rounds in times.items():
        low, high = latency(rounds, 50).every, latency(rounds, 95)
        sys.stdout.write(f"{what:34}{low:8.2f}{'':9}{high.line()}\n")
    limits = (150.0, 150.0, 10.0, 10.0, 20.0, 5.0)
    bars = [
        Bar(f"{what} p95", latency(rounds, 95).middle, limit, " ms")
        for (what, rounds), limit in zip(times.items(), limits, strict=True)
    ]
    measured = {what: {"p50": latency(rounds, 50).every} for what, rounds in times.items()}
    return report(bars, {**measured, "entries": options.entries}, options.json)


@dataclass
class Place:
    """A namespace to be filled, and what of it was written already."""

    id: UUID
    team_id: UUID
    size: int
    entries: list[Any] = field(default_factory=list)  # Seated
    last: dict[str, tuple[int, int]] = field(default_factory=dict)  # groups


@dataclass
class World:
    texts: "Texts"
    caller: Any
    person: Any
    stranger: Any
    team_id: UUID


class Texts:
    """A language of its own: syllables make words, and their ranks how often they come."""

    def __init__(self) -> None:
        self._chance = random.Random(4)
        syllables = [a + b for a in "bdfgklmnprstv" for b in ("a", "e", "i", "o", "u", "an", "el")]
        words: set[str] = set()
        while len(words) < VOCABULARY:
            words.add("".join(self._chance.choices(syllables, k=self._chance.randint(2, 4))))
        self.words = sorted(words)
        self._chance.shuffle(self.words)
        self._weights = list(accumulate(1 / (rank + 2) for rank in range(VOCABULARY)))

    def text(self) -> str:
        return " ".join(self.some(self._chance.randint(*WORDS)))

    def some(self, count: int) -> list[str]:
        return self._chance.choices(self.words, cum_weights=self._weights, k=count)

    def question(self) -> str:
        """Two words as they come, which are common, and two that tell."""
        return " ".join([*self.some(2), *self._chance.choices(self.words[50:], k=2)])


def _make_world(total: int) -> World:
    from accounts.principals import load_user_principal
    from memory import services

    user, team = _operator()
    stranger, _ = _operator()
    texts = Texts()
    places = _places(user, team, total)
    began = time.monotonic()
    _fill(places, texts)
    sys.stderr.write(
        f"{sum(one.size for one in places)} entries: {time.monotonic() - began:.0f} s\n"
    )
    _copy_postings(places)
    sys.stderr.write(f"with postings: {time.monotonic() - began:.0f} s\n")
    principal = load_user_principal(user)
    caller = services.MemoryCaller(principal, team.pk)
    return World(texts, caller, principal, load_user_principal(stranger), team.pk)


def _places(user: Any, team: Any, total: int) -> list[Place]:
    from accounts.models import User

    _, elsewhere = _operator()
    people = [User(email=f"{number}-{team.pk.hex}@example.org") for number in range(PEOPLE - 1)]
    User.objects.bulk_create(people)
    owners = [user, *people]
    wanted = [(team.pk, "global:large", None, LARGE)]
    wanted += [(team.pk, f"user:{one.pk}", one.pk, EACH) for one in owners]
    rest = max(0, total - LARGE - PEOPLE * EACH) // ELSEWHERE
    wanted += [(elsewhere.pk, f"global:p{number}", None, ELSEWHERE) for number in range(rest)]
    return [_place(*one) for one in wanted]


def _place(team_id: UUID, text: str, owner: UUID | None, size: int) -> Place:
    from accounts.tenancy import tenant
    from memory.models import Namespace
    from memory.providers.postgres import rows

    with tenant([team_id]):
        found = rows.claim_namespace(team_id, text, rows.Ownership(owner_user_id=owner))
        counted = Namespace.objects.unscoped().filter(pk=found.pk)
        counted.update(entry_count=size, byte_count=size * 100)
    return Place(found.pk, team_id, size)


ENTRY_COLUMNS = (
    "id, team_id, namespace_id, key, value, text, metadata, size, category, tier, importance, revision, number,"
    ' "group", position, created_at, updated_at, source_actor, source_run, source_node, source_message, source_rule'
)


def _fill(places: Sequence[Place], texts: Texts) -> None:
    """In rounds, a share of each namespace a round."""
    rounds = max(1, sum(one.size for one in places) // ROUND)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for turn in range(rounds):
        with (
            _owner().cursor() as cursor,
            cursor.copy(f"COPY memory_entry ({ENTRY_COLUMNS}) FROM STDIN") as copy,
        ):
            for place in places:
                until = place.size * (turn + 1) // rounds
                for number in range(len(place.entries), until):
                    copy.write_row(
                        _row(place, number, texts.text(), start + timedelta(seconds=turn))
                    )
        _owner().commit()


def _row(place: Place, number: int, said: str, at: datetime) -> tuple[Any, ...]:
    import json

    from config.ids import uuid7
    from memory.core.values import search_text
    from memory.providers.postgres.rebuilding import NumberedEntry

    group, position = f"g{number // 20}", number % 20 + 1
    before = number - 1 if position > 1 else None
    key, pk = f"k{number}", uuid7()
    text = search_text(key, said)
    place.entries.append(NumberedEntry(pk, number, text, True, True, before, group, position))
    value, metadata = json.dumps(said), json.dumps({"group": group})
    fixed = (len(said), "fact", "long_term", 0.5, 1, number, group, position, at, at)
    head = (pk, place.team_id, place.id, key, value, text, metadata)
    return (*head, *fixed, "bench", "", "", "", "")


def _copy_postings(places: Sequence[Place]) -> None:
    from memory.providers.postgres.rebuilding import build_rows

    columns = "team_id, namespace_id, term, block, packed"
    with _owner().cursor() as cursor:
        for place in places:
            with cursor.copy(f"COPY memory_posting ({columns}) FROM STDIN") as copy:
                for rows in build_rows(place.entries, {}):
                    for row in rows:
                        copy.write_row((place.team_id, place.id, *row))
            place.entries.clear()
        _owner().commit()
        _owner().autocommit = True
        cursor.execute("VACUUM ANALYZE memory_entry")
        cursor.execute("VACUUM ANALYZE memory_posting")
        _owner().autocommit = False


_connections: list[Any] = []


def _owner() -> Any:
    """A connection that no wall stops: it copies for two teams."""
    import psycopg
    from django.db import connections

    if not _connections:
        settings = connections["owner"].get_connection_params()
        known = {
            name: settings[name]
            for name in ("dbname", "user", "host", "port", "password")
            if settings.get(name)
        }
        _connections.append(psycopg.connect(**known))
    return _connections[0]


Act = Callable[[int], object]


def _asking(world: World) -> Act:
    from memory import services

    questions = [world.texts.question() for _ in range(QUESTIONS * ROUNDS + 1)]
    return lambda n: services.recall(
        world.caller, namespace="global:large", query_text=questions[n], top_k=10
    )


def _asking_common(world: World) -> Act:
    """Four of the ten words that nearly every text has."""
    from memory import services

    common = world.texts.words[:10]
    questions = [
        " ".join(random.Random(n).sample(common, 4)) for n in range(QUESTIONS * ROUNDS + 1)
    ]
    return lambda n: services.recall(
        world.caller, namespace="global:large", query_text=questions[n], top_k=10
    )


def _storing(world: World, key: str) -> Act:
    from memory import services

    texts = [world.texts.text() for _ in range(STORES * ROUNDS + 1)]
    return lambda n: services.remember(
        world.caller, namespace="global:large", key=f"{key}{n}", value=texts[n]
    )


def _paging(world: World, principal: Any) -> Act:
    from accounts.tenancy import tenant
    from memory.selectors import list_newest_entries

    def page(_: int) -> object:
        with tenant(principal.team_ids):
            return list_newest_entries(principal, world.team_id, 50)

    return page


def _times(act: Act, count: int) -> list[list[float]]:
    """Round by round."""
    act(count * ROUNDS)  # the first one pays for imports and caches

    def taken(turn: int) -> Iterator[float]:
        for number in range(count * turn, count * (turn + 1)):
            began = time.perf_counter()
            act(number)
            yield (time.perf_counter() - began) * 1000

    return [list(taken(turn)) for turn in range(ROUNDS)]


if __name__ == "__main__":
    sys.exit(main())
