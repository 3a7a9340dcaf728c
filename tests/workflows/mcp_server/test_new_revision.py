"""The revision 2026-07-28 on the same address: requests that stand for themselves, questions to a person, and tasks."""

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from accounts.tenancy import tenant
from tests.factories.workflows import make_version, make_workflow
from tests.support.cast import Cast, KeyClient
from tests.workflows.mcp_server.messages import NEW, ask_new, list_tool_names, post
from tests.workflows.test_waits import ask
from workflows.models import Run, RunWait
from workflows.models.run import RunStatus


pytestmark = pytest.mark.django_db(transaction=True)

TASKS = "io.modelcontextprotocol/tasks"
ASKING: dict[str, Any] = {"elicitation": {"form": {}}}
POLLING: dict[str, Any] = {**ASKING, "extensions": {TASKS: {}}}
FORM: dict[str, Any] = {
    "type": "form",
    "content": "How long?\n\n{{#$output.days#}}",
    "inputs": [
        {"name": "days", "type": "number", "required": True, "label": "Days"},
        {"name": "why", "type": "paragraph", "max_length": 20},
    ],
    "actions": [{"id": "go", "title": "Go"}, {"id": "stay", "title": "Stay"}],
}


@pytest.fixture
def client(cast: Cast, api_key: Callable[..., KeyClient]) -> KeyClient:
    return api_key(cast.alice)


def pause(cast: Cast, client: KeyClient, form: Any = FORM) -> RunWait:
    """Return the question of a run of a published workflow that this key has started."""
    workflow = make_workflow(cast.alice)
    make_version(cast.alice, workflow)
    return ask(cast.alice, form, workflow=workflow, started_by=None, api_key=client.key)


def load(wait: RunWait) -> RunWait:
    with tenant([wait.team_id]):
        return RunWait.objects.unscoped().select_related("run").get(pk=wait.pk)


def accept(wait: RunWait, **content: Any) -> dict[str, Any]:
    return {str(wait.pk): {"action": "accept", "content": content}}


def test_server_says_what_it_is_without_a_handshake(client: KeyClient) -> None:
    found = ask_new(client, "server/discover")

    assert found["supportedVersions"] == [NEW]
    assert set(found["capabilities"]) >= {"tools", "resources"}
    assert found["capabilities"]["extensions"] == {TASKS: {}}
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "mnemoflow"


def test_tools_come_in_the_same_order_and_may_be_kept_for_a_while(
    client: KeyClient, cast: Cast
) -> None:
    for name in ("Zebra", "Ant", "Mole"):
        make_version(cast.alice, make_workflow(cast.alice, name))

    lists = [ask_new(client, "tools/list") for _again in range(2)]
    names = [[tool["name"] for tool in found["tools"]] for found in lists]

    assert names[0] == names[1] == list_tool_names(client)
    assert names[0][-4:] == ["ant", "mole", "zebra", "get_run_result"]
    assert (lists[0]["ttlMs"], lists[0]["cacheScope"]) == (60_000, "private")


@pytest.mark.parametrize(
    ("method", "headers", "status", "code"),
    [
        ("tools/list", {"Mcp-Method": "tools/call"}, 400, -32020),
        ("tools/list", {"MCP-Protocol-Version": "2025-11-25"}, 400, -32020),
        ("no/such", {}, 404, -32601),
        ("initialize", {}, 404, -32601),
        ("tasks/get", {}, 400, -32021),
        ("tasks/cancel", {}, 400, -32021),
    ],
)
def test_what_does_not_fit_is_refused_with_its_status(
    client: KeyClient, method: str, headers: dict[str, str], status: int, code: int
) -> None:
    error = ask_new(client, method, status=status, headers=headers, taskId="x")

    assert error["code"] == code


def test_unknown_revision_is_told_which_there_are(client: KeyClient) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2031-01-01",
            "io.modelcontextprotocol/clientCapabilities": {}}  # fmt: skip
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
    headers = {"MCP-Protocol-Version": "2031-01-01", "Mcp-Method": "tools/list"}

    response = post(client, body, **headers)

    assert response.status_code == 400
    assert response.json()["error"]["data"]["supported"] == [NEW]


def test_question_of_a_run_is_a_form_and_the_answer_continues_the_run(
    client: KeyClient, cast: Cast
) -> None:
    wait = pause(cast, client)
    run_id = str(wait.run_id)
    result: dict[str, Any] = {"name": "get_run_result", "arguments": {"run_id": run_id}}

    asked = ask_new(client, "tools/call", capabilities=ASKING, **result)
    answers = accept(wait, days="many", action="go")
    wrong = ask_new(
        client, "tools/call", capabilities=ASKING, inputResponses=answers, requestState=run_id, **result
    )  # fmt: skip

    assert (asked["resultType"], asked["requestState"]) == ("input_required", run_id)
    params = asked["inputRequests"][str(wait.pk)]["params"]
    assert params["message"] == "How long?"
    assert params["requestedSchema"] == {
        "type": "object",
        "properties": {
            "days": {"type": "number", "title": "Days"},
            "why": {"type": "string", "maxLength": 20},
            "action": {
                "type": "string",
                "title": "Action",
                "oneOf": [{"const": "go", "title": "Go"}, {"const": "stay", "title": "Stay"}],
            },
        },
        "required": ["days", "action"],
    }
    # What doesn't fit is asked again, and says why.
    again = wrong["inputRequests"][str(wait.pk)]["params"]["message"]
    assert "days" in again
    assert again.endswith("How long?")
    assert load(wait).answered_at is None


def test_who_declines_is_not_asked_again_by_the_same_call(client: KeyClient, cast: Cast) -> None:
    wait = pause(cast, client)
    result: dict[str, Any] = {"name": "get_run_result", "arguments": {"run_id": str(wait.run_id)}}

    declined = ask_new(
        client,
        "tools/call",
        capabilities=ASKING,
        inputResponses={str(wait.pk): {"action": "decline"}},
        requestState=str(wait.run_id),
        **result,
    )

    assert declined["resultType"] == "complete"
    assert "waits for a person" in declined["structuredContent"]["message"]
    assert load(wait).answered_at is None


@pytest.mark.parametrize(
    "form",
    [
        {**FORM, "inputs": [{"name": "photo", "type": "file", "required": True}]},
        {**FORM, "type": "uncertain"},
        {**FORM, "answerers": ["role:owner"]},
    ],
)
def test_question_that_no_form_holds_or_that_asks_others_stays_a_sentence(
    client: KeyClient, cast: Cast, form: dict[str, Any]
) -> None:
    wait = pause(cast, client, form)
    with tenant([wait.team_id]):
        RunWait.objects.unscoped().filter(pk=wait.pk).update(answerers=form.get("answerers", []))

    task = ask_new(client, "tasks/get", capabilities=POLLING, taskId=str(wait.run_id))

    assert task["status"] == "working"
    assert "waits for a person" in task["statusMessage"]


def test_run_is_a_task_that_is_answered_by_its_id(client: KeyClient, cast: Cast) -> None:
    wait = pause(cast, client)
    task_id = str(wait.run_id)

    asked = ask_new(client, "tasks/get", capabilities=POLLING, taskId=task_id)
    wrong = ask_new(
        client, "tasks/update", capabilities=POLLING, status=400, taskId=task_id,
        inputResponses=accept(wait, days="many", action="go"),
    )  # fmt: skip
    unknown = ask_new(
        client, "tasks/update", capabilities=POLLING, taskId=task_id,
        inputResponses={"other": {"action": "accept", "content": {}}},
    )  # fmt: skip
    stored = ask_new(
        client, "tasks/update", capabilities=POLLING, taskId=task_id,
        inputResponses=accept(wait, days=3, action="stay"),
    )  # fmt: skip
    working = ask_new(client, "tasks/get", capabilities=POLLING, taskId=task_id)

    assert (asked["taskId"], asked["status"], asked["ttlMs"]) == (task_id, "input_required", None)
    assert list(asked["inputRequests"]) == [str(wait.pk)]
    assert wrong["code"] == -32602
    assert unknown["resultType"] == stored["resultType"] == "complete"
    answered = load(wait)
    assert (answered.values, answered.action) == ({"days": 3, "why": ""}, "stay")
    assert answered.run.status == RunStatus.QUEUED
    assert working["status"] == "working"


def test_task_that_has_ended_has_the_result_of_its_call(client: KeyClient, cast: Cast) -> None:
    wait = pause(cast, client)
    with tenant([wait.team_id]):
        rows = Run.objects.unscoped().filter(pk=wait.run_id)
        rows.update(
            status=RunStatus.SUCCEEDED, outputs={"text": "done"}, finished_at=timezone.now()
        )

    task = ask_new(client, "tasks/get", capabilities=POLLING, taskId=str(wait.run_id))

    assert (task["status"], task["result"]["isError"]) == ("completed", False)
    assert task["result"]["structuredContent"]["outputs"] == {"text": "done"}


def test_task_is_cancelled(client: KeyClient, cast: Cast) -> None:
    wait = pause(cast, client)
    task_id = str(wait.run_id)

    ask_new(client, "tasks/cancel", capabilities=POLLING, taskId=task_id)

    assert (
        ask_new(client, "tasks/get", capabilities=POLLING, taskId=task_id)["status"] == "cancelled"
    )


def test_task_of_another_team_is_not_there(
    client: KeyClient, cast: Cast, api_key: Callable[..., KeyClient]
) -> None:
    wait = pause(cast, client)
    stranger = api_key(cast.carol)

    for method in ("tasks/get", "tasks/cancel"):
        error = ask_new(stranger, method, capabilities=POLLING, status=400, taskId=str(wait.run_id))
        assert (error["code"], error["message"]) == (-32602, "There is no such task.")
    assert load(wait).run.status == RunStatus.PAUSED
