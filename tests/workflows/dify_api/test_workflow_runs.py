"""Runs of workflows: as a whole, as a stream, pinned, stopped, read, listed and followed again."""

import asyncio
import json
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.test import Client

from accounts.tenancy import tenant
from tests.factories.workflows import make_version, make_workflow
from tests.support.cast import Cast
from tests.workflows.dify_api.apps import (
    AsyncProgram,
    build_document,
    build_failure,
    build_question,
    build_workflow,
    edge,
    make_app_key,
    make_program,
    node,
    parse,
    publish,
    read_frames,
)
from tests.workflows.dify_api.rows import read_audit, read_run, start
from workflows.execution.worker import Worker
from workflows.models import Workflow
from workflows.services.editor import drafts


pytestmark = pytest.mark.django_db(transaction=True)


def run_body(name: str = "Ana", user: str = "ana", **given: Any) -> dict[str, Any]:
    return {"inputs": {"name": name}, "user": user, **given}


async def test_blocking_run_has_dify_s_fields(runner: AsyncProgram, working: Worker) -> None:
    answer = await runner.send("/workflows/run", run_body())

    body = answer.json()
    data = body["data"]
    assert answer.status_code == 200, body
    assert body["task_id"] == body["workflow_run_id"] == data["id"]
    assert str(UUID(data["workflow_id"])) == data["workflow_id"]
    assert (data["status"], data["outputs"], data["error"]) == ("succeeded", {"text": "Ana"}, None)
    assert (data["total_tokens"], data["total_steps"]) == (0, 2)
    assert isinstance(data["elapsed_time"], float)
    assert data["finished_at"] >= data["created_at"] > 1_700_000_000
    nothing: dict[str, list[object]] = {
        "recalled": [],
        "written": [],
        "forgotten": [],
        "to_choose": [],
    }
    assert body["metadata"]["memory"] == nothing


async def test_stream_closes_after_workflow_finished(runner: AsyncProgram, working: Worker) -> None:
    answer = await runner.send("/workflows/run", run_body(response_mode="streaming"))

    events = parse(await read_frames(answer))
    names = [each["event"] for each in events if each["event"] != "text_chunk"]
    nodes = ["node_started", "node_finished"] * 2
    assert names == ["workflow_started", *nodes, "workflow_finished"]
    assert {each["task_id"] for each in events} == {events[0]["workflow_run_id"]}
    assert all("conversation_id" not in each and "message_id" not in each for each in events)
    started = events[0]["data"]
    assert (started["inputs"]["name"], started["reason"]) == ("Ana", "initial")
    assert started["id"] == events[0]["workflow_run_id"]
    chunks = [each["data"] for each in events if each["event"] == "text_chunk"]
    assert "".join(each["text"] for each in chunks) == "Ana"


async def test_failed_run_is_200_with_its_status(cast: Cast, working: Worker) -> None:
    workflow = await asyncio.to_thread(publish, cast.alice, build_failure("workflow"))
    program = AsyncProgram((await asyncio.to_thread(make_app_key, cast.alice, workflow))[1])

    answer = await program.send("/workflows/run", {"inputs": {}, "user": "ana"})

    data = answer.json()["data"]
    assert (answer.status_code, data["status"]) == (200, "failed")
    assert "ZeroDivisionError" in data["error"]


async def test_containers_send_their_own_events_only(cast: Cast, working: Worker) -> None:
    workflow = await asyncio.to_thread(publish, cast.alice, build_iteration())
    program = AsyncProgram((await asyncio.to_thread(make_app_key, cast.alice, workflow))[1])

    answer = await program.send(
        "/workflows/run", {"inputs": {}, "user": "ana", "response_mode": "streaming"}
    )

    events = parse(await read_frames(answer))
    of_each = [each for each in events if each.get("data", {}).get("node_id") == "each"]
    assert [each["event"] for each in of_each] == [
        "iteration_started", "iteration_next", "iteration_next", "iteration_completed",
    ]  # fmt: skip
    assert [each["data"]["index"] for each in of_each[1:3]] == [0, 1]
    end = of_each[-1]["data"]
    assert (end["status"], end["steps"], end["outputs"]["output"]) == ("succeeded", 2, ["a", "b"])
    inner = [each["data"] for each in events if each.get("data", {}).get("node_id") == "inner"]
    assert {each["iteration_id"] for each in inner} == {"each"}
    assert {each["loop_id"] for each in inner} == {None}
    assert len({each["id"] for each in inner}) == 2  # one execution a round


def build_iteration() -> dict[str, Any]:
    nodes = [
        node("start", "start", variables=[]),
        node("list", "code", code="def main():\n    return {'items': ['a', 'b']}\n",
             code_language="python3", variables=[], outputs={"items": {"type": "array[string]"}}),
        node("each", "iteration", iterator_selector=["list", "items"],
             output_selector=["inner", "output"], start_node_id="eachstart",
             output_type="array[string]", iterator_input_type="array[string]"),
        node("eachstart", "iteration-start", parent="each", isInIteration=True,
             iteration_id="each"),
        node("inner", "variable-aggregator", parent="each", isInIteration=True,
             iteration_id="each", output_type="string", variables=[["each", "item"]]),
        node("end", "end",
             outputs=[{"variable": "all", "value_selector": ["each", "output"]}]),
    ]  # fmt: skip
    edges = [
        edge("start", "list"), edge("list", "each"), edge("each", "end"),
        edge("eachstart", "inner"),
    ]  # fmt: skip
    return build_document("workflow", nodes, edges)


async def test_version_can_be_pinned_by_the_id_of_an_answer(
    cast: Cast, flow: Workflow, runner: AsyncProgram, working: Worker
) -> None:
    first = (await runner.send("/workflows/run", run_body())).json()["data"]["workflow_id"]
    await asyncio.to_thread(publish_again, cast, flow)
    second = (await runner.send("/workflows/run", run_body())).json()["data"]["workflow_id"]
    pinned = (await runner.send(f"/workflows/{first}/run", run_body())).json()["data"]

    assert first != second
    assert pinned["workflow_id"] == first
    unknown = await runner.send(f"/workflows/{uuid4()}/run", run_body())
    assert unknown.status_code == 404
    assert unknown.json()["message"].startswith("Workflow not found with id: ")
    assert (await runner.send("/workflows/draft/run", run_body())).status_code == 400


def publish_again(cast: Cast, flow: Workflow) -> None:
    with tenant([flow.team_id]):
        drafts.rename(cast.alice.principal, workflow=flow, name="Echo again")
    make_version(cast.alice, flow)


async def test_run_can_be_read_with_inputs_as_text(runner: AsyncProgram, working: Worker) -> None:
    run_id = (await runner.send("/workflows/run", run_body())).json()["workflow_run_id"]

    detail = (await runner.get(f"/v1/workflows/run/{run_id}")).json()

    assert json.loads(detail["inputs"])["name"] == "Ana"
    assert (detail["outputs"], detail["status"]) == ({"text": "Ana"}, "succeeded")
    assert (await runner.get(f"/v1/workflows/run/{uuid4()}")).json()["code"] == "not_found"


def test_stop_ends_a_run_and_leaves_a_foreign_one_alone(cast: Cast, flow: Workflow) -> None:
    program = make_program(cast.alice, flow)
    other = make_program(cast.alice, publish(cast.alice, build_workflow(), "Other"))
    run = start(program, flow, "ana")

    foreign = program.post(
        f"/v1/workflows/tasks/{run.pk}/stop", {"user": "ben"}, "application/json"
    )
    of_another_key = other.post(
        f"/v1/workflows/tasks/{run.pk}/stop", {"user": "ana"}, "application/json"
    )
    assert (foreign.json(), of_another_key.json()) == ({"result": "success"},) * 2
    assert read_run(run).status == "queued"
    refused = read_audit(cast.alice, "access.refused")
    assert [entry.detail["op"] for entry in refused] == ["run.cancel", "run.cancel"]

    own = program.post(f"/v1/workflows/{run.pk}/stop", {"user": "ana"}, "application/json")
    assert own.json() == {"result": "success"}
    assert read_run(run).status == "stopped"


async def test_question_pauses_and_its_form_continues(cast: Cast, working: Worker) -> None:
    workflow = await asyncio.to_thread(publish, cast.alice, build_question())
    program = AsyncProgram((await asyncio.to_thread(make_app_key, cast.alice, workflow))[1])

    answer = await program.send(
        "/workflows/run", {"inputs": {}, "user": "ana", "response_mode": "streaming"}
    )
    events = parse(await read_frames(answer))

    assert [each["event"] for each in events[-2:]] == ["human_input_required", "workflow_paused"]
    asked = events[-2]["data"]
    assert [each["id"] for each in asked["actions"]] == ["yes", "no"]
    assert events[-1]["data"]["status"] == "paused"
    token = asked["form_token"]
    form = (await program.get(f"/v1/form/human_input/{token}")).json()
    assert [each["output_variable_name"] for each in form["inputs"]] == ["why"]
    foreign = await program.send(f"/form/human_input/{token}", {"user": "ben", "action": "yes"})
    assert foreign.status_code == 404
    done = await program.send(
        f"/form/human_input/{token}", {"user": "ana", "action": "yes", "inputs": {"why": "fun"}}
    )
    assert (done.status_code, done.json()) == (200, {})
    again = await program.send(f"/form/human_input/{token}", {"user": "ana", "action": "yes"})
    assert (again.status_code, again.json()["code"]) == (412, "human_input_form_submitted")

    run_id = events[0]["workflow_run_id"]
    rest = await program.get(f"/v1/workflow/{run_id}/events", {"user": "ana"})
    last = parse(await read_frames(rest))[-1]
    assert (last["event"], last["data"]["outputs"]) == ("workflow_finished", {"text": "fun"})


async def test_events_of_a_run_are_its_user_s(runner: AsyncProgram, working: Worker) -> None:
    run_id = (await runner.send("/workflows/run", run_body())).json()["workflow_run_id"]

    own = await runner.get(f"/v1/workflow/{run_id}/events", {"user": "ana"})
    events = parse(await read_frames(own))
    foreign = await runner.get(f"/v1/workflow/{run_id}/events", {"user": "ben"})
    nobody = await runner.get(f"/v1/workflow/{run_id}/events")

    assert [each["event"] for each in events] == ["workflow_finished"]
    assert foreign.status_code == 404
    assert (nobody.status_code, nobody.json()["message"]) == (400, "Arg user must be provided.")


async def test_log_lists_runs_and_narrows_them(runner: AsyncProgram, working: Worker) -> None:
    for name, user in (("Ana", "ana"), ("Ben", "ben")):
        await runner.send("/workflows/run", run_body(name, user))

    def ids(page: dict[str, Any]) -> list[str]:
        return [row["created_by_end_user"]["session_id"] for row in page["data"]]

    whole = (await runner.get("/v1/workflows/logs")).json()
    assert (ids(whole), whole["total"], whole["has_more"]) == (["ben", "ana"], 2, False)
    row = whole["data"][0]
    assert (row["created_from"], row["created_by_role"]) == ("service-api", "end_user")
    assert (row["workflow_run"]["status"], row["workflow_run"]["total_steps"]) == ("succeeded", 2)
    end_user = (await runner.get(f"/v1/end-users/{row['created_by_end_user']['id']}")).json()
    assert (end_user["session_id"], end_user["type"]) == ("ben", "service_api")
    for asked, expected in (
        ({"keyword": "Ana"}, ["ana"]),
        ({"status": "failed"}, []),
        ({"created_by_end_user_session_id": "ben"}, ["ben"]),
        ({"created_at__after": "2999-01-01T00:00:00Z"}, []),
        ({"limit": 1}, ["ben"]),
        ({"limit": 1, "page": 2}, ["ana"]),
    ):
        assert ids((await runner.get("/v1/workflows/logs", asked)).json()) == expected, asked


async def test_completion_is_the_text_of_a_workflow(runner: AsyncProgram, working: Worker) -> None:
    body = (await runner.send("/completion-messages", run_body())).json()
    stream = await runner.send("/completion-messages", run_body(response_mode="streaming"))
    events = parse(await read_frames(stream))

    assert (body["mode"], body["answer"], body["message_id"]) == (
        "completion", "Ana", body["task_id"],
    )  # fmt: skip
    assert [each["event"] for each in events] == ["message", "message_end"]
    assert events[0]["answer"] == "Ana"


def test_draft_is_never_run_and_a_team_s_key_is_told_what_to_do(cast: Cast) -> None:
    draft = make_workflow(cast.alice, "Draft", build_workflow())
    unpublished = make_program(cast.alice, draft)
    team = make_program(cast.alice, None)
    body = json.dumps(run_body())

    answer = unpublished.post("/v1/workflows/run", body, "application/json")
    assert (answer.status_code, answer.json()["code"]) == (400, "app_unavailable")
    answer = team.post("/v1/workflows/run", body, "application/json")
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert "make a key for the workflow" in answer.json()["message"]


def test_without_a_key_there_is_nothing(client: Client) -> None:
    answer = client.get("/v1/info")
    wrong = client.get("/v1/info", headers={"Authorization": "Bearer app-wrong"})
    unknown = client.get("/v1/nothing/here")

    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == 'Bearer realm="api"'
    assert answer.json() == {
        "code": "unauthorized", "status": 401,
        "message": "Authorization header must be provided and start with 'Bearer'",
    }  # fmt: skip
    assert wrong.json()["message"] == "Access token is invalid"
    assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")
    assert client.get("/v1/").json()["api_version"] == "v1"
