"""Which queued run a worker claims next, and what that costs with ten thousand of them."""

import json
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.db import connection, transaction

from tests.factories.workflows import make_version, make_workflow, within
from tests.support.cast import Cast, make_key
from tests.support.waiting import until
from workflows.models import ActiveRun, Workflow


pytestmark = pytest.mark.django_db(transaction=True)

CLAIM = "select execution_claim_next('w', interval '15 s', %s::uuid[], %s::uuid[], %s, %s)"
ADD = """
    insert into workflows_run (
        id, team_id, workflow_id, snapshot_id, actor, subject, status, inputs, system, offline, error, error_node,
        exceptions_count, prompt_tokens, completion_tokens, attempt, kill_count, worker, last_seq, created_at, queued_at,
        api_key_id, has_untrusted_inputs, has_untrusted_outputs, is_counted)
    select gen_random_uuid(), %(team)s, %(workflow)s, %(snapshot)s, 'user:1', '1', 'queued', '{}', '{}', false, '', '',
        0, 0, 0, 0, 0, '', 0, now(), now() - %(age)s * interval '1 s' + n * interval '1 ms',
        %(key)s, false, false, false
    from generate_series(1, %(count)s) as n
    returning id
"""


class Queue:
    """Adds queued runs as rows, and claims as a worker does."""

    def __init__(self, db: psycopg.Connection[Any]) -> None:
        self._db = db
        self.served: list[UUID] = []

    def add(
        self, workflow: Workflow, count: int = 1, *, age: float = 60, key: UUID | None = None
    ) -> list[UUID]:
        values = {
            "team": workflow.team_id, "workflow": workflow.pk, "count": count, "age": age, "key": key,
            "snapshot": self._find_snapshot(workflow),
        }  # fmt: skip
        return [row[0] for row in self._db.execute(ADD, values).fetchall()]

    def claim(
        self,
        *,
        full: tuple[UUID, ...] = (),
        team_limit: int | None = None,
        workflow_limit: int | None = None,
    ) -> dict[str, Any] | None:
        with connection.cursor() as cursor:
            cursor.execute(CLAIM, [list(full), self.served, team_limit, workflow_limit])
            text = cursor.fetchone()[0]
        if text is None:
            return None
        row: dict[str, Any] = (json.loads(text) if isinstance(text, str) else text)["run"]
        team = UUID(row["team_id"])
        self.served = [*(other for other in self.served if other != team), team]
        return row

    def claim_workflows(self, count: int, **limits: Any) -> list[str]:
        """Claim this many runs, and return the ids of their workflows; a name for none."""
        rows = [self.claim(**limits) for _ in range(count)]
        return [row["workflow_id"] if row else "none" for row in rows]

    def end(self, run_id: str) -> None:
        self._db.execute(
            "update workflows_run set status = 'succeeded', finished_at = now() where id = %s",
            (run_id,),
        )

    def end_queued(self, *, keep: int) -> None:
        """End all queued runs but the newest ones. Their dead entries remain in the indexes until a vacuum."""
        self._db.execute(
            "update workflows_run set status = 'stopped', finished_at = now() where id in "
            "(select id from workflows_activerun where not is_running order by queued_at desc offset %s)",
            (keep,),
        )

    def count_fewest_buffers(self) -> int:
        """Claim a run ten times, take it back each time, and return how many pages the cheapest claim touched.

        Before them, do what PostgreSQL does by itself within a minute of a thousand changes: remove dead entries, and
        drop plans that were made for tables of another size. The first claim after that also reads the catalogue.
        """
        self._db.execute("vacuum (analyze) workflows_activerun, workflows_run")
        return min(self._count_buffers() for _ in range(10))

    def _count_buffers(self) -> int:
        statement = "explain (analyze, buffers, format json) " + CLAIM
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement, [[], [], None, None])
            plan = cursor.fetchone()[0]
            transaction.set_rollback(True)
        node = (json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]
        return int(node["Shared Hit Blocks"] + node["Shared Read Blocks"])

    def _find_snapshot(self, workflow: Workflow) -> UUID:
        row = self._db.execute(
            "select snapshot_id from workflows_version where workflow_id = %s", (workflow.pk,)
        ).fetchone()
        assert row is not None
        snapshot: UUID = row[0]
        return snapshot


@pytest.fixture
def queue(owner_db: psycopg.Connection[Any]) -> Queue:
    return Queue(owner_db)


@pytest.fixture
def ours(cast: Cast) -> Workflow:
    return make_published(cast.alice)


@pytest.fixture
def theirs(cast: Cast) -> Workflow:
    return make_published(cast.carol)


def make_published(person: Any) -> Workflow:
    workflow = make_workflow(person)
    make_version(person, workflow)
    return workflow


def test_team_with_one_run_comes_before_the_second_of_one_with_many(
    queue: Queue, ours: Workflow, theirs: Workflow
) -> None:
    queue.add(ours, 100, age=3600)
    queue.add(theirs, 2, age=1)

    claimed = queue.claim_workflows(5)

    assert sorted(claimed[:2]) == sorted(claimed[2:4]) == sorted([str(ours.pk), str(theirs.pk)])
    assert claimed[4] == str(ours.pk)


def test_team_whose_last_turn_was_longest_ago_comes_first_although_none_of_its_runs_is_older(
    queue: Queue, ours: Workflow, theirs: Workflow
) -> None:
    queue.add(ours, 5, age=3600)
    queue.add(theirs, 5, age=1)
    queue.served = [theirs.team_id, ours.team_id]

    assert queue.claim_workflows(1) == [str(theirs.pk)]


def test_team_that_may_take_no_slot_is_passed_over(
    queue: Queue, ours: Workflow, theirs: Workflow
) -> None:
    queue.add(ours, 2, age=3600)
    queue.add(theirs, 1)

    claimed = queue.claim_workflows(2, full=(ours.team_id,))

    assert claimed == [str(theirs.pk), "none"]


def test_workflows_of_a_team_share_its_turns(cast: Cast, queue: Queue, ours: Workflow) -> None:
    other = make_published(cast.alice)
    queue.add(ours, 10, age=3600)
    queue.add(other, 2, age=1)

    claimed = queue.claim_workflows(5)

    assert claimed == [str(pk) for pk in (ours.pk, other.pk, ours.pk, other.pk, ours.pk)]


def test_oldest_run_of_a_workflow_comes_first(queue: Queue, ours: Workflow) -> None:
    (young,) = queue.add(ours, age=1)
    (old,) = queue.add(ours, age=100)

    rows = [queue.claim() for _ in range(2)]

    assert [row and row["id"] for row in rows] == [str(old), str(young)]


def test_batch_waits_for_chats_and_trials_but_for_ten_minutes_only(
    cast: Cast, queue: Queue, ours: Workflow
) -> None:
    key = make_key(cast, cast.alice)[0].pk
    batch = queue.add(ours, 2, age=300, key=key)
    (trial,) = queue.add(ours, age=1)

    rows = [queue.claim() for _ in range(3)]

    assert [row and row["id"] for row in rows] == [str(trial), str(batch[0]), str(batch[1])]
    (late,) = queue.add(ours, age=601, key=key)
    (trial,) = queue.add(ours, age=1)
    assert (queue.claim() or {})["id"] == str(late)


def test_running_runs_of_a_team_are_limited(queue: Queue, ours: Workflow, theirs: Workflow) -> None:
    queue.add(ours, 5, age=3600)
    queue.add(theirs, 1)

    claimed = queue.claim_workflows(4, team_limit=2)

    assert sorted(claimed) == sorted([str(ours.pk), str(ours.pk), str(theirs.pk), "none"])


def test_running_runs_of_a_workflow_are_limited(cast: Cast, queue: Queue, ours: Workflow) -> None:
    other = make_published(cast.alice)
    queue.add(ours, 5, age=3600)
    queue.add(other, 1)

    claimed = queue.claim_workflows(3, workflow_limit=1)

    assert sorted(claimed) == sorted([str(ours.pk), str(other.pk), "none"])


def test_run_leaves_the_queue_however_it_ends(
    queue: Queue, ours: Workflow, owner_db: psycopg.Connection[Any]
) -> None:
    ended, deleted, paused = queue.add(ours, 3)
    move = "update workflows_run set status = %s, finished_at = now() where id = %s"
    owner_db.execute(move, ("stopped", ended))
    owner_db.execute(move, ("paused", paused))
    owner_db.execute("delete from workflows_run where id = %s", (deleted,))

    assert queue.claim() is None
    owner_db.execute(move, ("queued", paused))
    assert (queue.claim() or {})["id"] == str(paused)


def test_team_sees_only_its_own_part_of_the_queue(
    cast: Cast, queue: Queue, ours: Workflow, theirs: Workflow
) -> None:
    queue.add(ours, 2)
    queue.add(theirs, 3)

    with within(cast.alice):
        assert ActiveRun.objects.unscoped().count() == 2


def test_claim_costs_the_same_with_ten_thousand_queued_runs(
    queue: Queue, ours: Workflow, theirs: Workflow
) -> None:
    queue.add(ours, 100)
    queue.add(theirs, 1)
    with_hundred = queue.count_fewest_buffers()
    queue.add(ours, 10_000)

    with_ten_thousand = queue.count_fewest_buffers()

    assert with_ten_thousand < 2 * with_hundred


def test_ten_thousand_queued_runs_drain_at_constant_cost(queue: Queue, ours: Workflow) -> None:
    queue.add(ours, 10_000)

    def drain(count: int) -> None:
        for _ in range(count):
            row = queue.claim()
            assert row is not None
            queue.end(row["id"])

    drain(200)
    first = queue.count_fewest_buffers()
    queue.end_queued(keep=2_000)
    drain(200)

    # Dead entries are removed once no other session, such as one that analyzes, has a snapshot from before their end.
    until(lambda: queue.count_fewest_buffers() < 2 * first, why="a claim costs more than at first")
    assert queue.claim() is not None
