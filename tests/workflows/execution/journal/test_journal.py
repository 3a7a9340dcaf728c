"""The journal on real PostgreSQL: what shares a commit, who is fenced out, what a lost reply does."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import psycopg
import pytest
from asgiref.sync import sync_to_async

from config.redaction import NO_REDACTION, Redactor
from tests.factories.workflows import make_workflow
from tests.support.cast import Cast
from tests.support.waiting import until_async
from workflows.engine.runtime.events import NodeStateChange, RunFinished, TextChunk
from workflows.engine.runtime.step_records import StepKey, StepRecord, StepStatus
from workflows.execution import claims
from workflows.execution.claims import Claim
from workflows.execution.db import Database
from workflows.execution.errors import FencedOut
from workflows.execution.events.bus import Publisher
from workflows.execution.journal.journal import DurableJournal
from workflows.execution.journal.masking import build_run_redactor
from workflows.execution.journal.outbox import Outbox
from workflows.models import Run
from workflows.services.runs.runs import start_run


pytestmark = pytest.mark.django_db(transaction=True)


class Forgetful(Database):
    """Does what it is told and loses the reply, as many times as it was asked to."""

    losses = 0
    commits = 0

    async def fetch_value(self, statement: str, values: Sequence[object]) -> Any:
        found = await super().fetch_value(statement, values)
        self.commits += 1
        if self.losses:
            self.losses -= 1
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        return found


@pytest.fixture
async def db() -> AsyncIterator[Forgetful]:
    made = Forgetful()
    yield made
    await made.close()


@pytest.fixture
def run(cast: Cast) -> Run:
    return start_run(cast.alice.principal, workflow=make_workflow(cast.alice), inputs={"text": "x"})


async def claimed(db: Database, run: Run) -> Claim:
    claim = await claims.claim_run(db, run.pk, "tester")
    assert claim is not None
    return claim


async def let_lease_run_out(owner: psycopg.Connection[Any], run: Run) -> None:
    """Let the run's worker be taken for dead, which it isn't in the first seconds after a start of the database."""
    owner.execute("update workflows_run set lease_until = now() where id = %s", (run.pk,))
    question = "select execution_is_abandoned(lease_until) from workflows_run where id = %s"
    await until_async(lambda: owner.execute(question, (run.pk,)).fetchone() == (True,))


def journal_of(claim: Claim, db: Database, redactor: Redactor = NO_REDACTION) -> DurableJournal:
    return DurableJournal(claim, db, Outbox(Publisher(None)), redactor=redactor)


def done(node: str) -> tuple[StepRecord, list[NodeStateChange]]:
    record = StepRecord(StepKey(node), "x", StepStatus.SUCCEEDED, outputs={"o": node})
    return record, [NodeStateChange(node, "completed", at=0.0)]


END = {"status": "succeeded", "outputs": {}}


def rows(owner: psycopg.Connection[Any], run: Run, what: str) -> list[Any]:
    wanted = {
        "events": "select seq, name from workflows_runevent where run_id = %s order by seq",
        "steps": "select node_key from workflows_step where run_id = %s order by id",
        "intents": "select node_key, attempt from workflows_stepintent where run_id = %s order by id",
        "texts": "select segments::text from workflows_runpartial where run_id = %s",
    }
    return owner.execute(wanted[what], (run.pk,)).fetchall()


async def test_steps_that_are_not_written_yet_share_the_last_commit(
    run: Run, db: Forgetful, owner_db: psycopg.Connection[Any]
) -> None:
    journal = journal_of(await claimed(db, run), db)
    commits = db.commits

    await journal.record(*done("a"))
    await journal.record(*done("b"))
    await journal.finish(RunFinished("succeeded"), END)

    assert db.commits - commits == 1
    assert rows(owner_db, run, "steps") == [("a",), ("b",)]
    journal.close()


async def test_end_of_a_run_is_sent_without_waiting_for_further_events(
    db: Forgetful, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workflows.execution.journal.outbox.EVENTS_DELAY", 86_400.0)
    sent: list[tuple[str, str]] = []

    async def publish(_self: Publisher, messages: list[tuple[str, str]]) -> None:
        sent.extend(messages)

    monkeypatch.setattr(Publisher, "publish", publish)
    journal = journal_of(await claimed(db, run), db)

    await journal.finish(RunFinished("succeeded"), END)  # the journal isn't closed yet

    await until_async(lambda: sent)
    assert RunFinished.name in sent[0][1]
    journal.close()


@pytest.mark.parametrize("answer", [True, False])
async def test_end_of_a_run_answers_a_question_in_the_same_commit(
    run: Run, db: Forgetful, owner_db: psycopg.Connection[Any], answer: bool
) -> None:
    journal = journal_of(await claimed(db, run), db)
    commits = db.commits

    found = await journal.finish(RunFinished("succeeded"), END, ("select %s::boolean", (answer,)))

    assert (found, db.commits - commits) == (answer, 1)
    assert rows(owner_db, run, "events") == [(1, "run_finished")]
    journal.close()


async def test_question_at_the_end_is_not_answered_for_a_run_of_another_attempt(
    run: Run, db: Forgetful, owner_db: psycopg.Connection[Any]
) -> None:
    journal = journal_of(await claimed(db, run), db)
    await let_lease_run_out(owner_db, run)
    await claimed(db, run)

    with pytest.raises(FencedOut):
        await journal.finish(RunFinished("succeeded"), END, ("select %s::boolean", (True,)))

    journal.close()


async def test_caller_that_is_cancelled_leaves_the_commit_to_the_others(
    run: Run, db: Forgetful, owner_db: psycopg.Connection[Any]
) -> None:
    journal = journal_of(await claimed(db, run), db)
    cancelled = asyncio.create_task(journal.intend(StepKey("a")))
    waiting = asyncio.create_task(journal.intend(StepKey("b")))
    await asyncio.sleep(0)

    cancelled.cancel()
    await waiting

    assert cancelled.cancelled()
    assert rows(owner_db, run, "intents") == [("a", 1), ("b", 1)]
    journal.close()


async def test_commit_whose_reply_was_lost_is_not_written_twice(
    run: Run, db: Forgetful, owner_db: psycopg.Connection[Any]
) -> None:
    journal = journal_of(await claimed(db, run), db)
    db.losses = 2

    await journal.record(*done("a"))
    await journal.flush()
    db.losses = 1
    await journal.finish(RunFinished("succeeded"), END)

    assert rows(owner_db, run, "events") == [(1, "node_state_change"), (2, "run_finished")]
    assert rows(owner_db, run, "steps") == [("a",)]
    journal.close()


async def test_intent_whose_reply_was_lost_is_not_written_twice(
    run: Run, db: Forgetful, owner_db: psycopg.Connection[Any]
) -> None:
    journal = journal_of(await claimed(db, run), db)
    db.losses = 1

    await journal.intend(StepKey("a"))

    assert rows(owner_db, run, "intents") == [("a", 1)]
    journal.close()


async def test_older_attempt_can_write_nothing(
    run: Run, db: Forgetful, owner_db: psycopg.Connection[Any]
) -> None:
    mine = await claimed(db, run)
    journal = journal_of(mine, db)
    await let_lease_run_out(owner_db, run)
    other = await claimed(db, run)

    with pytest.raises(FencedOut):
        await journal.intend(StepKey("a"))
    with pytest.raises(FencedOut):
        await journal.finish(RunFinished("succeeded"), END)

    assert (mine.attempt, other.attempt) == (1, 2)
    assert [rows(owner_db, run, what) for what in ("events", "intents")] == [[], []]
    journal.close()


async def test_dead_worker_whose_commit_is_still_being_made_is_not_blamed(
    run: Run, db: Forgetful, owner_db: psycopg.Connection[Any]
) -> None:
    journal = journal_of(await claimed(db, run), db)
    owner_db.execute("update workflows_run set kill_count = 2 where id = %s", (run.pk,))
    with psycopg.connect(owner_db.info.dsn, password=owner_db.info.password) as open_commit:
        append = "select execution_append(%s, %s, 1, 1, 1, false, %s, %s, null)"
        await journal.record(*done("a"))
        batch = journal._batch
        values = (run.team_id, run.pk, batch.to_events_json(), f"[{batch.steps[0]}]")
        open_commit.execute(append, values)

        parking = asyncio.create_task(
            asyncio.to_thread(
                owner_db.execute,
                "select execution_park(%s, 'tester', 'crashed', '{}')",
                (run.pk,),
            )
        )
        # It waits for the commit.
        blocked_by = "select pg_backend_pid() = any (pg_blocking_pids(%s))"
        pid = owner_db.info.backend_pid
        await until_async(lambda: open_commit.execute(blocked_by, (pid,)).fetchone() == (True,))
        assert not parking.done()
        open_commit.commit()

    assert (await parking).fetchone() == (False,)
    assert rows(owner_db, run, "events") == [(1, "node_state_change")]
    journal.close()


async def test_run_that_is_failed_during_a_commit_ends_after_its_events(
    run: Run, db: Forgetful, owner_db: psycopg.Connection[Any]
) -> None:
    journal = journal_of(await claimed(db, run), db)
    await journal.record(*done("a"))
    committing = asyncio.create_task(journal.flush())
    await asyncio.sleep(0)

    await journal.wait_for_writer()

    assert (journal.seq, journal.commit_count) == (1, 1)
    await committing
    journal.close()


@pytest.mark.parametrize("limit", [3, 25, None])
async def test_events_are_listed_after_a_number_in_their_order(
    run: Run, db: Forgetful, owner_db: psycopg.Connection[Any], limit: int | None
) -> None:
    journal = journal_of(await claimed(db, run), db)
    for number in range(60):
        await journal.record(*done(f"n{number}"))
    await journal.flush()
    query = "select seq, data->>'node' from execution_list_events(%s, %s, %s)"

    listed, after = [], 0
    while page := owner_db.execute(query, (run.pk, after, limit)).fetchall():
        listed += page
        after = page[-1][0]
        assert len(page) == min(limit or 60, 60) or after == 60

    assert listed == [(number + 1, f"n{number}") for number in range(60)]
    journal.close()


async def test_quick_steps_share_commits(
    run: Run, db: Forgetful, owner_db: psycopg.Connection[Any]
) -> None:
    journal = journal_of(await claimed(db, run), db)
    before = db.commits

    for number in range(100):
        await journal.record(*done(f"n{number}"))
    await journal.flush()

    assert db.commits - before <= 10
    assert len(rows(owner_db, run, "steps")) == len(rows(owner_db, run, "events")) == 100
    journal.close()


async def test_next_intent_and_result_of_an_effect_are_one_commit(
    run: Run, db: Forgetful, owner_db: psycopg.Connection[Any]
) -> None:
    journal = journal_of(await claimed(db, run), db)
    before = db.commits

    for node in ("a", "b", "c"):
        await journal.intend(StepKey(node))
        # No effect begins before what was done before it is written, and its own intent.
        assert rows(owner_db, run, "intents")[-1] == (node, 1)
        assert len(rows(owner_db, run, "steps")) == "abc".index(node)
        await journal.record(*done(node))
    await journal.flush()

    assert db.commits - before == 4
    journal.close()


async def test_result_of_the_last_effect_is_written_without_anybody_waiting(
    run: Run, db: Forgetful, owner_db: psycopg.Connection[Any]
) -> None:
    journal = journal_of(await claimed(db, run), db)
    await journal.intend(StepKey("a"))
    await journal.record(*done("a"))

    await until_async(lambda: rows(owner_db, run, "steps"))

    journal.close()


async def test_secret_in_pieces_is_in_no_row_and_in_no_text(
    run: Run, db: Forgetful, owner_db: psycopg.Connection[Any]
) -> None:
    mask = build_run_redactor(str(run.pk), {"KEY": "sk-abcdef"})
    journal = journal_of(await claimed(db, run), db, mask)

    for piece in ("it is sk-", "abc", "def, and s"):
        journal.publish(TextChunk("end", piece, "llm"))
        assert "sk-" not in journal.transcript.text
    await journal.finish(RunFinished("succeeded"), END)

    ((text,),) = rows(owner_db, run, "texts")
    assert "sk-" not in text
    assert "it is [secret KEY" in text
    assert ", and s" in text
    journal.close()


async def test_database_that_cuts_every_connection_stops_no_run(
    run: Run, db: Forgetful, owner_db: psycopg.Connection[Any]
) -> None:
    journal = journal_of(await claimed(db, run), db)

    for number in range(30):
        if number % 5 == 0:
            await sync_to_async(_cut)(owner_db)
        await journal.intend(StepKey(f"n{number}"))
        await journal.record(*done(f"n{number}"))
    await journal.finish(RunFinished("succeeded"), END)

    assert [seq for seq, _name in rows(owner_db, run, "events")] == list(range(1, 32))
    assert len(rows(owner_db, run, "steps")) == len(rows(owner_db, run, "intents")) == 30
    journal.close()


def _cut(owner: psycopg.Connection[Any]) -> None:
    owner.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity "
        "where application_name = 'mnemoflow-runs' and datname = current_database()"
    )
