"""The requests that Open WebUI makes of a server for OpenAI's API, with its headers, as ``routers/openai.py`` there sends them."""

from typing import Any, Final
from urllib.parse import quote

import pytest

from tests.support.cast import Cast
from tests.workflows.openai_api.conftest import Program, in_thread, join, read_chunks
from tests.workflows.openai_api.test_completions import rows
from workflows.models import Message, Run, Workflow
from workflows.models.run import RunStatus
from workflows.services.runs.waiting import wait_until_ended


pytestmark = pytest.mark.django_db(transaction=True)

USER: Final = {
    "X-OpenWebUI-User-Name": quote("Ana Müller", safe=" "),
    "X-OpenWebUI-User-Id": "0f1e2d3c-aaaa-4bbb-8ccc-000000000001",
    "X-OpenWebUI-User-Email": "ana@example.org",
    "X-OpenWebUI-User-Role": "user",
}
CHAT: Final = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
SYSTEM: Final = {"role": "system", "content": "User Context: none"}
TITLE: Final = (
    "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n### Output:\n"
    'JSON format: { "title": "your concise title here" }\n### Chat History:\n<chat_history>\nUSER: Hi\n</chat_history>'
)
EMOJI: Final = "Your task is to reflect the speaker's likely facial expression through a fitting emoji.\n\nMessage: ```Hi```"


@pytest.fixture(autouse=True)
def forwarded(settings: Any) -> None:
    settings.OPENAI_FORWARDED_HEADERS = True


async def send(program: Program, workflow: Workflow, *texts: str, **body: Any) -> Any:
    """Send the messages of a chat, in which user and model take turns."""
    chat = body.pop("chat", CHAT)
    roles = ("user", "assistant")
    messages = [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)]
    body = {"model": workflow.slug, "messages": messages, **body}
    return await program.post(body, {**USER, "X-OpenWebUI-Chat-Id": chat})


async def stream(program: Program, workflow: Workflow, *texts: str, **body: Any) -> list[Any]:
    answer = await send(
        program, workflow, *texts, stream=True, stream_options={"include_usage": True}, **body
    )
    return await read_chunks(answer)


async def list_turns(cast: Cast) -> list[str]:
    return [message.query for message in await in_thread(rows, Message, cast.team_a)]


async def test_models_are_listed(program: Program, chatbot: Workflow) -> None:
    answer = await program.client.get(
        "/openai/v1/models", headers={"Authorization": f"Bearer {program.secret}", **USER}
    )

    assert chatbot.slug in [model["id"] for model in answer.json()["data"]]
    assert {model["object"] for model in answer.json()["data"]} == {"model"}


async def test_chat_is_one_conversation_of_its_user(
    program: Program, chatbot: Workflow, cast: Cast
) -> None:
    first = await stream(program, chatbot, "I'm Ana, and I'm allergic to peanuts.")
    second = await stream(program, chatbot, "I'm Ana.", join(first), "What am I allergic to?")

    assert "peanuts" in join(second)
    assert (second[-1], second[-2]["choices"]) == ("[DONE]", [])
    assert second[-2]["usage"]["total_tokens"] >= 0
    assert await list_turns(cast) == [
        "I'm Ana, and I'm allergic to peanuts.",
        "What am I allergic to?",
    ]
    assert {run.subject for run in await in_thread(rows, Run, cast.team_a)} == {
        USER["X-OpenWebUI-User-Id"]
    }


@pytest.mark.parametrize("prompt", [TITLE, EMOJI])
async def test_task_is_answered_and_no_turn_of_the_chat(
    program: Program, chatbot: Workflow, cast: Cast, prompt: str
) -> None:
    await stream(program, chatbot, "Hi")

    answer = await send(program, chatbot, prompt, stream=False, max_completion_tokens=1000)

    assert answer.status_code == 200, answer.content
    assert answer.json()["choices"][0]["message"]["content"].strip()
    assert await list_turns(cast) == ["Hi"]


async def test_nothing_of_a_temporary_chat_is_stored(
    program: Program, chatbot: Workflow, cast: Cast
) -> None:
    chunks = await stream(program, chatbot, "Hi", chat="local:Zk3")

    assert join(chunks).strip()
    assert await list_turns(cast) == []


async def test_stop_closes_the_stream_and_the_answer_is_there_at_the_next_turn(
    program: Program, chatbot: Workflow, cast: Cast
) -> None:
    stopped = await send(program, chatbot, "Hi", stream=True)
    parts = aiter(stopped.streaming_content)
    await anext(parts)
    await parts.aclose()

    (run,) = await in_thread(rows, Run, cast.team_a)
    await wait_until_ended(run, 60)
    chunks = await stream(program, chatbot, "Hi", "", "And now?")

    assert [each.status for each in await in_thread(rows, Run, cast.team_a)] == [
        RunStatus.SUCCEEDED,
        RunStatus.SUCCEEDED,
    ]
    assert join(chunks).strip()
    assert await list_turns(cast) == ["Hi", "And now?"]
