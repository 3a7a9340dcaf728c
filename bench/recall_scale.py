"""Recall, store and the newest page in a table of a million: `python -m bench.recall_scale [--entries 1000000]`.

One namespace has 50,000 entries, a thousand people of the same team have 100 each, and the rest is in namespaces of
another team. Entries are copied in rounds, so that the rows of a namespace are far apart in the table; their postings
come from the builder that the service uses. Words have the frequencies of a language: a few are in nearly every text.
Recalls, stores and pages go through the service one after another, in four rounds: the p95 is printed over all rounds,
for the median of the rounds (which the bar limits) and for the best.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any
from uuid import UUID

from bench._common import LATENCY_HEADS, Bar, compute_latency, report
from bench._services import add_really_option, create_operator, own_services


LARGE, PEOPLE, EACH = 50_000, 1_000, 100
EACH_OF_OTHER_TEAM = 5_000  # entries in each namespace of the other team
VOCABULARY, WORDS = 30_000, (6, 24)
ROUND = 20_000  # entries copied at once
QUESTIONS, STORES, PAGES, ROUNDS = 100, 100, 100, 4
ENTRY_COLUMNS = (
    "id, team_id, namespace_id, key, value, text, metadata, size, category, tier, importance, revision, number,"
    ' "group", position, created_at, updated_at, source_actor, source_run, source_node, source_message, source_rule'
)

Operation = Callable[[int], object]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path, metavar="FILE", help="file for the results")
    add_really_option(parser)
    options = parser.parse_args()
    with own_services(really=options.really):
        return _measure(options)


def _measure(options: argparse.Namespace) -> int:
    data = _create_data(options.entries)
    times = {
        "recall among 50,000": _measure_times(_build_recall(data), QUESTIONS),
        "recall of a common word": _measure_times(_build_common_recall(data), QUESTIONS),
        "store a new key among 50,000": _measure_times(_build_store(data, "fresh"), STORES),
        "store over a key among 50,000": _measure_times(_build_store(data, "k"), STORES),
        "newest page": _measure_times(_build_page(data, data.person), PAGES),
        "newest page without entries": _measure_times(_build_page(data, data.stranger), PAGES),
    }
    sys.stdout.write(f"{'ms':34}{'p50':>8}   p95 of{LATENCY_HEADS}\n")
    for name, rounds in times.items():
        low, high = compute_latency(rounds, 50).total, compute_latency(rounds, 95)
        sys.stdout.write(f"{name:34}{low:8.2f}{'':9}{high.format_columns()}\n")
    limits = (150.0, 150.0, 10.0, 10.0, 20.0, 5.0)
    bars = [
        Bar(f"{name} p95", compute_latency(rounds, 95).middle, limit, " ms")
        for (name, rounds), limit in zip(times.items(), limits, strict=True)
    ]
    measured = {name: {"p50": compute_latency(rounds, 50).total} for name, rounds in times.items()}
    return report(bars, {**measured, "entries": options.entries}, options.json)


@dataclass
class Filling:
    """A namespace to fill with ``size`` entries, and the entries (of ``NumberedEntry``) written so far."""

    id: UUID
    team_id: UUID
    size: int
    entries: list[Any] = field(default_factory=list)


@dataclass
class Data:
    """The users, their memory and the language of its texts."""

    texts: "Texts"
    caller: Any
    person: Any
    stranger: Any
    team_id: UUID


class Texts:
    """A made-up language: words of random syllables, whose frequency depends on their rank."""

    def __init__(self) -> None:
        self._chance = random.Random(4)
        syllables = [a + b for a in "bdfgklmnprstv" for b in ("a", "e", "i", "o", "u", "an", "el")]
        words: set[str] = set()
        while len(words) < VOCABULARY:
            words.add("".join(self._chance.choices(syllables, k=self._chance.randint(2, 4))))
        self.words = sorted(words)
        self._chance.shuffle(self.words)
        self._weights = list(accumulate(1 / (rank + 2) for rank in range(VOCABULARY)))

    def make_text(self) -> str:
        return " ".join(self.draw_words(self._chance.randint(*WORDS)))

    def draw_words(self, count: int) -> list[str]:
        return self._chance.choices(self.words, cum_weights=self._weights, k=count)

    def make_question(self) -> str:
        """Make a question of two words by frequency, which are common, and two rarer ones."""
        return " ".join([*self.draw_words(2), *self._chance.choices(self.words[50:], k=2)])


def _create_data(total: int) -> Data:
    from accounts.principals import load_user_principal
    from memory import services

    user, team = create_operator()
    stranger, _ = create_operator()
    texts = Texts()
    fillings = _create_namespaces(user, team, total)
    start = time.monotonic()
    _copy_entries(fillings, texts)
    count = sum(filling.size for filling in fillings)
    sys.stderr.write(f"{count} entries: {time.monotonic() - start:.0f} s\n")
    _copy_postings(fillings)
    sys.stderr.write(f"with postings: {time.monotonic() - start:.0f} s\n")
    principal = load_user_principal(user)
    caller = services.MemoryCaller(principal, team.pk)
    return Data(texts, caller, principal, load_user_principal(stranger), team.pk)


def _create_namespaces(user: Any, team: Any, total: int) -> list[Filling]:
    from accounts.models import User

    _, other_team = create_operator()
    people = [User(email=f"{number}-{team.pk.hex}@example.org") for number in range(PEOPLE - 1)]
    User.objects.bulk_create(people)
    owners = [user, *people]
    fillings = [_create_namespace(team.pk, "global:large", None, LARGE)]
    fillings += [_create_namespace(team.pk, f"user:{each.pk}", each.pk, EACH) for each in owners]
    rest = max(0, total - LARGE - PEOPLE * EACH) // EACH_OF_OTHER_TEAM
    fillings += [
        _create_namespace(other_team.pk, f"global:p{number}", None, EACH_OF_OTHER_TEAM)
        for number in range(rest)
    ]
    return fillings


def _create_namespace(team_id: UUID, text: str, owner: UUID | None, size: int) -> Filling:
    from accounts.tenancy import tenant
    from memory.models import Namespace
    from memory.providers.postgres import rows

    with tenant([team_id]):
        namespace = rows.claim_namespace(team_id, text, rows.Ownership(owner_user_id=owner))
        row = Namespace.objects.unscoped().filter(pk=namespace.pk)
        row.update(entry_count=size, byte_count=size * 100)
    return Filling(namespace.pk, team_id, size)


def _copy_entries(fillings: Sequence[Filling], texts: Texts) -> None:
    """Copy the entries in rounds, of which each has a share of every namespace."""
    rounds = max(1, sum(filling.size for filling in fillings) // ROUND)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for turn in range(rounds):
        with (
            _connect_as_owner().cursor() as cursor,
            cursor.copy(f"COPY memory_entry ({ENTRY_COLUMNS}) FROM STDIN") as copy,
        ):
            for filling in fillings:
                end = filling.size * (turn + 1) // rounds
                for number in range(len(filling.entries), end):
                    at = start + timedelta(seconds=turn)
                    copy.write_row(_build_row(filling, number, texts.make_text(), at))
        _connect_as_owner().commit()


def _build_row(filling: Filling, number: int, value: str, at: datetime) -> tuple[Any, ...]:
    import json

    from config.ids import uuid7
    from memory.core.values import build_search_text
    from memory.providers.postgres.rebuilding import NumberedEntry

    group, position = f"g{number // 20}", number % 20 + 1
    before = number - 1 if position > 1 else None
    key, pk = f"k{number}", uuid7()
    text = build_search_text(key, value)
    filling.entries.append(NumberedEntry(pk, number, text, True, True, before, group, position))
    json_value, metadata = json.dumps(value), json.dumps({"group": group})
    head = (pk, filling.team_id, filling.id, key, json_value, text, metadata)
    state = (len(value), "fact", "long_term", 0.5, 1, number, group, position, at, at)
    return (*head, *state, "bench", "", "", "", "")


def _copy_postings(fillings: Sequence[Filling]) -> None:
    from memory.providers.postgres.rebuilding import build_rows

    columns = "team_id, namespace_id, term, block, packed"
    connection = _connect_as_owner()
    with connection.cursor() as cursor:
        for filling in fillings:
            with cursor.copy(f"COPY memory_posting ({columns}) FROM STDIN") as copy:
                for rows in build_rows(filling.entries, {}):
                    for row in rows:
                        copy.write_row((filling.team_id, filling.id, *row))
            filling.entries.clear()
        connection.commit()
        connection.autocommit = True
        cursor.execute("VACUUM ANALYZE memory_entry")
        cursor.execute("VACUUM ANALYZE memory_posting")
        connection.autocommit = False


@cache
def _connect_as_owner() -> Any:
    """Return a connection without row-level security, because it copies rows of two teams."""
    import psycopg
    from django.db import connections

    settings = connections["owner"].get_connection_params()
    names = ("dbname", "user", "host", "port", "password")
    return psycopg.connect(**{name: settings[name] for name in names if settings.get(name)})


def _build_recall(data: Data) -> Operation:
    return _build_recalls(data, [data.texts.make_question() for _ in range(QUESTIONS * ROUNDS + 1)])


def _build_common_recall(data: Data) -> Operation:
    """Return recalls by four of the ten words that are in nearly every text."""
    common = data.texts.words[:10]
    counts = range(QUESTIONS * ROUNDS + 1)
    return _build_recalls(data, [" ".join(random.Random(n).sample(common, 4)) for n in counts])


def _build_recalls(data: Data, questions: list[str]) -> Operation:
    from memory import services

    return lambda n: services.recall(
        data.caller, namespace="global:large", query_text=questions[n], top_k=10
    )


def _build_store(data: Data, key: str) -> Operation:
    from memory import services

    texts = [data.texts.make_text() for _ in range(STORES * ROUNDS + 1)]
    return lambda n: services.remember(
        data.caller, namespace="global:large", key=f"{key}{n}", value=texts[n]
    )


def _build_page(data: Data, principal: Any) -> Operation:
    from accounts.tenancy import tenant
    from memory.selectors import list_newest_entries

    def page(_: int) -> object:
        with tenant(principal.team_ids):
            return list_newest_entries(principal, data.team_id, 50)

    return page


def _measure_times(operation: Operation, count: int) -> list[list[float]]:
    """Return the milliseconds of each call, by round."""
    operation(count * ROUNDS)  # the first call also imports modules and fills caches

    def measure(turn: int) -> Iterator[float]:
        for number in range(count * turn, count * (turn + 1)):
            start = time.perf_counter()
            operation(number)
            yield (time.perf_counter() - start) * 1000

    return [list(measure(turn)) for turn in range(ROUNDS)]


if __name__ == "__main__":
    sys.exit(main())
