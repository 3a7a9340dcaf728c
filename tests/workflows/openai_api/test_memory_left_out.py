"""What calls leave out: the memory of a person nobody named, and conversations that the client keeps."""

import re
from itertools import pairwise
from typing import Any

import pytest
import yaml

from accounts.tenancy import tenant
from memory.models import Entry
from tests.factories.workflows import make_version, make_workflow
from tests.support.cast import Cast
from tests.workflows.openai_api.conftest import Program, in_thread, read_chunks
from workflows.models import DryRunChange, Run, RunWait, Step, Workflow
from workflows.samples import SAMPLES_BY_SLUG
from workflows.services.debugging.sandbox_memory import keep_memories
from workflows.services.runs.again import run_again
from workflows.services.runs.waits import answer_wait


pytestmark = pytest.mark.django_db(transaction=True)

STORE = {
    "type": "memory-store", "title": "Store", "scope": "user", "key": "food",
    "value_selector": ["start", "text"],
}  # fmt: skip
RECALL = {"type": "memory-recall", "title": "Recall", "scope": "user", "key": "food"}
READ = {"type": "conversation-memory", "title": "History", "action": "read"}
ASK = {
    "type": "human-input", "title": "Ask", "form_content": "Sure?",
    "inputs": [], "user_actions": [{"id": "yes", "title": "Yes"}, {"id": "no", "title": "No"}],
    "timeout": 36, "timeout_unit": "hour",
}  # fmt: skip

ASK_NAME = {
    **ASK, "form_content": "Your name? {{#$output.name#}}",
    "inputs": [{"type": "text-input", "output_variable_name": "name"}],
    "user_actions": [{"id": "send", "title": "Send"}],
}  # fmt: skip


def line(*nodes: dict[str, Any], result: str = "text") -> dict[str, Any]:
    """start → the nodes n1, n2, … → the end, whose output is one of the last node."""
    ids = [f"n{number}" for number in range(1, len(nodes) + 1)]
    path, start = ["start", *ids, "end"], [{"variable": "text", "type": "string"}]
    outputs = [{"variable": "text", "value_selector": [ids[-1], result]}]
    handles = {
        id_: data["user_actions"][0]["id"]
        for id_, data in zip(ids, nodes, strict=True)
        if "user_actions" in data
    }
    return {
        "version": "0.1.0",
        "nodes": [
            {"id": "start", "data": {"type": "start", "title": "Start", "variables": start}},
            *({"id": id_, "data": data} for id_, data in zip(ids, nodes, strict=True)),
            {"id": "end", "data": {"type": "end", "title": "End", "outputs": outputs}},
        ],
        "edges": [
            {"id": f"{a}-{b}", "source": a, "target": b, "sourceHandle": handles.get(a, "source")}
            for a, b in pairwise(path)
        ],
    }


def publish(cast: Cast, name: str, source: Any) -> Workflow:
    workflow = make_workflow(cast.alice, name, source)
    make_version(cast.alice, workflow)
    return workflow


def rows(cast: Cast, model: Any) -> list[Any]:
    with tenant([cast.team_a.pk]):
        return list(model.objects.unscoped().order_by("pk"))


def list_remembered(cast: Cast) -> list[str]:
    """The namespaces in which the run's food is remembered; what a run notes about itself is no memory."""
    with tenant([cast.team_a.pk]):
        rows = Entry.objects.unscoped().filter(key="food")
        return list(rows.values_list("namespace__text", flat=True))


def read_content(answer: Any) -> str:
    assert answer.status_code == 200, answer.content
    content: str = answer.json()["choices"][0]["message"]["content"]
    return content


async def test_without_a_user_nobodys_memory_is_read_or_written(program: Program, cast: Cast):
    flow = await in_thread(publish, cast, "Flow", line(STORE, RECALL))

    own = read_content(await program.complete(flow.slug, "peanuts"))

    assert "peanuts" in own  # the nodes of one run see what they wrote
    assert await in_thread(list_remembered, cast) == []
    (change,) = await in_thread(rows, cast, DryRunChange)
    assert (change.scope, change.key, change.node_key) == ("user", "food", "n1")
    page, kept = await in_thread(look_at_page, cast, change.run_id)
    assert ["Left out" in page, "named no person" in page, ">Remembered<" in page] == [
        True,
        True,
        False,
    ]
    assert kept == 0
    run = (await program.get(f"/api/v1/runs/{change.run_id}")).json()
    assert (run["memories_written"], run["memories_recalled"]) == ([], [])
    reader = await in_thread(publish, cast, "Reader", line(RECALL))
    assert "peanuts" not in read_content(await program.complete(reader.slug, "?"))


def look_at_page(cast: Cast, run_id: Any) -> tuple[str, int]:
    """The visible words of the run's page, and how many of its changes can be kept."""
    page = cast.alice.client.get(f"/runs/{run_id}/").content.decode()
    with tenant([cast.team_a.pk]):
        run = Run.objects.unscoped().select_related("workflow").get(pk=run_id)
        kept = keep_memories(cast.alice.principal, run).count
    return re.sub(r"<div[^>]* hidden>.*?<span data-count hidden>", "", page, flags=re.DOTALL), kept


async def test_memory_of_the_programs_own_account_is_left_out_too(program: Program, cast: Cast):
    """A run of our own API without a user is the service account's; here it is nobody's."""
    flow = await in_thread(publish, cast, "Flow", line(STORE, RECALL))
    answer = await program.post(
        {"inputs": {"text": "peanuts"}, "response_mode": "blocking"},
        path=f"/api/v1/workflows/{flow.pk}/runs",
    )
    assert answer.json()["status"] == "succeeded"
    assert len(await in_thread(list_remembered, cast)) == 1

    reader = await in_thread(publish, cast, "Reader", line(RECALL))

    assert "peanuts" not in read_content(await program.complete(reader.slug, "?"))


async def test_named_person_is_remembered_and_the_run_leaves_out_the_conversation(
    program: Program, cast: Cast
):
    conversation = {**STORE, "scope": "conversation"}
    flow = await in_thread(publish, cast, "Flow", line(STORE, conversation, RECALL))

    assert "peanuts" in read_content(await program.complete(flow.slug, "peanuts", user="ana"))

    assert await in_thread(list_remembered, cast) == ["user:ana"]
    (change,) = await in_thread(rows, cast, DryRunChange)
    assert change.scope == "conversation"


async def test_history_of_the_client_reaches_the_nodes(program: Program, cast: Cast):
    flow = await in_thread(publish, cast, "Flow", line(READ))
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "I am Ana."},
        {"role": "assistant", "content": "Hello, Ana."},
        {"role": "user", "content": "Who am I?"},
    ]

    content = read_content(await program.complete(flow.slug, messages=messages, user="ana"))

    assert content == "user: I am Ana.\nassistant: Hello, Ana."


async def test_history_of_the_client_is_in_the_prompt_and_in_a_repetition(
    program: Program, cast: Cast
):
    source = yaml.safe_load(SAMPLES_BY_SLUG["chatbot"].source)
    node = next(n for n in source["workflow"]["graph"]["nodes"] if n["id"] == "llm")
    node["data"]["memory"] = {"enabled": True, "window": {"enabled": False, "size": 10}}
    chat = await in_thread(publish, cast, "Chat", yaml.safe_dump(source))
    messages = [
        {"role": "assistant", "content": "Welcome."},
        {"role": "user", "content": "I live in Bern."},
        {"role": "assistant", "content": "A fine town."},
        {"role": "user", "content": "Where do I live?"},
    ]

    read_content(await program.complete(chat.slug, messages=messages, user="ana"))

    def list_prompts() -> list[list[tuple[str, str]]]:
        steps = [step for step in rows(cast, Step) if step.node_key == "llm"]
        return [[(m["role"], m["text"]) for m in step.inputs["messages"]] for step in steps]

    (prompt,) = await in_thread(list_prompts)
    sent = [(message["role"], message["content"]) for message in messages]
    assert prompt[1:] == sent
    (run,) = await in_thread(rows, cast, Run)
    again = await in_thread(repeat, cast, run)
    assert (again.client_call, again.conversation_id) == (run.client_call, None)


def repeat(cast: Cast, run: Run) -> Run:
    with tenant([cast.team_a.pk]):
        loaded = Run.objects.unscoped().select_related("workflow", "conversation").get(pk=run.pk)
        return run_again(cast.alice.principal, loaded)


async def test_sub_workflows_leave_out_the_same(program: Program, cast: Cast):
    child = await in_thread(publish, cast, "Child", line(STORE, RECALL))
    call = {
        "type": "sub-workflow", "title": "Child", "workflow": child.slug,
        "inputs": {"text": ["start", "text"]},
        "outputs": [{"variable": "text", "value_type": "string"}],
    }  # fmt: skip
    parent = await in_thread(publish, cast, "Parent", line(call))

    assert "peanuts" in read_content(await program.complete(parent.slug, "peanuts"))

    assert await in_thread(list_remembered, cast) == []
    runs = {run.pk: run for run in await in_thread(rows, cast, Run)}
    (change,) = await in_thread(rows, cast, DryRunChange)
    assert runs[change.run_id].parent_id is not None
    assert runs[change.run_id].client_call == {"left_out": ["conversation", "user"]}


async def test_paused_run_tells_its_link_and_goes_on_with_what_it_left_out(
    program: Program, cast: Cast
):
    """Another attempt goes on after the answer, as one does after a crash: its memory is read from the rows."""
    flow = await in_thread(publish, cast, "Flow", line(STORE, ASK, RECALL))

    answer = await program.complete(flow.slug, "peanuts")

    content = read_content(answer)
    assert content.startswith("Sure?")
    assert "http://testserver/answer/" in content
    assert answer.json()["choices"][0]["finish_reason"] == "stop"
    assert answer.json()["metadata"]["run_status"] == "paused"

    run_id = answer.json()["metadata"]["run_id"]
    await in_thread(confirm, cast, run_id)
    run = await wait_for_end(program, run_id)
    assert (run["status"], run["attempt"]) == ("succeeded", 1)  # waiting is no attempt
    assert "peanuts" in run["outputs"]["text"]
    assert await in_thread(list_remembered, cast) == []


def confirm(cast: Cast, run_id: str) -> None:
    with tenant([cast.team_a.pk]):
        wait = RunWait.objects.unscoped().select_related("run").get(run_id=run_id)
        answer_wait(cast.alice.principal, wait.run, wait_id=wait.pk, values={}, action="yes")


async def wait_for_end(program: Program, run_id: str) -> dict[str, Any]:
    stream = await program.get(f"/api/v1/runs/{run_id}/events")
    assert "run_finished" in b"".join([part async for part in stream.streaming_content]).decode()
    run: dict[str, Any] = (await program.get(f"/api/v1/runs/{run_id}")).json()
    return run


async def test_paused_run_ends_its_stream_with_the_link(program: Program, cast: Cast):
    flow = await in_thread(publish, cast, "Flow", line(ASK, RECALL))

    *_, last, done = await read_chunks(await program.complete(flow.slug, "hi", stream=True))

    assert done == "[DONE]"
    assert last["choices"][0]["finish_reason"] == "stop"
    assert last["metadata"]["run_status"] == "paused"


async def test_next_message_of_a_stored_conversation_answers_the_question(
    program: Program, cast: Cast
):
    flow = await in_thread(publish, cast, "Flow", line(ASK_NAME, result="name"))
    named: dict[str, Any] = {"user": "ana", "metadata": {"conversation_id": "talk"}}

    asked = await program.complete(flow.slug, "Hello.", **named)
    answered = await program.complete(flow.slug, "Ana", **named)

    assert "Your name?" in read_content(asked)
    assert "Reply with your next message" in read_content(asked)
    assert read_content(answered) == "Ana"
    assert answered.json()["id"] == asked.json()["id"]
    assert answered.json()["metadata"]["run_status"] == "succeeded"
