"""Completions: what a request becomes, and what its answer says."""

import json
from typing import Any

import pytest

from tests.factories.workflows import document, make_version, make_workflow
from tests.support.cast import Cast
from tests.workflows.openai_api.conftest import Program, in_thread, join, read_chunks
from workflows.models import Conversation, Message, Run, Workflow


pytestmark = pytest.mark.django_db(transaction=True)


def rows(model: Any, team: Any) -> list[Any]:
    from accounts.tenancy import tenant

    with tenant([team.pk]):
        return list(model.objects.unscoped().order_by("pk"))


async def test_blocking_answer_is_a_completion(program: Program, chatbot: Workflow, cast: Cast):
    answer = await program.complete(
        chatbot.slug, "I'm Ana, and I'm allergic to peanuts.", user="ana"
    )

    body = answer.json()
    assert answer.status_code == 200, body
    run = (await in_thread(rows, Run, cast.team_a))[0]
    assert body["id"] == f"chatcmpl-{run.pk.hex}"
    assert (body["object"], body["model"]) == ("chat.completion", chatbot.slug)
    choice = body["choices"][0]
    assert (choice["message"]["role"], choice["finish_reason"]) == ("assistant", "stop")
    assert choice["message"]["content"].strip()
    usage = body["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert body["metadata"] == {"run_id": str(run.pk), "run_status": "succeeded"}
    assert (run.channel, run.subject, body["system_fingerprint"]) == ("openai", "ana", "v1")


async def test_stream_begins_with_the_role_and_ends_with_done(program: Program, chatbot: Workflow):
    answer = await program.complete(
        chatbot.slug, "I live in Bern.", user="ana", stream=True,
        stream_options={"include_usage": True},
    )  # fmt: skip
    chunks = await read_chunks(answer)
    blocking = (await program.complete(chatbot.slug, "I live in Bern.", user="ben")).json()

    *others, usage, done = chunks
    assert done == "[DONE]"
    assert others[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert {chunk["object"] for chunk in others} == {"chat.completion.chunk"}
    assert [chunk["choices"][0]["finish_reason"] for chunk in others[-2:]] == [None, "stop"]
    assert usage["choices"] == []
    assert usage["usage"] == blocking["usage"]
    assert {chunk["usage"] for chunk in others} == {None}
    assert join(chunks) == blocking["choices"][0]["message"]["content"]


async def test_without_usage_asked_for_there_is_none(program: Program, chatbot: Workflow):
    chunks = await read_chunks(await program.complete(chatbot.slug, "Hi.", stream=True))

    assert not any("usage" in chunk for chunk in chunks if isinstance(chunk, dict))


async def test_person_is_remembered_across_calls_and_is_nobody_else(
    program: Program, chatbot: Workflow
):
    await program.complete(chatbot.slug, "I'm Ana, and I'm allergic to peanuts.", user="ana")

    hers = (await program.complete(chatbot.slug, "What am I allergic to?", user="ana")).json()
    his = (await program.complete(chatbot.slug, "What am I allergic to?", user="ben")).json()

    assert "peanuts" in hers["choices"][0]["message"]["content"]
    assert "peanuts" not in his["choices"][0]["message"]["content"]


async def test_client_keeps_its_conversation_and_nothing_is_stored(
    program: Program, chatbot: Workflow, cast: Cast
):
    messages = [
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": "How are you?"},
    ]
    answer = await program.complete(chatbot.slug, messages=messages, user="ana")

    assert answer.status_code == 200
    assert await in_thread(rows, Conversation, cast.team_a) == []
    run = (await in_thread(rows, Run, cast.team_a))[0]
    assert run.client_call == {"messages": messages[:2], "left_out": ["conversation"]}
    assert (run.system["query"], run.system["dialogue_count"]) == ("How are you?", 1)


@pytest.mark.parametrize("where", ["metadata", "header"])
async def test_server_keeps_a_conversation_that_is_named(
    program: Program, chatbot: Workflow, cast: Cast, where: str
):
    named: dict[str, Any] = (
        {"metadata": {"conversation_id": "talk-7"}}
        if where == "metadata"
        else {"headers": {"X-Conversation-Id": "talk-7"}}
    )
    messages = [
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": "How are you?"},
    ]
    await program.complete(chatbot.slug, "Hello.", user="ana", **named)
    answer = await program.complete(chatbot.slug, messages=messages, user="ana", **named)

    assert answer["X-Conversation-Id"] == "talk-7"
    assert answer.json()["metadata"]["conversation_id"] == "talk-7"
    turns = await in_thread(rows, Message, cast.team_a)
    assert [turn.query for turn in turns] == ["Hello.", "How are you?"]


async def test_conversation_of_another_person_is_not_found(program: Program, chatbot: Workflow):
    named = {"metadata": {"conversation_id": "talk-7"}}
    await program.complete(chatbot.slug, "Hello.", user="ana", **named)

    answer = await program.complete(chatbot.slug, "Hello.", user="ben", **named)

    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (404, "conversation_not_found")
    assert error["param"] == "metadata.conversation_id"


@pytest.fixture
def echo(cast: Cast) -> Workflow:
    workflow = make_workflow(cast.alice)
    make_version(cast.alice, workflow)
    return workflow


async def test_only_text_input_of_a_workflow_takes_the_last_message(
    program: Program, echo: Workflow
):
    answer = (await program.complete(echo.slug, "What I say")).json()

    assert answer["choices"][0]["message"]["content"] == "What I say"


async def test_inputs_are_taken_in_each_form(program: Program, echo: Workflow):
    forms: list[dict[str, Any]] = [
        {"metadata": {"inputs": {"text": "given"}}},
        {"metadata": {"inputs": '{"text": "given"}'}},
        {"metadata": {"inputs.text": "given"}},
        {"headers": {"X-App-Inputs": '{"text": "given"}'}},
    ]
    answers = [(await program.complete(echo.slug, "ignored", **form)).json() for form in forms]

    assert {each["choices"][0]["message"]["content"] for each in answers} == {"given"}


async def test_parameters_become_inputs_of_the_same_name(program: Program, cast: Cast):
    source = document("System")
    source["nodes"][0]["data"]["variables"] = [
        {"variable": "system", "type": "string"},
        {"variable": "temperature", "type": "number"},
        {"variable": "max_tokens", "type": "number"},
    ]
    source["nodes"][1]["data"]["outputs"] = [
        {"variable": name, "value_selector": ["start", name]}
        for name in ("system", "temperature", "max_tokens")
    ]
    workflow = await in_thread(make_workflow, cast.alice, "System", source)
    await in_thread(make_version, cast.alice, workflow)
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Hello."}]},
    ]

    answer = await program.complete(
        workflow.slug, messages=messages, temperature=0.5, max_completion_tokens=9
    )

    content = answer.json()["choices"][0]["message"]["content"]
    assert json.loads(content) == {"system": "Be brief.", "temperature": 0.5, "max_tokens": 9}


@pytest.fixture
def failing(cast: Cast) -> Workflow:
    source = document("Failing")
    source["nodes"].insert(
        1,
        {
            "id": "code",
            "data": {
                "type": "code",
                "code_language": "python3",
                "code": "def main() -> dict:\n    return {'x': 1 / 0}",
                "outputs": {"x": {"type": "number"}},
                "variables": [],
            },
        },
    )
    source["edges"] = [
        {"id": "e1", "source": "start", "target": "code"},
        {"id": "e2", "source": "code", "target": "end"},
    ]
    workflow = make_workflow(cast.alice, "Failing", source)
    make_version(cast.alice, workflow)
    return workflow


async def test_failed_run_is_a_server_error_that_is_not_tried_again(
    program: Program, failing: Workflow
):
    answer = await program.complete(failing.slug)

    error = answer.json()["error"]
    assert (answer.status_code, error["type"], error["code"]) == (500, "server_error", "run_failed")
    assert answer["X-Should-Retry"] == "false"


async def test_failed_run_ends_its_stream_with_the_error(program: Program, failing: Workflow):
    chunks = await read_chunks(await program.complete(failing.slug, stream=True))

    assert (chunks[-1]["error"]["type"], chunks[-1]["error"]["code"]) == (
        "server_error",
        "run_failed",
    )


async def test_same_idempotency_key_gets_the_run_that_it_started(
    program: Program, echo: Workflow, cast: Cast
):
    header = {"Idempotency-Key": "one"}
    body = {"model": echo.slug, "messages": [{"role": "user", "content": "Hello?"}]}
    first = await program.post(body, header)
    second = await program.post(body, header)
    elsewhere = await program.post(body, header, "/v1/chat/completions")
    other = await program.post({**body, "user": "ana"}, header)

    assert first.json() == second.json() == elsewhere.json()
    assert (first.headers.get("Idempotent-Replayed"), second["Idempotent-Replayed"]) == (
        None,
        "true",
    )
    assert other.status_code == 422
    assert len(await in_thread(rows, Run, cast.team_a)) == 1


@pytest.mark.parametrize(
    "name", ["X-App-Inputs", "X-Conversation-Id", "X-OpenWebUI-User-Id", "X-OpenWebUI-Chat-Id"]
)
async def test_same_idempotency_key_with_other_headers_of_the_call_is_refused(
    program: Program, echo: Workflow, settings: Any, name: str
):
    """They say for whom and with what the run is, as the body does: nobody gets the answer of another person."""
    settings.OPENAI_FORWARDED_HEADERS = True
    values = ['{"text": "1"}', '{"text": "2"}'] if name == "X-App-Inputs" else ["ana", "ben"]
    body = {"model": echo.slug, "messages": [{"role": "user", "content": "Hello?"}]}

    first, again, other = [
        await program.post(body, {"Idempotency-Key": "one", name: value})
        for value in (values[0], *values)
    ]

    assert (first.status_code, again["Idempotent-Replayed"]) == (200, "true")
    assert other.status_code == 422


async def test_same_idempotency_key_streams_the_same_run_again(program: Program, echo: Workflow):
    body = {"model": echo.slug, "messages": [{"role": "user", "content": "Hello?"}], "stream": True}
    first, second = [
        await read_chunks(await program.post(body, {"Idempotency-Key": "one"})) for _ in range(2)
    ]

    assert json.dumps(first) == json.dumps(second)
