"""What a test run would have remembered is kept in the run's order, and its places are locked in memory's."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.tenancy import tenant
from memory import services
from tests.factories.workflows import make_run, make_workflow
from tests.memory.services.conftest import at_door
from tests.support.cast import Person
from workflows.models import DryRunChange, Run
from workflows.models.run import RunStatus
from workflows.services.debugging.sandbox_memory import keep_memories


pytestmark = pytest.mark.django_db


def would_store(run: Run, number: int, scope: str, namespace: str) -> None:
    entry: dict[str, Any] = {"value": f"{scope} says", "metadata": {}, "category": "fact"}
    DryRunChange.objects.create(
        team_id=run.team_id,
        run=run,
        number=number,
        node_key="store",
        origin_key=f"step-{number}",
        operation=DryRunChange.Operation.STORE,
        scope=scope,
        namespace=namespace,
        key="k",
        entry={**entry, "tier": "long_term", "importance": 0.5},
    )


def test_places_are_locked_at_once_and_by_id_before_anything_is_kept(alice: Person) -> None:
    workflow = make_workflow(alice)
    system = {"user_id": str(alice.user.pk), "app_id": str(workflow.pk)}
    ended = {"status": RunStatus.SUCCEEDED, "finished_at": timezone.now()}
    run = make_run(alice, workflow, system=system, subject_user=alice.user, **ended)
    shared, own = f"global:{workflow.pk}", f"user:{alice.user.pk}"
    for place in (shared, own):
        services.remember(at_door(alice), namespace=place, key="there", value="already")
    with tenant([run.team_id]):
        would_store(run, 1, "user", own)
        would_store(run, 2, "global", shared)

    with CaptureQueriesContext(connection) as asked, tenant([run.team_id]):
        done = keep_memories(alice.principal, run)

    locks = [one["sql"] for one in asked.captured_queries if "FOR UPDATE" in one["sql"]]
    first = next(one for one in locks if 'FROM "memory_namespace"' in one)
    assert (done.count, done.refusals) == (2, {})
    assert 'ORDER BY "memory_namespace"."id" ASC FOR UPDATE' in first
    assert shared in first
    assert own in first
    for place in (shared, own):
        kept = services.recall(at_door(alice), namespace=place, key="k")
        assert [one.value for one in kept] == [f"{place.partition(':')[0]} says"]
