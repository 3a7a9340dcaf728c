"""The page of newest visible entries: `python -m bench.newest [--json FILE]`.

One team has 100,000 entries in the namespaces of 1,000 people, in PostgreSQL with row-level security and the app's role.
Three users open the page: one who sees two namespaces, one who sees all of them because the people are their test
personas, and one who sees none. "entries" measures the page's query with permissions and names of namespaces; "page"
measures the whole request, without a bar. EXPLAIN then counts the rows that the query reads.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench._common import LATENCY_HEADERS, Bar, compute_latency, report
from bench._services import add_really_option, create_operator, run_temporary_services


PEOPLE, ENTRIES_PER_PERSON = 1_000, 100
PAGE_SIZE = 50
TIMES, PAGES, ROUNDS = 100, 25, 4
MAX_MS, MAX_MS_WITHOUT_ENTRIES = 20.0, 5.0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="file for the results")
    add_really_option(parser)
    options = parser.parse_args()
    with run_temporary_services(really=options.really):
        return _measure(options.json)


def _measure(target: Path | None) -> int:
    from memory.providers.postgres.newest import PAGES_AHEAD

    team_id, users = _create_data()
    bars: list[Bar] = []
    measured: dict[str, object] = {}
    sys.stdout.write(f"{'ms':42}{'p50':>8}{'CPU':>8}   p95 of{LATENCY_HEADERS}\n")
    for name, user in users.items():
        limit = MAX_MS_WITHOUT_ENTRIES if name == "sees nothing" else MAX_MS
        times = _measure_times(_build_query(user, team_id), TIMES)
        measured[f"entries, {name}"] = _print_line(f"entries, {name}", times)
        p95 = compute_latency(times.rounds, 95).median
        bars.append(Bar(f"newest {PAGE_SIZE}, {name}: p95", p95, limit, " ms"))
        pages = _measure_times(_build_request(user), PAGES)
        measured[f"page, {name}"] = _print_line(f"page, {name}", pages)
    for name, user in users.items():
        namespaces, rows = _count_rows(user, team_id)
        # A user who sees more namespaces than a page has entries sees all of them, so a few pages of the team suffice.
        is_long = namespaces > PAGE_SIZE
        max_rows = PAGES_AHEAD * PAGE_SIZE if is_long else namespaces * (1 + PAGE_SIZE)
        bars.append(Bar(f"rows read, {name}, of {namespaces} namespaces", rows, max_rows))
    return report(bars, measured, target)


def _create_data() -> tuple[Any, dict[str, Any]]:
    """Create the data, and return the team's id and the users who open the page."""
    from accounts.models import Role, User
    from accounts.services import add_member
    from accounts.tenancy import tenant
    from memory.models import Namespace
    from memory.providers.postgres import rows

    sees_all, team = create_operator()
    sees_nothing, _ = create_operator()
    people = [User(email=f"{number}-{team.pk.hex}@example.org") for number in range(PEOPLE)]
    User.objects.bulk_create(people)
    add_member(team=team, user=people[0], role=Role.EDITOR)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    with tenant([team.pk]):
        for number, person in enumerate(people):
            owner = rows.Ownership(owner_user_id=person.pk, persona_of_id=sees_all.pk)
            namespace = rows.claim_namespace(team.pk, f"user:{person.pk}", owner)
            _create_entries(namespace, start + timedelta(seconds=number))
        _create_entries(rows.claim_namespace(team.pk, "global:bench"), start)
        namespaces = Namespace.objects.unscoped().filter(team_id=team.pk)
        namespaces.update(entry_count=ENTRIES_PER_PERSON, byte_count=ENTRIES_PER_PERSON * 40)
    _analyze_tables()
    users = {"sees two namespaces": people[0], "sees all": sees_all, "sees nothing": sees_nothing}
    return team.pk, users


def _create_entries(namespace: Any, start: datetime) -> None:
    """Create entries an hour apart, so that the entries of all namespaces are mixed in time."""
    from memory.models import Entry

    Entry.objects.unscoped().bulk_create(
        Entry(
            team_id=namespace.team_id,
            namespace=namespace,
            key=f"k{number}",
            value=f"what was said as number {number}",
            text=f"k{number}\nwhat was said as number {number}",
            size=40,
            updated_at=start + timedelta(hours=number),
        )
        for number in range(ENTRIES_PER_PERSON)
    )


def _analyze_tables() -> None:
    from django.db import connections

    with connections["owner"].cursor() as cursor:
        cursor.execute("VACUUM ANALYZE memory_entry")


def _build_query(user: Any, team_id: Any) -> Callable[[], object]:
    from accounts.principals import load_user_principal
    from accounts.tenancy import tenant
    from memory import naming, selectors

    principal = load_user_principal(user)  # a page has it from its session

    def query() -> object:
        with tenant(principal.team_ids):
            entries = selectors.list_newest_entries(principal, team_id, PAGE_SIZE)
            namespaces = list({entry.namespace_id: entry.namespace for entry in entries}.values())
            return naming.name_namespaces(namespaces, reader_id=user.pk)

    return query


def _build_request(user: Any) -> Callable[[], object]:
    from django.test import Client

    client = Client()
    client.force_login(user, backend="allauth.account.auth_backends.AuthenticationBackend")

    def request() -> object:
        response = client.get("/memory/", headers={"host": "localhost"})
        if response.status_code != 200:
            raise RuntimeError(f"the page responded with {response.status_code}")
        return response

    return request


def _count_rows(user: Any, team_id: Any) -> tuple[int, int]:
    """Return how many namespaces the user sees, and how many rows of entries the query reads for them."""
    from django.db import connection
    from django.utils import timezone

    from accounts.principals import load_user_principal
    from accounts.tenancy import tenant
    from memory.models import Namespace
    from memory.providers.postgres import newest

    principal = load_user_principal(user)
    with tenant([team_id]):
        namespaces = Namespace.objects.visible_to(principal).filter(team_id=team_id)
        query, params = newest.build_newest_query(namespaces, team_id, timezone.now(), PAGE_SIZE)
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}", params)
            plan = cursor.fetchone()[0]
        count = namespaces.count()
    root = (json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]
    return count, _sum_entry_rows(root)


def _sum_entry_rows(node: dict[str, Any]) -> int:
    """Return how many rows of entries a node of the query plan and the nodes below it read."""
    below = sum(_sum_entry_rows(child) for child in node.get("Plans", []))
    if node.get("Relation Name") != "memory_entry":
        return below
    rows_per_loop = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
    return below + round(float(rows_per_loop * node["Actual Loops"]))


@dataclass(frozen=True, slots=True)
class Times:
    """The milliseconds of the calls of each round; ``cpu`` is the CPU time per call, without the database's."""

    rounds: list[list[float]]
    cpu: float


def _measure_times(run: Callable[[], object], times: int) -> Times:
    run()  # the first call also imports modules and fills caches
    rounds, cpu_start = [], time.process_time()
    for _ in range(ROUNDS):
        milliseconds = []
        for _ in range(times):
            start = time.perf_counter()
            run()
            milliseconds.append((time.perf_counter() - start) * 1000)
        rounds.append(milliseconds)
    return Times(rounds, (time.process_time() - cpu_start) * 1000 / (ROUNDS * times))


def _print_line(name: str, times: Times) -> dict[str, float]:
    p50, p95 = compute_latency(times.rounds, 50).total, compute_latency(times.rounds, 95)
    sys.stdout.write(f"{name:42}{p50:8.2f}{times.cpu:8.2f}{'':9}{p95.format_columns()}\n")
    return {"p50": p50, "p95": p95.total, "p95_median": p95.median, "cpu": times.cpu}


if __name__ == "__main__":
    sys.exit(main())
