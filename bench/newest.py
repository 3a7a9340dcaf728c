"""The page of newest visible entries: `python -m bench.newest [--json FILE]`.

100,000 entries in the namespaces of 1,000 people, all of one team, on the real PostgreSQL behind row-level security as
the app's role. Asked by somebody who sees one of those namespaces beside their application's, by the one who plays all
of those people and so sees every namespace, and by one who sees nothing. "entries" is what the page asks memory for,
its walls and the names of the namespaces included; "page" is the whole of it over the web, session and template too, which has no bar. The plan
is carried out once more under EXPLAIN: how many rows of the table it read.
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

from bench._common import LATENCY_HEADS, Bar, latency, report
from bench._services import own_services, takes_really
from bench.memory import _operator


PEOPLE, EACH = 1_000, 100
LIMIT = 50  # of a page
TIMES, PAGES, ROUNDS = 100, 25, 4
SLOWEST, OF_NOTHING = 20.0, 5.0  # milliseconds


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the bars down")
    takes_really(parser)
    options = parser.parse_args()
    with own_services(really=options.really):
        return _measure(options.json)


def _measure(target: Path | None) -> int:
    from memory.providers.postgres.newest import PAGES_AHEAD

    team_id, people = _fill()
    bars: list[Bar] = []
    measured: dict[str, object] = {}
    sys.stdout.write(f"{'ms':42}{'p50':>8}{'CPU':>8}   p95 of{LATENCY_HEADS}\n")
    for who, user in people.items():
        limit = OF_NOTHING if who == "who sees nothing" else SLOWEST
        asked = _timed(_entries(user, team_id), TIMES)
        measured[f"entries, {who}"] = _line(f"entries, {who}", asked)
        bars.append(
            Bar(f"newest {LIMIT}, {who}: p95", latency(asked.rounds, 95).middle, limit, " ms")
        )
        measured[f"page, {who}"] = _line(f"page, {who}", _timed(_page(user), PAGES))
    for who, user in people.items():
        places, read = _rows_read(user, team_id)
        # Who sees more namespaces than a page has places sees all of them here: a few pages of the team's are enough.
        most = PAGES_AHEAD * LIMIT if places > LIMIT else places + places * LIMIT
        bars.append(Bar(f"rows read, {who}, of {places} namespaces", read, most))
    return report(bars, measured, target)


def _fill() -> tuple[Any, dict[str, Any]]:
    """The team, and who asks."""
    from accounts.models import Role, User
    from accounts.services import add_member
    from accounts.tenancy import tenant
    from memory.models import Namespace
    from memory.providers.postgres import rows

    plays_all, team = _operator()
    nobody, _ = _operator()
    people = [User(email=f"{number}-{team.pk.hex}@example.org") for number in range(PEOPLE)]
    User.objects.bulk_create(people)
    add_member(team=team, user=people[0], role=Role.EDITOR)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    with tenant([team.pk]):
        for number, person in enumerate(people):
            whose = rows.Ownership(owner_user_id=person.pk, persona_of_id=plays_all.pk)
            place = rows.claim_namespace(team.pk, f"user:{person.pk}", whose)
            _copy(place, start + timedelta(seconds=number))
        shared = rows.claim_namespace(team.pk, "global:bench")
        _copy(shared, start)
        places = Namespace.objects.unscoped().filter(team_id=team.pk)
        places.update(entry_count=EACH, byte_count=EACH * 40)
    _analyse()
    asking = {"who sees two namespaces": people[0], "who sees all": plays_all}
    return team.pk, {**asking, "who sees nothing": nobody}


def _copy(place: Any, start: datetime) -> None:
    """Each namespace's entries lie among those of the others in time."""
    from memory.models import Entry

    Entry.objects.unscoped().bulk_create(
        Entry(
            team_id=place.team_id,
            namespace=place,
            key=f"k{number}",
            value=f"what was said as number {number}",
            text=f"k{number}\nwhat was said as number {number}",
            size=40,
            updated_at=start + timedelta(hours=number),
        )
        for number in range(EACH)
    )


def _analyse() -> None:
    from django.db import connections

    with connections["owner"].cursor() as cursor:
        cursor.execute("VACUUM ANALYZE memory_entry")


def _entries(user: Any, team_id: Any) -> Callable[[], object]:
    from accounts.principals import load_user_principal
    from accounts.tenancy import tenant
    from memory import naming, selectors

    principal = load_user_principal(user)  # whose session it is, every page knows already

    def ask() -> object:
        with tenant(principal.team_ids):
            found = selectors.list_newest_entries(principal, team_id, LIMIT)
            places = list({one.namespace_id: one.namespace for one in found}.values())
            return naming.name_namespaces(places, reader_id=user.pk)

    return ask


def _page(user: Any) -> Callable[[], object]:
    from django.test import Client

    client = Client()
    client.force_login(user, backend="allauth.account.auth_backends.AuthenticationBackend")

    def ask() -> object:
        answer = client.get("/memory/", headers={"host": "localhost"})
        if answer.status_code != 200:
            raise RuntimeError(f"the page answered {answer.status_code}")
        return answer

    return ask


def _rows_read(user: Any, team_id: Any) -> tuple[int, int]:
    """How many namespaces the asker sees, and how many rows of entries the plan reads for them."""
    from django.db import connection
    from django.utils import timezone

    from accounts.principals import load_user_principal
    from accounts.tenancy import tenant
    from memory.models import Namespace
    from memory.providers.postgres import newest

    principal = load_user_principal(user)
    with tenant([team_id]):
        seen = Namespace.objects.visible_to(principal).filter(team_id=team_id)
        question, params = newest.build_newest_query(seen, team_id, timezone.now(), LIMIT)
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {question}", params)
            plan = cursor.fetchone()[0]
        places = seen.count()
    root = (json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]
    return places, _of_entries(root)


def _of_entries(node: dict[str, Any]) -> int:
    below = sum(_of_entries(one) for one in node.get("Plans", []))
    if node.get("Relation Name") != "memory_entry":
        return below
    each = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
    read: float = each * node["Actual Loops"]
    return below + round(read)


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds; ``cpu`` is this process's own of one, without the database's."""

    rounds: list[list[float]]
    cpu: float


def _timed(ask: Callable[[], object], times: int) -> Times:
    ask()  # the first one pays for imports and caches
    rounds, busy = [], time.process_time()
    for _ in range(ROUNDS):
        taken = []
        for _ in range(times):
            began = time.perf_counter()
            ask()
            taken.append((time.perf_counter() - began) * 1000)
        rounds.append(taken)
    return Times(rounds, (time.process_time() - busy) * 1000 / (ROUNDS * times))


def _line(what: str, times: Times) -> dict[str, float]:
    low, high = latency(times.rounds, 50).every, latency(times.rounds, 95)
    sys.stdout.write(f"{what:42}{low:8.2f}{times.cpu:8.2f}{'':9}{high.line()}\n")
    return {"p50": low, "p95": high.every, "p95_median": high.middle, "cpu": times.cpu}


if __name__ == "__main__":
    sys.exit(main())
