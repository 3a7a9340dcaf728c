"""A long history of runs: its list, its size and its end: `python -m bench.history [--runs 1000000] [--json FILE]`.

A generator inserts finished runs of the last 30 days with their steps, events and intents. The list of runs is then
requested through the whole site in this process, by somebody who has nearly all of these runs and by somebody who has a
few of them. At the end, every week of this month that is over is dropped: first with 1 % of its runs, which failed, moved
to the default partition, and, in a second month of the same size, without any.
"""

import argparse
import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from bench._common import Bar, compute_percentile, report
from bench._services import add_really_option, create_operator, run_temporary_services


STEPS, EVENTS, INTENTS = 3, 8, 1  # rows of each run
DAYS: Final = 30
FAILED_EVERY, RARE_EVERY = 100, 20_000
BATCH: Final = 50_000  # runs
REQUESTS: Final = 40
LIST_MS, DROP_SECONDS = 50.0, 1.0
FILTERS: Final = {
    "status": "status=failed",
    "workflow": "named=other",
    "dates": "since={day}&until={day}",
    "duration": "min_seconds=59",
    "text": "said=order+77",
    "text that nothing contains": "said=nowhere",
    "node": "node=n1",
    "node that did not run": "node=n9",
    "user": "person=rare",
}
FUNCTION: Final = """
    create function bench_id(n bigint, at timestamptz) returns uuid language sql immutable as $$
        select (lpad(to_hex(floor(extract(epoch from at) * 1000)::bigint), 12, '0')
            || '7000a000' || lpad(to_hex(n), 12, '0'))::uuid $$
"""
NUMBERED: Final = """
    create temp table batch as
    select n, at, bench_id(n, at) as id, case when n % %(rare_every)s = 0 then %(few)s::uuid else %(all)s::uuid end as person
    from generate_series(%(first)s::bigint, %(last)s::bigint) n,
        lateral (select now() - interval '1 hour' - n * %(distance)s::interval as at) t
"""
INSERTS: Final = (
    """insert into workflows_run (id, team_id, workflow_id, snapshot_id, actor, subject, subject_user_id, started_by_id,
        status, inputs, system, offline, outputs, error, error_node, exceptions_count, prompt_tokens, completion_tokens,
        is_counted, attempt, kill_count, worker, last_seq, created_at, queued_at, started_at, finished_at, elapsed)
    select id, %(team)s, case when n % 50 = 0 then %(other)s::uuid else %(workflow)s::uuid end, %(snapshot)s,
        'user:' || person, person, person, person,
        case when n % %(failed_every)s = 0 then 'failed' else 'succeeded' end,
        json_build_object('text', 'order ' || n || ' of customer ' || n % 997), json_build_object('user_id', person),
        false, json_build_object('text', 'answer to ' || n), '', '', 0, 100, 50, true, 1, 0, '', %(events)s,
        at, at, at, at, 1 + n % 60
    from batch""",
    """insert into workflows_step (id, team_id, run_id, node_key, rounds, attempt, kind, title, status, inputs, outputs,
        error, error_type, writes, tries, started_at, elapsed, prompt_tokens, completion_tokens)
    select gen_random_uuid(), %(team)s, id, 'n' || k, '{}', 1, 'template-transform', 'A node', 'succeeded',
        json_build_object('text', 'what the node ' || k || ' read'), json_build_object('output', repeat('text ', 20)),
        '', '', '[]', 1, extract(epoch from at) + k, 0.01, 0, 0
    from batch, generate_series(1, %(steps)s) k""",
    # A commit for each node with an effect, in which the events are spread evenly.
    """insert into workflows_runcommit (id, team_id, run_id, number, attempt, last_seq, events, intents, at)
    select gen_random_uuid(), %(team)s, id, k, 1, k * %(events)s / %(intents)s,
        (select json_agg(json_build_array('node_state_change', json_build_object('node', 'n' || e, 'status', 'completed',
            'kind', 'template-transform', 'title', 'A node', 'rounds', '[]'::json, 'elapsed', 0.01)))
         from generate_series((k - 1) * %(events)s / %(intents)s + 1, k * %(events)s / %(intents)s) e),
        json_build_array(json_build_object('node_key', 'n' || k, 'rounds', '[]'::json, 'idempotency_key', id || ':n' || k,
            'is_repeated', false)), at
    from batch, generate_series(1, %(intents)s) k""",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path, metavar="FILE", help="file for the results")
    add_really_option(parser)
    options = parser.parse_args()
    with run_temporary_services(really=options.really):
        bars, measured = _measure(options.runs)
        return report(bars, measured, options.json)


def _measure(run_count: int) -> tuple[list[Bar], dict[str, object]]:
    world = _create_world()
    _generate(world, run_count)
    sizes = _measure_sizes(world, run_count)
    lists = _measure_lists(world)
    with_failed = _measure_drop()
    _generate(world, run_count, failed_every=2**31 - 1)
    plain = _measure_drop()
    bars = [
        Bar("list of nearly all runs, p95", lists["nearly all"], LIST_MS, " ms"),
        Bar("list of a few of the runs, p95", lists["a few"], LIST_MS, " ms"),
        Bar("a month dropped", plain["seconds"], DROP_SECONDS, " s"),
    ]
    measured = {
        "runs": run_count,
        "sizes": sizes,
        "lists_ms": lists,
        "drop": plain,
        "drop_with_1_percent_failed": with_failed,
    }
    return bars, measured


def _create_world() -> dict[str, Any]:
    from accounts.models import Membership, User
    from accounts.principals import load_user_principal
    from accounts.tenancy import tenant
    from tests.factories.workflows import document
    from workflows.services.catalog import importing
    from workflows.services.editor.snapshots import take_snapshot

    owner, team = create_operator()
    few = User.objects.create_user(f"rare-{team.pk.hex}@example.org", name="Rare")
    with tenant([team.pk]):
        Membership.objects.create(team=team, user=few, role="editor")
    workflows = [
        importing.import_document(
            load_user_principal(owner), team_id=team.pk, source=document(name), name=name
        ).workflow
        for name in ("Orders", "Other")
    ]
    with tenant([team.pk]):
        snapshot = take_snapshot(workflows[0])
    with _owner_cursor() as cursor:
        cursor.execute(FUNCTION)
    return {
        "team": team.pk,
        "all": owner,
        "few": few,
        "workflow": workflows[0].pk,
        "other": workflows[1].pk,
        "snapshot": snapshot.pk,
    }


def _generate(
    world: Mapping[str, Any], run_count: int, *, failed_every: int = FAILED_EVERY
) -> None:
    """Insert runs that end an hour ago and began 30 days before, at equal distances."""
    start = time.perf_counter()
    values = {
        **world,
        "all": world["all"].pk, "few": world["few"].pk, "distance": f"{DAYS * 86_400 / run_count} seconds",
        "steps": STEPS, "events": EVENTS, "intents": INTENTS,
        "failed_every": failed_every, "rare_every": RARE_EVERY,
    }  # fmt: skip
    with _owner_cursor() as cursor:
        cursor.execute("truncate workflows_run, workflows_step, workflows_runcommit")
        cursor.execute("select history_add_weeks(now() - interval '31 days', now())")
        for first in range(0, run_count, BATCH):
            bounds = {"first": first, "last": min(first + BATCH, run_count) - 1}
            cursor.execute("drop table if exists batch")
            for statement in (NUMBERED, *INSERTS):
                cursor.execute(statement.replace(" % ", " %% "), values | bounds)
        cursor.execute("drop table batch")
        for table in ("run", "step", "runcommit"):
            cursor.execute(f"vacuum analyze workflows_{table}")
    _say(f"{run_count:,} runs generated in {time.perf_counter() - start:.0f} s")


def _measure_sizes(world: Mapping[str, Any], run_count: int) -> dict[str, float]:
    """Return the bytes of a run on disk, and those that the page of storage estimates."""
    from workflows.execution.history.upkeep import list_weeks
    from workflows.services.runs.storage import load_storage

    size = sum(week.size for week in list_weeks())
    estimate = sum(row.size for row in load_storage(world["team"]))
    _say(
        f"{size / 1e6:,.0f} MB on disk, {size / run_count:,.0f} bytes a run "
        f"({STEPS} steps, {EVENTS} events, {INTENTS} intent); the page says {estimate / run_count:,.0f}"
    )
    return {"bytes": size, "bytes_per_run": size / run_count, "estimated": estimate / run_count}


def _measure_lists(world: Mapping[str, Any]) -> dict[str, float]:
    """Return the 95th percentile of each list in milliseconds."""
    from django.utils import timezone

    day = timezone.localdate() - timedelta(days=10)
    pages = {"nearly all": (world["all"], "/runs/"), "a few": (world["few"], "/runs/")}
    pages |= {
        f"by {name}": (world["all"], f"/runs/?{query.format(day=day)}")
        for name, query in FILTERS.items()
    }
    moment = f"{day}T12:00:00.000000Z~ffffffff-ffff-7fff-bfff-ffffffffffff"
    pages |= {
        "10 days ago": (world["all"], f"/runs/?before={moment}"),
        "of the team": (world["all"], "/runs/team/"),
        "API": (world["all"], "/api/v1/runs"),
        "storage": (world["all"], "/runs/storage/"),
    }
    milliseconds = {}
    for name, (person, url) in pages.items():
        milliseconds[name] = _measure_page(person, url)
        _say(f"list {name:28} p95 {milliseconds[name]:9.1f} ms")
    return milliseconds


def _measure_page(person: Any, url: str) -> float:
    from django.test import Client

    client = Client(headers={"host": "localhost"})
    client.force_login(person)
    durations = []
    for _ in range(REQUESTS + 1):
        start = time.perf_counter()
        response = client.get(url)
        durations.append((time.perf_counter() - start) * 1000)
        if response.status_code != 200:
            raise SystemExit(f"{url}: {response.status_code}")
        if sum(durations) > 20_000:
            break
    return compute_percentile([*durations[1:], durations[-1]], 95)


def _measure_drop() -> dict[str, float]:
    """Drop the weeks of the month that are over, as upkeep does, and return the seconds and the numbers.

    Meanwhile somebody reads a run of today again and again; the longest of these reads has waited for a lock.
    """
    from django.conf import settings
    from django.db import connection
    from django.utils import timezone

    from workflows.execution.history import upkeep

    _forget_files()
    weeks, seconds, moved = 0, [], 0
    with patch.object(settings, "RUN_KEEP_DAYS", 1):
        over = [week for week in upkeep.list_weeks() if week.is_over(timezone.now(), 1)]
        runs = sum(week.run_count for week in over)
        with _read_on() as reads:
            for week in over:
                connection.close()
                start = time.perf_counter()
                moved += upkeep.drop_week(week.name) or 0
                seconds.append(time.perf_counter() - start)
                weeks += 1
    _say(
        f"{weeks} weeks with {runs:,} runs dropped in {sum(seconds):.2f} s, the longest in {max(seconds):.2f} s; "
        f"{moved:,} runs stay; the longest wait of a reader was {max(reads):.2f} s"
    )
    return {
        "seconds": sum(seconds),
        "longest_seconds": max(seconds),
        "longest_lock_seconds": max(reads),
        "weeks": weeks,
        "runs": runs,
        "moved": moved,
    }


def _forget_files() -> None:
    """Have the tables' files written and removed from the system's memory, where weeks of a month ago are not either."""
    with _owner_cursor() as cursor:
        cursor.execute("checkpoint")
        cursor.execute("show data_directory")
        folder = Path(cursor.fetchone()[0]) / "base"
    for path in folder.rglob("*"):
        if path.is_file():
            file = os.open(path, os.O_RDONLY)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)


@contextmanager
def _read_on() -> Iterator[list[float]]:
    """Read the newest run without a pause in another thread, and note the seconds of each read."""
    seconds, is_over = [0.0], threading.Event()

    def read() -> None:
        with _owner_cursor() as cursor:
            while not is_over.is_set():
                start = time.perf_counter()
                cursor.execute("select id from workflows_run order by id desc limit 1")
                seconds.append(time.perf_counter() - start)
                time.sleep(0.005)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield seconds
    finally:
        is_over.set()
        reader.join()


def _owner_cursor() -> Any:
    from django.db import connections

    return connections["owner"].cursor()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
