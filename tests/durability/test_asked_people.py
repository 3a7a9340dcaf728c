"""Questions that ask people, through real workers: who may answer is stored with them, and an archived workflow asks nobody."""

from datetime import timedelta
from threading import Event

from accounts.tenancy import tenant
from tests.durability.conftest import Cluster, answer_from_now_on
from tests.durability.test_debugging import made
from tests.durability.test_waits import (
    BESIDE_A_MODEL,
    ask,
    begin,
    graph,
    open_waits,
    until_paused,
)
from tests.fakes.openai_server import Answer, FakeOpenAI
from tests.support.cast import Cast
from workflows.execution.driver import ARCHIVED
from workflows.models import Run
from workflows.services.editor.drafts import archive
from workflows.services.runs import waits


def test_member_who_is_asked_answers_a_run_of_somebody_else(cluster: Cluster, cast: Cast) -> None:
    key = str(cast.vic.user.pk)
    node = ask(answerers=[{"type": "member", "value": key}], remind_after=3600)
    edges = ["start>ask", "ask:send>end"]
    workflow = made(cast, graph([node], edges, name=["ask", "name"]))
    cluster.start()
    run = begin(cast, workflow)

    row = until_paused(cluster, run)
    wait = open_waits(cast, run)["ask"]
    with tenant([run.team_id]):
        paused = Run.objects.unscoped().get(pk=run.pk)
        question = waits.find_question(cast.vic.principal, wait.pk)
        waits.answer_wait(
            cast.vic.principal,
            question.run,
            wait_id=wait.pk,
            values={"name": "Mia"},
            action="send",
        )

    assert row["pause"]["asks_others"]
    assert paused.status_text == "Waiting for an answer"
    assert wait.answerers == [f"user:{key}"]
    assert wait.remind_at is not None
    assert timedelta(minutes=59) < wait.remind_at - wait.created_at < timedelta(minutes=61)
    assert wait.escalate_at is None
    assert cluster.until_ended(run)["outputs"] == {"name": "Mia"}
    cluster.check(run)


def test_run_that_comes_to_ask_after_its_workflow_was_archived_ends_with_the_reason(
    cluster: Cluster, cast: Cast, models: None, ledger: FakeOpenAI, held: Answer, gate: Event
) -> None:
    answer_from_now_on(ledger, held)
    workflow = made(cast, BESIDE_A_MODEL)
    cluster.start()
    run = begin(cast, workflow)
    cluster.until(lambda: "ask" in open_waits(cast, run))

    archive(cast.alice.principal, workflow=workflow)
    gate.set()
    end = cluster.until_ended(run)

    assert (end["status"], end["error"]) == ("stopped", ARCHIVED)
    cluster.check(run)
