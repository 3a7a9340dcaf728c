"""Chat messages, as a whole and as a stream."""

import asyncio
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.support.cast import Cast
from tests.workflows.dify_api.apps import (
    AsyncProgram,
    build_failure,
    in_tenant,
    make_app_key,
    parse,
    publish,
    read_frames,
)
from workflows.execution.worker import Worker
from workflows.models import Conversation, Run


pytestmark = pytest.mark.django_db(transaction=True)

USAGE = {
    "prompt_tokens": int, "prompt_unit_price": str, "prompt_price_unit": str, "prompt_price": str,
    "completion_tokens": int, "completion_unit_price": str, "completion_price_unit": str,
    "completion_price": str, "total_tokens": int, "total_price": str, "currency": str,
    "latency": float,
}  # fmt: skip


def ask(query: str = "tea?", user: str = "ana", **given: Any) -> dict[str, Any]:
    return {"inputs": {}, "query": query, "user": user, **given}


async def test_blocking_message_has_dify_s_fields(chatter: AsyncProgram, working: Worker) -> None:
    answer = await chatter.send("/chat-messages", ask())

    body = answer.json()
    assert answer.status_code == 200, body
    assert (body["event"], body["mode"], body["answer"]) == (
        "message", "advanced-chat", "You said tea?",
    )  # fmt: skip
    assert body["id"] == body["message_id"]
    assert str(UUID(body["conversation_id"])) == body["conversation_id"]
    assert body["task_id"] == body["workflow_run_id"]
    assert isinstance(body["created_at"], int)
    assert {name: type(value) for name, value in body["metadata"]["usage"].items()} == USAGE
    assert body["metadata"]["retriever_resources"] == []
    nothing: dict[str, list[object]] = {
        "recalled": [],
        "written": [],
        "forgotten": [],
        "to_choose": [],
    }
    assert body["metadata"]["memory"] == nothing


async def test_run_is_recorded_as_dify_s_and_for_the_user(
    chatter: AsyncProgram, working: Worker
) -> None:
    body = (await chatter.send("/chat-messages", ask())).json()

    def read() -> tuple[str, str, str]:
        run = Run.objects.unscoped().get(pk=body["task_id"])
        return run.channel, run.subject, run.status

    assert await in_tenant(read) == ("dify", "ana", "succeeded")


async def test_stream_is_as_dify_sends_it(chatter: AsyncProgram, working: Worker) -> None:
    answer = await chatter.send("/chat-messages", ask(response_mode="streaming"))

    assert (answer.status_code, answer["Content-Type"]) == (200, "text/event-stream")
    frames = await read_frames(answer)
    events = parse(frames)
    names = [event["event"] for event in events]
    nodes = ["node_started", "node_finished"] * 2
    without_text = [name for name in names if name != "message"]
    assert without_text == ["workflow_started", *nodes, "message_end", "workflow_finished"]
    assert names[-2:] == ["message_end", "workflow_finished"]
    assert "".join(e["answer"] for e in events if e["event"] == "message") == "You said tea?"
    first = events[0]
    for event in events:
        for field in ("task_id", "conversation_id", "message_id", "created_at"):
            assert event[field] == first[field], event
    assert {e["workflow_run_id"] for e in events if "data" in e} == {first["task_id"]}
    started = next(e["data"] for e in events if e["event"] == "node_started")
    assert (started["node_id"], started["node_type"], started["index"]) == ("start", "start", 1)
    assert (started["inputs"], started["inputs_truncated"], started["extras"]) == (None, False, {})
    finished = [e["data"] for e in events if e["event"] == "node_finished"]
    assert [(each["node_id"], each["status"], each["index"]) for each in finished] == [
        ("start", "succeeded", 1), ("answer", "succeeded", 2),
    ]  # fmt: skip
    assert finished[1]["predecessor_node_id"] == "start"
    assert finished[1]["outputs"]["answer"] == "You said tea?"
    end = events[-2]
    assert end["id"] == end["message_id"]
    assert set(end["metadata"]) >= {"usage", "retriever_resources", "memory"}
    done = events[-1]["data"]
    assert (done["status"], done["error"], done["total_steps"]) == ("succeeded", None, 2)
    assert done["created_by"]["user"] == "ana"


async def test_conversation_goes_on_with_its_id(chatter: AsyncProgram, working: Worker) -> None:
    first = (await chatter.send("/chat-messages", ask(conversation_id=""))).json()
    second = (
        await chatter.send("/chat-messages", ask("more", conversation_id=first["conversation_id"]))
    ).json()

    assert second["conversation_id"] == first["conversation_id"]
    assert second["message_id"] != first["message_id"]


@pytest.mark.parametrize(
    ("given", "status", "code"),
    [
        ({"conversation_id": "not-an-id"}, 400, "invalid_param"),
        ({"conversation_id": str(uuid4())}, 404, "not_found"),
        ({"response_mode": "fast"}, 400, "invalid_param"),
        ({"workflow_id": "draft"}, 400, "bad_request"),
        ({"workflow_id": str(uuid4())}, 404, "not_found"),
        ({"user": ""}, 400, "invalid_param"),
        ({"user": None}, 400, "invalid_param"),
        ({"query": None}, 400, "invalid_param"),
        ({"inputs": {"mood": "odd"}}, 400, "invalid_param"),
    ],
)
async def test_message_that_makes_no_sense_is_refused_in_dify_s_envelope(
    chatter: AsyncProgram, given: dict[str, Any], status: int, code: str
) -> None:
    answer = await chatter.send("/chat-messages", {**ask(), **given})

    body = answer.json()
    assert (answer.status_code, body["status"], body["code"]) == (status, status, code), body
    assert body["message"]


async def test_missing_user_is_told_before_anything_else(chatter: AsyncProgram) -> None:
    answer = await chatter.send("/chat-messages", {})

    assert answer.json() == {
        "code": "invalid_param", "message": "Arg user must be provided.", "status": 400,
        "params": "user",
    }  # fmt: skip


async def test_conversation_of_another_user_is_not_there(
    chatter: AsyncProgram, working: Worker
) -> None:
    first = (await chatter.send("/chat-messages", ask())).json()

    answer = await chatter.send(
        "/chat-messages", ask(user="ben", conversation_id=first["conversation_id"])
    )

    assert answer.status_code == 404
    assert answer.json()["message"] == "Conversation Not Exists."


async def test_failed_chat_is_400_as_a_whole_and_an_error_at_the_end_of_a_stream(
    cast: Cast, working: Worker
) -> None:
    workflow = await asyncio.to_thread(publish, cast.alice, build_failure())
    program = AsyncProgram((await asyncio.to_thread(make_app_key, cast.alice, workflow))[1])

    whole = await program.send("/chat-messages", ask())
    stream = await program.send("/chat-messages", ask(response_mode="streaming"))
    events = parse(await read_frames(stream))

    assert (whole.status_code, whole.json()["code"]) == (400, "invalid_param")
    assert whole.json()["message"].startswith("Run failed: ")
    assert [each["event"] for each in events[-2:]] == ["workflow_finished", "error"]
    assert "message_end" not in [each["event"] for each in events]
    assert events[-2]["data"]["status"] == "failed"
    error = events[-1]
    assert (error["code"], error["status"]) == ("invalid_param", 400)
    assert "task_id" not in error


async def test_name_is_made_from_the_message_unless_it_is_not_wanted(
    chatter: AsyncProgram, working: Worker
) -> None:
    named = (await chatter.send("/chat-messages", ask())).json()
    unnamed = (await chatter.send("/chat-messages", ask(auto_generate_name=False))).json()

    def read() -> dict[str, str]:
        return dict(Conversation.objects.unscoped().values_list("key", "name"))

    names = await in_tenant(read)
    assert names[named["conversation_id"]] == "tea?"
    assert names[unnamed["conversation_id"]] == "New conversation"


async def test_same_idempotency_key_gives_the_same_answer_and_one_run(
    chatter: AsyncProgram, working: Worker
) -> None:
    key = {"Idempotency-Key": "once"}
    first = await chatter.send("/chat-messages", ask(), **key)
    again = await chatter.send("/chat-messages", ask(), **key)
    other = await chatter.send("/chat-messages", ask("else"), **key)

    assert again.json() == first.json()
    assert again["Idempotent-Replayed"] == "true"
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert await in_tenant(lambda: Run.objects.unscoped().count()) == 1


async def test_repeated_stream_follows_the_same_run(chatter: AsyncProgram, working: Worker) -> None:
    key = {"Idempotency-Key": "stream"}
    body = ask(response_mode="streaming")
    responses = [await chatter.send("/chat-messages", body, **key) for _ in range(2)]
    first, again = [parse(await read_frames(response)) for response in responses]

    assert [each.get("Idempotent-Replayed") for each in responses] == [None, "true"]
    assert again[0]["task_id"] == first[0]["task_id"]
    assert again[-1] == first[-1]


async def test_message_to_a_workflow_is_not_for_a_chat(runner: AsyncProgram) -> None:
    answer = await runner.send("/chat-messages", ask())

    assert (answer.status_code, answer.json()["code"]) == (400, "not_chat_app")
