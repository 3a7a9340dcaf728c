"""Real workers: what a run taught is learnt after it ended, and reminds the next similar task."""

import json
from collections.abc import Callable
from typing import Any

from accounts.tenancy import tenant
from bench.chatter import CURATOR_PROMPT, ScriptedModel, build_document, make_chat, score_memories
from memory.public import LearningRule, set_learning_rule, summarize_curation
from tests.durability.conftest import Cluster
from tests.fakes.openai_server import Answer, Failure, FakeOpenAI, Request
from tests.memory.services.conftest import at_door
from tests.support.cast import Cast
from workflows.models import Run, Workflow
from workflows.services.catalog import importing
from workflows.services.credentials import create_provider
from workflows.services.runs.runs import start_run
from workflows.services.tasks import create_task, execute_task
from workflows.views.runs.memory.context import list_recalled


LEARNT = "Quick sort in Rust needs a random pivot"


def scripted(request: Request) -> str | Answer | Failure:
    """The curator's question gets JSON, any other an answer."""
    if "You keep the memory of a team" in request.last_message:
        return json.dumps(
            {
                "summary": "Quick sort was implemented",
                "key_learnings": [LEARNT],
                "category": "Result",
            }
        )
    return "Done."


def learns(cast: Cast, app: str = "", **rule: Any) -> None:
    learning = LearningRule(True, provider="ledger", model="small", **rule)
    set_learning_rule(at_door(cast.alice), app_id=app, learning=learning)


def curation(cluster: Cluster, run: Run) -> dict[str, Any] | None:
    cursor = cluster.db.execute(
        "select status, problem, counts, curator from memory_curation where run_id = %s"
        " and status in ('done', 'failed')",
        (str(run.pk),),
    )
    names = [column.name for column in cursor.description or ()]
    found = cursor.fetchone()
    return dict(zip(names, found, strict=True)) if found else None


def test_similar_task_is_reminded_of_what_the_last_one_taught(
    cluster: Cluster, cast: Cast, ledger: FakeOpenAI
) -> None:
    """seed 1: create, execute, learn in the background, and the next task has it in its prompt."""
    ledger.script(scripted)
    create_provider(
        cast.alice.principal,
        team_id=cast.team_a.pk,
        name="ledger",
        base_url=ledger.base_url,
        default_model="small",
    )
    cluster.start()
    first, second = (
        create_task(cast.alice.principal, team_id=cast.team_a.pk, title=title)
        for title in ("Implement quick sort", "Optimise the quick sort")
    )

    done = execute_task(cast.alice.principal, task=first).run
    assert done is not None
    assert cluster.until_ended(done)["status"] == "succeeded"
    learnt = cluster.until(lambda: curation(cluster, done))
    again = execute_task(cast.alice.principal, task=second).run
    assert again is not None
    assert cluster.until_ended(again)["status"] == "succeeded"

    assert (learnt["status"], learnt["problem"]) == ("done", "")
    assert learnt["curator"] == "ledger/small"
    before, after = (
        one.body["messages"]
        for one in ledger.requests
        if "the task that you are" in json.dumps(one.body)
    )
    assert [one["role"] for one in before] == ["system", "user"]
    assert [one["role"] for one in after] == ["system", "system", "user"]
    assert LEARNT in after[1]["content"]
    with tenant([cast.team_a.pk]):
        shown = list_recalled(cast.alice.principal, again)
    [pivot] = [one for one in shown if LEARNT in one.value]
    assert pivot.injected
    assert pivot.percent > 0
    assert pivot.source_run is not None
    assert pivot.source_run.run_id == done.pk


def test_chat_full_of_talk_leaves_its_facts_each_once(
    cluster: Cluster, cast: Cast, ledger: FakeOpenAI, workflow: Callable[..., Workflow]
) -> None:
    """issue 4: 200 messages through a real worker; ``bench.curation`` is its long form."""
    workflow("llm")  # connects the ledger
    chat, script = make_chat(7), ScriptedModel()
    script.learn(chat)
    ledger.script(
        lambda request: (
            script.answer(request.last_message)
            if CURATOR_PROMPT in request.last_message
            else "Noted."
        )
    )
    app = importing.import_document(
        cast.alice.principal,
        team_id=cast.team_a.pk,
        source=build_document({"provider": "ledger", "name": "small", "mode": "chat"}),
    ).workflow
    learns(cast, str(app.pk), token_budget=1_500)
    cluster.start()

    run = start_run(cast.alice.principal, workflow=app, inputs={"messages": list(chat.messages)})
    assert cluster.until_ended(run)["status"] == "succeeded"
    row = cluster.until(lambda: curation(cluster, run))

    found = summarize_curation(at_door(cast.alice), run_id=str(run.pk))
    assert found is not None
    texts = [one.text for one in found.entries if one.key.startswith("learning:")]
    result = score_memories(chat, texts)
    assert (row["status"], row["problem"]) == ("done", "")
    assert script.call_count >= 3  # in batches
    assert found.curation.repairs
    assert result.stored_facts == result.facts
    assert result.rejected_share >= 0.9
    assert result.duplicates == 0


def test_model_that_fails_the_curator_touches_neither_the_run_nor_its_time(
    cluster: Cluster,
    cast: Cast,
    ledger: FakeOpenAI,
    workflow: Callable[..., Workflow],
    held: Answer,
) -> None:
    """The curator's model never answers; runs end before, meanwhile and without it, after the same steps."""
    ledger.script(
        lambda request: held if "You keep the memory" in request.last_message else Answer("Done.")
    )
    app, plain = workflow("llm"), workflow("llm")
    learns(cast, str(app.pk), seconds=1)
    cluster.start()

    def ended(one: Workflow) -> Run:
        run = start_run(cast.alice.principal, workflow=one)
        assert cluster.until_ended(run)["status"] == "succeeded"
        return run

    without, *runs = (ended(one) for one in (plain, app, app, app))

    for run in runs:
        failed = cluster.until(lambda run=run: curation(cluster, run))
        assert failed["status"] == "failed"
        assert failed["problem"].startswith("No answer within")
    # A curation takes a second at least. Had a run waited for its own, it would have ended later.
    waited = cluster.db.execute(
        "select count(*) from memory_curation c join workflows_run r on r.id::text = c.run_id"
        " where r.finished_at > c.finished_at"
    )
    assert waited.fetchone() == (0,)
    assert {tuple(told(cluster, run)) for run in runs} == {tuple(told(cluster, without))}
    assert cluster.db.execute("select count(*) from memory_entry").fetchone() == (0,)


def told(cluster: Cluster, run: Run) -> list[str]:
    return [name for _seq, name, _data in cluster.events(run)]
