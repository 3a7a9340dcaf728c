"""A call of a workflow that a person allowed, through real workers: what runs below it stays as it was then."""

from typing import Any

from accounts.tenancy import tenant
from tests.durability.children import (
    Make,
    answer,
    ask,
    call,
    line,
    llm,
    only_child,
    until_paused,
)
from tests.durability.children import make_workflow as make_workflow
from tests.durability.conftest import Cluster, answer_from_now_on, asked
from tests.fakes.openai_server import Answer, Call, FakeOpenAI, Request
from tests.support.cast import Cast
from workflows.models import Run
from workflows.models.documents import from_json
from workflows.services.editor.drafts import replace_draft
from workflows.services.publishing import publish
from workflows.services.runs.runs import start_run
from workflows.services.runs.waits import answer_wait
from workflows.services.tools.workflow_tools import change_tool_settings


AGENT: dict[str, Any] = {
    "type": "agent",
    "title": "Agent",
    "model": {"provider": "ledger", "name": "small", "mode": "chat"},
    "query": "Begin",
    "tools": [
        {"source": "workflow", "provider": "middle", "name": "middle", "needs_approval": True}
    ],
}


def answer_model(request: Request) -> Answer:
    """Call the workflow once, and answer everything else with a word."""
    has_result = request.body["messages"][-1]["role"] == "tool"
    if "tools" not in request.body or has_result:
        return Answer("done")
    return Answer(calls=[Call("middle", "{}", "call-1")])


def allow(cluster: Cluster, cast: Cast, run: Run) -> None:
    query = "select id from workflows_runwait where run_id = %s and answered_at is null"
    ((wait_id,),) = cluster.until(lambda: cluster.db.execute(query, (run.pk,)).fetchall())
    with tenant([run.team_id]):
        row = Run.objects.unscoped().get(pk=run.pk)
        answer_wait(cast.alice.principal, row, wait_id=wait_id, values={}, action="allow")


def test_workflow_below_that_is_published_while_its_caller_waits_runs_as_it_was_allowed(
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI
) -> None:
    answer_from_now_on(ledger, answer_model)
    alice = cast.alice.principal
    inner = make("inner", line(llm("as it was allowed")))
    middle = make("middle", line(ask(), call("inner")))
    change_tool_settings(alice, workflow=middle, is_tool=True)
    outer = make("outer", line(AGENT))
    cluster.start("one", threads=1)
    run = start_run(alice, workflow=outer)
    until_paused(cluster, run)
    allow(cluster, cast, run)
    child = only_child(cluster, run)
    until_paused(cluster, child, run)

    replace_draft(alice, workflow=inner, document=from_json(line(llm("published since"))))
    publish(alice, workflow=inner)
    answer(cast, child, name="Mia")
    row = cluster.until_ended(run)

    assert (row["status"], row["outputs"]) == ("succeeded", {"text": "done"})
    assert (asked(ledger, "as it was allowed"), asked(ledger, "published since")) == (1, 0)
    cluster.check(child)
