"""Runs that were made, and ended, some days ago."""

import secrets
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import OperationalError, connection, transaction
from django.utils import timezone

from accounts.tenancy import tenant
from tests.factories.workflows import make_journal, make_run
from tests.support.cast import Person
from workflows.models import Run, Workflow
from workflows.services.erasure import RUN_MODELS


LOCK_TRIES = 20


def id_of(at: datetime) -> UUID:
    """A UUIDv7 of this time."""
    milliseconds = int(at.timestamp() * 1000)
    return UUID(int=milliseconds << 80 | 7 << 76 | 2 << 62 | secrets.randbits(60))


def make_old(person: Person, workflow: Workflow, days: float, **fields: Any) -> Run:
    """A counted run with a row in each table of its journal; it ended as many days ago as it began."""
    at = timezone.now() - timedelta(days=days)
    given = {"status": "succeeded", "finished_at": at, "is_counted": True, "elapsed": 1.0}
    run = make_run(person, workflow, id=id_of(at), **{**given, **fields})
    make_journal(run)
    with tenant([run.team_id]):
        Run.objects.unscoped().filter(pk=run.pk).update(created_at=at)
    return run


def settle() -> None:
    """Check the deferred constraints now: a table can't be dropped before that, and a test is one transaction."""
    with connection.cursor() as cursor:
        cursor.execute("set constraints all immediate")


def make_week(at: datetime) -> None:
    """Create the partitions of the week of this time, as upkeep did at that time.

    The function gives up on a lock after half a second, and PostgreSQL's own vacuum may have it for longer. Upkeep tries
    again, too.
    """
    settle()
    for tries_left in reversed(range(LOCK_TRIES)):
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("select history_add_weeks(%s, %s)", [at, at])
                return
        except OperationalError:
            if not tries_left:
                raise


def partitions_of(run: Run) -> set[str]:
    """The ends of the names of the partitions in which the run's rows are."""
    with tenant([run.team_id]), connection.cursor() as cursor:
        cursor.execute(
            " union ".join(
                f"select substr(tableoid::regclass::text, {len(table) + 2}) from {table} where {key} = %(run)s"
                for table, key in tables()
            ),
            {"run": run.pk},
        )
        return {name for (name,) in cursor.fetchall()}


def tables() -> Iterator[tuple[str, str]]:
    with connection.cursor() as cursor:
        cursor.execute("select name, key from history_tables()")
        yield from cursor.fetchall()


def left_of(run: Run) -> dict[str, int]:
    """How many rows of the run are left, by table."""
    with tenant([run.team_id]):
        counts = {
            model._meta.db_table: model._base_manager.filter(run=run.pk).count()
            for model in RUN_MODELS
        }
        counts["workflows_run"] = Run.objects.unscoped().filter(pk=run.pk).count()
    return {table: count for table, count in counts.items() if count}
