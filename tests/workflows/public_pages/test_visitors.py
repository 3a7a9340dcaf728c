"""Visitors use a page without an account, and none of them sees anything of another."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from accounts.personas import is_visitor_subject
from accounts.services.holders import Holder
from tests.factories.workflows import document, make_version, make_workflow
from tests.support.cast import Cast
from tests.workflows.public_pages.conftest import Visitor, newest_run, read
from workflows.execution.events.hub import get_hub
from workflows.execution.events.run_watches import RunWatch, list_admitted
from workflows.models import Conversation, PublicPage, Run, Workflow
from workflows.models.run import Channel
from workflows.services.public_pages.settings import change_page, renew_link


pytestmark = pytest.mark.django_db(transaction=True)

Execute = Callable[[Run], Run]


def test_visitor_chats_and_is_remembered_in_the_next_conversation(
    visitor: Visitor, execute: Execute
):
    first = execute(visitor.say("My name is Ana and I love hiking."))
    second = execute(visitor.say("What do I love?"))

    assert first.conversation_id != second.conversation_id
    assert "hiking" in (second.outputs or {})["answer"]
    assert "hiking" in visitor.get("memory/").content.decode()
    turn = visitor.get(f"turns/{second.pk}/").content.decode()
    assert "hiking" in turn
    assert (second.channel, second.started_by_id) == (Channel.LINK, None)
    assert is_visitor_subject(second.subject)


def test_subject_is_an_external_user_of_the_account_of_the_workflow(
    visitor: Visitor, page: PublicPage
):
    run = visitor.say("Hello")

    assert run.api_key_id == page.api_key_id
    key = read(lambda: page.api_key)
    assert read(lambda: key.service_account.workflow_id) == page.workflow_id


def test_nothing_of_a_visitor_is_there_for_another(
    visitor: Visitor, stranger: Visitor, execute: Execute
):
    run = execute(visitor.say("My name is Ana and I love hiking."))
    conversation = read(lambda: Conversation.objects.unscoped().get(pk=run.conversation_id))
    entry = min(list_memories(visitor))
    stranger.get()

    answers = {
        path: stranger.get(path).status_code
        for path in (f"turns/{run.pk}/", f"turns/{run.pk}/events/", f"turns/{run.pk}/waits/",
                     f"results/{run.pk}/")
    } | {
        path: stranger.post(path, rating="up", name="mine").status_code
        for path in (f"turns/{run.pk}/stop/", f"turns/{run.pk}/feedback/",
                     f"talks/{conversation.pk}/rename/", f"talks/{conversation.pk}/delete/",
                     f"memory/{entry}/forget/")
    }  # fmt: skip
    assert set(answers.values()) == {404}, answers
    assert stranger.post("say/", query="Hi", conversation=conversation.key).status_code == 404
    page = stranger.get("", conversation=conversation.key).content.decode()
    assert "hiking" not in page
    assert "hiking" not in stranger.get("memory/").content.decode()
    assert visitor.get(f"turns/{run.pk}/").status_code == 200
    assert "hiking" in visitor.get("memory/").content.decode()


def test_visitor_forgets_one_and_all(visitor: Visitor, execute: Execute):
    execute(visitor.say("I love hiking."))
    execute(visitor.say("I love sailing."))
    entries = list_memories(visitor)

    assert visitor.post(f"memory/{min(entries)}/forget/").status_code == 200
    assert list_memories(visitor) == entries - {min(entries)}

    assert visitor.post("memory/forget-all/").status_code == 204
    assert (len(entries), list_memories(visitor)) == (2, set())


@pytest.fixture
def judged(settings: Any) -> None:
    """Messages are judged by the language encoder, as in the default installation."""
    settings.MEMORY_EMBEDDER = "local"


@pytest.mark.usefixtures("judged")
def test_visitor_is_told_what_was_forgotten_and_undoes_it(
    visitor: Visitor, stranger: Visitor, execute: Execute
):
    execute(visitor.say("My phone number is 555-0142."))

    run = execute(visitor.say("Please forget my phone number."))
    stranger.get()

    (entry,) = re.findall(r'name="entry" value="([0-9a-f-]{36})"', visitor.turn(run))
    assert "<s>My phone number is 555-0142.</s>" in visitor.turn(run)
    assert list_memories(visitor) == set()
    assert stranger.post(f"turns/{run.pk}/restore/", entry=entry).status_code == 404
    undone = visitor.post(f"turns/{run.pk}/restore/", entry=entry).content.decode()
    assert "Remembered again: My phone number is 555-0142." in undone
    assert list_memories(visitor) == {entry}


@pytest.mark.usefixtures("judged")
def test_visitor_chooses_what_to_forget(visitor: Visitor, stranger: Visitor, execute: Execute):
    execute(visitor.say("My mobile number is 555-0142."))
    execute(visitor.say("My office number is also known, it is 555-0199."))

    run = execute(visitor.say("Please forget my number."))
    stranger.get()

    assert "Which one should be forgotten?" in visitor.turn(run)
    entries = list_memories(visitor)
    path = f"turns/{run.pk}/forget/"
    assert len(entries) == 2
    assert stranger.post(path, entry=min(entries)).status_code == 404
    assert "<s>" in visitor.post(path, entry=min(entries)).content.decode()
    assert list_memories(visitor) == {max(entries)}


@pytest.mark.usefixtures("judged")
def test_visitor_forgets_all_that_could_be_meant_with_the_form_of_the_choice(
    visitor: Visitor, execute: Execute
):
    execute(visitor.say("My mobile number is 555-0142."))
    execute(visitor.say("My office number is also known, it is 555-0199."))
    run = execute(visitor.say("Please forget my number."))

    turn = visitor.turn(run)
    (form,) = re.findall(r'<form[^>]*class="memory-choice".*?</form>', turn, re.DOTALL)
    *single, every = re.findall(r'name="entry"\s+value="([0-9a-f -]+)"', form)
    assert set(every.split()) == set(single) == list_memories(visitor)

    visitor.post(f"turns/{run.pk}/forget/", entry=every)

    assert list_memories(visitor) == set()


def list_memories(visitor: Visitor) -> set[str]:
    text = visitor.get("memory/").content.decode()
    return set(re.findall(r"memory/([0-9a-f-]{36})/forget/", text))


def test_program_can_not_name_a_visitor(
    cast: Cast, visitor: Visitor, api_key: Callable[..., Any], chat: Workflow
):
    run = visitor.say("Hello")
    program = api_key(cast.alice)

    answer = program.post(
        f"/api/v1/workflows/{chat.pk}/runs",
        {"query": "Hi", "user": run.subject},
        content_type="application/json",
    )
    memory = program.get("/api/v1/memory/entries", {"namespace": f"user:{run.subject}"})
    assert answer.status_code == 404
    assert memory.status_code in (403, 404)


def test_page_that_is_off_or_has_a_new_link_is_gone_at_once(
    cast: Cast, visitor: Visitor, chat: Workflow, page: PublicPage
):
    run = visitor.say("Hello")
    paths = ("", "memory/", "embed/", f"turns/{run.pk}/", f"turns/{run.pk}/events/")
    assert {visitor.get(path).status_code for path in paths[:4]} == {200}
    unknown = Visitor(PublicPage(token="x" * 22)).get()

    change_page(cast.alice.principal, workflow=chat, access="off")
    assert {visitor.get(path).status_code for path in paths} == {404}
    assert visitor.post("say/", query="Hi").status_code == 404
    hidden = visitor.get()
    assert (unknown.status_code, strip(unknown)) == (404, strip(hidden))

    change_page(cast.alice.principal, workflow=chat, access="link")
    old = Visitor(page, visitor.client)
    visitor.page = renew_link(cast.alice.principal, workflow=chat)
    assert old.get().status_code == 200 if page.token == visitor.page.token else 404
    assert visitor.get(f"turns/{run.pk}/").status_code == 200


def test_open_stream_ends_when_its_page_is_off_or_for_members_only(
    cast: Cast, visitor: Visitor, chat: Workflow, page: PublicPage
):
    run = visitor.say("Hello")
    watch = RunWatch(run.team_id, run.pk, Holder(None, key_id=page.api_key_id))
    admitted = []

    for access in ("link", "off", "link", "members"):
        change_page(cast.alice.principal, workflow=chat, access=access)
        admitted.append(bool(list_admitted([watch])))

    assert admitted == [True, False, True, False]


def strip(answer: Any) -> str:
    """The page without what differs from request to request."""
    return re.sub(r"/p/[\w-]+/|[A-Za-z0-9]{64}|nonce=\"[^\"]*\"", "", answer.content.decode())


def test_request_reads_nothing_but_message_inputs_and_files(visitor: Visitor, chat: Workflow):
    visitor.post(
        "say/",
        query="Hello",
        document='{"nodes": []}',
        version="draft",
        user="somebody",
        person="ben",
        debug='{"until": "llm"}',
        mocks='{"llm": {"text": "mine"}}',
    )

    run = newest_run()
    assert (run.version_id, run.mocks, run.debug) == (chat_version(chat), None, None)
    assert is_visitor_subject(run.subject)


def test_visitor_names_no_group(cast: Cast):
    source = document("Notes")
    store: dict[str, Any] = {"type": "memory-store", "title": "Keep", "scope": "workflow"}
    store |= {"key": "note", "value_selector": ["start", "text"]}
    source["nodes"].insert(1, {"id": "store", "data": store})
    source["edges"] = [
        {"id": "e1", "source": "start", "target": "store"},
        {"id": "e2", "source": "store", "target": "end"},
    ]
    workflow = make_workflow(cast.alice, "Notes", source)
    make_version(cast.alice, workflow)
    visitor = Visitor(change_page(cast.alice.principal, workflow=workflow, access="link"))
    assert "sys.group_id" not in visitor.get().content.decode()

    fields: dict[str, Any] = {"text": "Hello", "sys.group_id": "board"}
    answer = visitor.post("start/", **fields)
    assert answer.status_code == 200, answer.content
    run = newest_run()
    assert run.system["group_id"] == run.subject


def chat_version(workflow: Workflow) -> Any:
    return read(lambda: Workflow.objects.unscoped().get(pk=workflow.pk).published_version_id)


def test_stream_tells_nothing_of_the_inside(visitor: Visitor, execute: Execute):
    run = execute(visitor.say("My name is Ana."))

    answer = visitor.get(f"turns/{run.pk}/events/")
    assert answer.status_code == 200
    text = async_to_sync(collect)(answer.streaming_content)
    events = dict(re.findall(r"event: (\w+)\ndata: (.*)", text))
    assert set(events) <= {"progress", "run_started", "text_chunk", "answered", "run_finished"}
    assert events["answered"] == "{}"
    assert events["progress"] == "{}"
    assert '"error' not in text
    assert "node" not in text


def test_reasoning_is_folded_and_never_raw(visitor: Visitor):
    run = visitor.say("Hello")
    outputs = {"answer": "<think>The plan of the model</think>Good day!"}
    read(
        lambda: (
            Run.objects.unscoped()
            .filter(pk=run.pk)
            .update(status="succeeded", outputs=outputs, finished_at=run.created_at)
        )
    )

    text = visitor.get(f"turns/{run.pk}/").content.decode()
    folded, answer = text.index("The plan of the model"), text.index("Good day!")
    assert text.index('<details class="reasoning">') < folded < text.index("</details>") < answer
    assert "think&gt;" not in text


async def collect(parts: Any) -> str:
    text = b"".join([part async for part in parts]).decode()
    await get_hub().close()
    return text


def test_failure_is_told_in_plain_words(visitor: Visitor):
    run = visitor.say("Hello")
    read(
        lambda: Run.objects.unscoped()
        .filter(pk=run.pk)
        .update(
            status="failed", error="llm.text: Traceback in node llm", error_node="llm",
            finished_at=run.created_at,
        )
    )  # fmt: skip

    text = visitor.get(f"turns/{run.pk}/").content.decode()
    assert "Something went wrong. Please try again." in text
    assert "Traceback" not in text
    assert "llm" not in text


def test_runs_name_a_visitor_by_a_short_code_and_are_found_by_it(visitor: Visitor, cast: Cast):
    run = visitor.say("Hello")
    name = f"Visitor {run.subject.removeprefix('web-')[:6]}"

    shown = cast.alice.client.get("/runs/", {"person": name}).content.decode()
    others = cast.alice.client.get("/runs/", {"person": "Visitor zzzzzz"}).content.decode()

    assert name in shown
    assert str(run.pk) in shown
    assert run.subject not in shown
    assert str(run.pk) not in others
