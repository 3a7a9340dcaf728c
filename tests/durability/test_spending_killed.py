"""Workflows that an agent calls at once, whose worker is killed with -9 during their calls: they keep to its limit."""

from typing import Any

import pytest

from tests.durability.children import Make, children, line, llm, make_workflow
from tests.durability.conftest import Cluster, answer_from_now_on
from tests.fakes.openai_server import Answer, Call, FakeOpenAI, Request
from tests.support.cast import Cast
from workflows.models import Workflow
from workflows.services.runs.runs import start_run
from workflows.services.tools.workflow_tools import change_tool_settings


__all__ = ["make_workflow"]  # the fixture

TOKENS = 20  # of each answer
AT_ONCE = 3


def agent(inner: Workflow, **limits: Any) -> dict[str, Any]:
    return {
        "type": "agent",
        "title": "Agent",
        "model": {"provider": "ledger", "name": "small", "mode": "chat"},
        "query": "Go on.",
        "tools": [{"source": "workflow", "provider": inner.slug, "name": inner.slug}],
        **limits,
    }


def answer(request: Request) -> Answer:
    """Call the workflow several times at once as long as it is offered."""
    tools = request.body.get("tools") or []
    calls = [Call(tools[0]["function"]["name"], id=f"call-{n}") for n in range(AT_ONCE) if tools]
    return Answer("So be it.", calls=calls, usage=(0, TOKENS))


@pytest.mark.parametrize("length", [None, TOKENS])
def test_killed_worker_leaves_nothing_reserved_and_the_limit_holds(
    cluster: Cluster, cast: Cast, ledger: FakeOpenAI, make: Make, held: Answer, length: int | None
) -> None:
    """Without a length one call waits for its answer when the worker dies, with one as many as fit."""
    ask = llm("ask")
    if length is not None:
        ask["model"]["completion_params"] = {"max_tokens": length}
    inner = make("inner", line(*[ask] * 5))
    change_tool_settings(cast.alice.principal, workflow=inner, is_tool=True)
    outer = make("outer", line(agent(inner, max_tokens=5 * TOKENS)))
    answer_from_now_on(
        ledger, lambda request: answer(request) if request.body.get("tools") else held
    )
    run = start_run(cast.alice.principal, workflow=outer, inputs={})
    cluster.start("one")
    cluster.until(lambda: len(ledger.requests) >= (2 if length is None else 1 + AT_ONCE))
    cluster.kill("one")
    cluster.expire_leases()
    requests_before = len(ledger.requests)

    answer_from_now_on(ledger, answer)
    cluster.start("two")
    row = cluster.until_ended(run)

    assert row["status"] == "succeeded"
    errors = [cluster.row(child)["error"] for child in children(cluster, row["id"])]
    assert len(errors) == AT_ONCE
    assert all("is used up" in error for error in errors)
    # The first call of the agent was answered before: four more fit into its limit, and its last answer.
    assert len(ledger.requests) - requests_before == 4 + 1
    (shares,) = cluster.db.execute(
        "select shares from workflows_run where id = %s", (run.pk,)
    ).fetchone()
    assert [(each["tokens"], each["reserved"]) for each in shares.values()] == [(4 * TOKENS, {})]
