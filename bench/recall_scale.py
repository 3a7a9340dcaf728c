"""Recall, store and the newest page in a table of a million: `python -m bench.recall_scale [--entries 1000000]`.

One namespace has 50,000 entries, each of a thousand people of the same team has 100, and the others are in namespaces of
another team. Entries are copied in rounds, so that the rows of a namespace are far apart in the table. The service's own
function builds their postings. Words have the frequencies of a language: a few are in nearly every text. Recalls, stores
and pages go through the service one after another, in four rounds: the p95 is printed over all rounds, for the median of
the rounds (which the bar limits) and for the best.
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

from bench._common import LATENCY_HEADERS, Bar, compute_latency, report
from bench._services import add_really_option, create_operator, run_temporary_services


LARGE_SIZE, PEOPLE, ENTRIES_PER_PERSON = 50_000, 1_000, 100
OTHER_TEAM_SIZE = 5_000  # entries in each namespace of the other team
VOCABULARY_SIZE, WORDS_PER_TEXT = 30_000, (6, 24)
COPY_SIZE = 20_000  # entries copied at once
QUESTIONS, STORES, PAGES, ROUNDS = 100, 100, 100, 4
ENTRY_COLUMNS = (
    "id, team_id, namespace_id, key, value, text, metadata, size, category, tier, importance, revision, number,"
    ' "group", position, created_at, updated_at, source_actor, source_run, source_node, source_message, source_rule'
)

Operation = Callable[[int], object]  # takes the number of the call


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path, metavar="FILE", help="file for the results")
    add_really_option(parser)
    options = parser.parse_args()
    with run_temporary_services(really=options.really):
        return _measure(options)


def _measure(options: argparse.Namespace) -> int:
    data = _create_data(options.entries)
    times = {
        "recall among 50,000": _measure_times(_build_recall(data), QUESTIONS),
        "recall of a common word": _measure_times(_build_common_recall(data), QUESTIONS),
        "store a new key among 50,000": _measure_times(_build_store(data, "fresh"), STORES),
        "store over a key among 50,000": _measure_times(_build_store(data, "k"), STORES),
        "newest page": _measure_times(_build_page(data, data.member), PAGES),
        "newest page without entries": _measure_times(_build_page(data, data.stranger), PAGES),
    }
    sys.stdout.write(f"{'ms':34}{'p50':>8}   p95 of{LATENCY_HEADERS}\n")
    for name, rounds in times.items():
        p50, p95 = compute_latency(rounds, 50).total, compute_latency(rounds, 95)
        sys.stdout.write(f"{name:34}{p50:8.2f}{'':9}{p95.format_columns()}\n")
    limits = (150.0, 150.0, 10.0, 10.0, 20.0, 5.0)
    bars = [
        Bar(f"{name} p95", compute_latency(rounds, 95).median, limit, " ms")
        for (name, rounds), limit in zip(times.items(), limits, strict=True)
    ]
    measured = {name: {"p50": compute_latency(rounds, 50).total} for name, rounds in times.items()}
    return report(bars, {**measured, "entries": options.entries}, options.json)


@dataclass
class NamespacePlan:
    """A namespace that gets ``size`` entries, and those (each a ``NumberedEntry``) that were written so far."""

    id: UUID
    team_id: UUID
    size: int
    entries: list[Any] = field(default_factory=list)


@dataclass
class BenchmarkData:
    """The created data: the principals of a member and of a stranger, and the caller that acts for the member."""

    texts: "TextGenerator"
    caller: Any
    member: Any
    stranger: Any
    team_id: UUID


class TextGenerator:
    """Makes texts of an invented language: words of random syllables, whose frequency depends on their rank."""

    def __init__(self) -> None:
        self._random = random.Random(4)
        endings = ("a", "e", "i", "o", "u", "an", "el")
        syllables = [consonant + ending for consonant in "bdfgklmnprstv" for ending in endings]
        words: set[str] = set()
        while len(words) < VOCABULARY_SIZE:
            words.add("".join(self._random.choices(syllables, k=self._random.randint(2, 4))))
        self.words = sorted(words)
        self._random.shuffle(self.words)
        self._weights = list(accumulate(1 / (rank + 2) for rank in range(VOCABULARY_SIZE)))

    def make_text(self) -> str:
        return " ".join(self.draw_words(self._random.randint(*WORDS_PER_TEXT)))

    def draw_words(self, count: int) -> list[str]:
        return self._random.choices(self.words, cum_weights=self._weights, k=count)

    def make_question(self) -> str:
        """Make a question of two words by frequency, which are common, and two rarer ones."""
        return " ".join([*self.draw_words(2), *self._random.choices(self.words[50:], k=2)])


def _create_data(total: int) -> BenchmarkData:
    from accounts.principals import load_user_principal
    from memory import services

    user, team = create_operator()
    stranger, _ = create_operator()
    texts = TextGenerator()
    plans = _create_namespaces(user, team, total)
    start = time.monotonic()
    _copy_entries(plans, texts)
    count = sum(plan.size for plan in plans)
    sys.stderr.write(f"{count} entries: {time.monotonic() - start:.0f} s\n")
    _copy_postings(plans)
    sys.stderr.write(f"with postings: {time.monotonic() - start:.0f} s\n")
    principal = load_user_principal(user)
    caller = services.MemoryCaller(principal, team.pk)
    return BenchmarkData(texts, caller, principal, load_user_principal(stranger), team.pk)


def _create_namespaces(user: Any, team: Any, total: int) -> list[NamespacePlan]:
    """Create the namespaces for ``total`` entries: a large one, one for each person, and those of the other team."""
    from accounts.models import User

    _, other_team = create_operator()
    people = [User(email=f"{number}-{team.pk.hex}@example.org") for number in range(PEOPLE - 1)]
    User.objects.bulk_create(people)
    plans = [_create_namespace(team.pk, "global:large", None, LARGE_SIZE)]
    for owner in (user, *people):
        name = f"user:{owner.pk}"
        plans.append(_create_namespace(team.pk, name, owner.pk, ENTRIES_PER_PERSON))
    other_count = max(0, total - LARGE_SIZE - PEOPLE * ENTRIES_PER_PERSON) // OTHER_TEAM_SIZE
    for number in range(other_count):
        name = f"global:p{number}"
        plans.append(_create_namespace(other_team.pk, name, None, OTHER_TEAM_SIZE))
    return plans


def _create_namespace(team_id: UUID, name: str, owner_id: UUID | None, size: int) -> NamespacePlan:
    from accounts.tenancy import tenant
    from memory.models import Namespace
    from memory.providers.postgres import rows

    with tenant([team_id]):
        namespace = rows.claim_namespace(team_id, name, rows.Ownership(owner_user_id=owner_id))
        row = Namespace.objects.unscoped().filter(pk=namespace.pk)
        row.update(entry_count=size, byte_count=size * 100)
    return NamespacePlan(namespace.pk, team_id, size)


def _copy_entries(plans: Sequence[NamespacePlan], texts: TextGenerator) -> None:
    """Copy the entries in rounds, each of which adds a share of the entries to every namespace."""
    rounds = max(1, sum(plan.size for plan in plans) // COPY_SIZE)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for round_number in range(rounds):
        created_at = start + timedelta(seconds=round_number)
        with (
            _connect_as_owner().cursor() as cursor,
            cursor.copy(f"COPY memory_entry ({ENTRY_COLUMNS}) FROM STDIN") as copy,
        ):
            for plan in plans:
                end = plan.size * (round_number + 1) // rounds
                for number in range(len(plan.entries), end):
                    copy.write_row(_build_row(plan, number, texts.make_text(), created_at))
        _connect_as_owner().commit()


def _build_row(
    plan: NamespacePlan, number: int, value: str, created_at: datetime
) -> tuple[Any, ...]:
    """Return the values of ENTRY_COLUMNS for an entry, and add the entry to those of the plan."""
    import json

    from config.ids import uuid7
    from memory.core.values import build_search_text
    from memory.providers.postgres.rebuilding import NumberedEntry

    group, position = f"g{number // 20}", number % 20 + 1
    previous = number - 1 if position > 1 else None
    key, pk = f"k{number}", uuid7()
    text = build_search_text(key, value)
    plan.entries.append(NumberedEntry(pk, number, text, True, True, previous, group, position))
    json_value, metadata = json.dumps(value), json.dumps({"group": group})
    content = (pk, plan.team_id, plan.id, key, json_value, text, metadata)
    state = (len(value), "fact", "long_term", 0.5, 1, number, group, position)
    source = ("bench", "", "", "", "")
    return (*content, *state, created_at, created_at, *source)


def _copy_postings(plans: Sequence[NamespacePlan]) -> None:
    from memory.providers.postgres.rebuilding import build_rows

    columns = "team_id, namespace_id, term, block, packed"
    connection = _connect_as_owner()
    with connection.cursor() as cursor:
        for plan in plans:
            with cursor.copy(f"COPY memory_posting ({columns}) FROM STDIN") as copy:
                for rows in build_rows(plan.entries, {}):
                    for row in rows:
                        copy.write_row((plan.team_id, plan.id, *row))
            plan.entries.clear()
        connection.commit()
        connection.autocommit = True
        cursor.execute("VACUUM ANALYZE memory_entry")
        cursor.execute("VACUUM ANALYZE memory_posting")
        connection.autocommit = False


@cache
def _connect_as_owner() -> Any:
    """Return a connection as the owner, who is not bound by row-level security and can copy rows of two teams."""
    import psycopg
    from django.db import connections

    settings = connections["owner"].get_connection_params()
    names = ("dbname", "user", "host", "port", "password")
    return psycopg.connect(**{name: settings[name] for name in names if settings.get(name)})


def _build_recall(data: BenchmarkData) -> Operation:
    count = QUESTIONS * ROUNDS + 1
    return _build_recall_of(data, [data.texts.make_question() for _ in range(count)])


def _build_common_recall(data: BenchmarkData) -> Operation:
    """Return the operation that recalls by four of the ten words that are in nearly every text."""
    common = data.texts.words[:10]
    counts = range(QUESTIONS * ROUNDS + 1)
    return _build_recall_of(data, [" ".join(random.Random(n).sample(common, 4)) for n in counts])


def _build_recall_of(data: BenchmarkData, questions: list[str]) -> Operation:
    from memory import services

    return lambda n: services.recall(
        data.caller, namespace="global:large", query_text=questions[n], top_k=10
    )


def _build_store(data: BenchmarkData, key_prefix: str) -> Operation:
    from memory import services

    texts = [data.texts.make_text() for _ in range(STORES * ROUNDS + 1)]
    return lambda n: services.remember(
        data.caller, namespace="global:large", key=f"{key_prefix}{n}", value=texts[n]
    )


def _build_page(data: BenchmarkData, principal: Any) -> Operation:
    from accounts.tenancy import tenant
    from memory.selectors import list_newest_entries

    def load_page(_: int) -> object:
        with tenant(principal.team_ids):
            return list_newest_entries(principal, data.team_id, 50)

    return load_page


def _measure_times(operation: Operation, count: int) -> list[list[float]]:
    """Return the milliseconds of each call, by round."""
    operation(count * ROUNDS)  # the first call also imports modules and fills caches

    def measure_round(round_number: int) -> Iterator[float]:
        for number in range(count * round_number, count * (round_number + 1)):
            start = time.perf_counter()
            operation(number)
            yield (time.perf_counter() - start) * 1000

    return [list(measure_round(round_number)) for round_number in range(ROUNDS)]


if __name__ == "__main__":
    sys.exit(main())
