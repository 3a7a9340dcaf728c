"""Files, questions and streams of a visitor's turns."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from accounts.tenancy import tenant
from tests.support.cast import Cast
from tests.workflows.dify_api.apps import build_chat, publish
from tests.workflows.files.made import PNG
from tests.workflows.public_pages.conftest import Visitor, find_run, newest_run, read
from tests.workflows.public_pages.test_visitors import collect
from workflows.engine.nodes.agent.tool_use.approval import AskedCall, build_form
from workflows.models import PublicPage, Run, RunWait, StoredFile, Workflow
from workflows.services.public_pages.settings import change_page


pytestmark = pytest.mark.django_db(transaction=True)

QUESTION = {
    "type": "form",
    "content": "Which day?",
    "inputs": [
        {"name": "day", "type": "text-input", "label": "Day"},
        {"name": "hour", "type": "number", "label": "Hour"},
    ],
    "actions": [{"id": "send", "title": "Send", "style": "primary"}],
}


@pytest.fixture
def reading_page(cast: Cast) -> PublicPage:
    """The page of a chat that takes documents with a message, and shows them again."""
    workflow = publish(cast.alice, build_chat())
    return change_page(cast.alice.principal, workflow=workflow, access="link")


def upload(visitor: Visitor, name: str = "notes.txt", content: bytes = b"Some notes.") -> Any:
    return visitor.client.post(
        f"{visitor.root}files/", {"field": "", "file": SimpleUploadedFile(name, content)}
    )


def test_file_of_a_visitor_is_theirs_alone(reading_page: PublicPage):
    visitor, stranger = Visitor(reading_page), Visitor(reading_page)
    visitor.get()
    stranger.get()

    answer = upload(visitor)
    assert answer.status_code == 201, answer.content
    file_id = answer.json()["id"]
    row = read(lambda: StoredFile.objects.unscoped().get(pk=file_id))
    files = f'[{{"id": "{file_id}"}}]'
    refused = stranger.post("say/", query="Read it", files=files)
    assert refused.status_code == 422
    run = visitor.say("Read it", files=files)
    assert (row.subject, [each["related_id"] for each in run.system["files"]]) == (
        run.subject,
        [file_id],
    )
    turn = visitor.get(f"turns/{run.pk}/").content.decode()
    (link,) = set(re.findall(rf"/files/{file_id}/\?token=[\w:-]+", turn))
    assert b"".join(visitor.client.get(link).streaming_content) == b"Some notes."
    assert stranger.client.get(f"/files/{file_id}/").status_code in (302, 404)


def test_file_that_the_page_does_not_take_is_refused(reading_page: PublicPage, visitor: Visitor):
    assert upload(Visitor(reading_page), "picture.png", PNG).status_code == 422


def pause(run: Run, form: Any) -> RunWait:
    """Let a run wait for the answer to a form."""
    state = {"nodes": ["ask"], "reason": "input", "at": timezone.now().timestamp() - 60}
    with tenant([run.team_id]):
        Run.objects.unscoped().filter(pk=run.pk).update(status="paused", pause=state)
        return RunWait.objects.create(team_id=run.team_id, run=run, node_key="ask", form=form)


def test_visitor_answers_a_question_and_nobody_else_does(visitor: Visitor, stranger: Visitor):
    run = visitor.say("Book a table")
    wait = pause(run, QUESTION)
    stranger.get()
    path = f"turns/{run.pk}/waits/{wait.pk}/"

    assert "Which day?" in visitor.get(f"turns/{run.pk}/waits/").content.decode()
    assert stranger.post(path, day="Monday").status_code == 404
    assert visitor.post(path, hour="soon").status_code == 422
    values: dict[str, Any] = {"day": "Monday", "hour": "8", "-action": "send"}
    assert visitor.post(path, **values).status_code == 200
    assert find_run(run.pk).status == "queued"


def test_decision_about_a_tool_is_not_shown_to_a_visitor(visitor: Visitor):
    run = visitor.say("Pay it")
    wait = pause(run, build_form(AskedCall("shop.pay", {"account": "secret-42"})))

    text = visitor.get(f"turns/{run.pk}/waits/").content.decode()
    assert "Somebody else has to decide something first." in text
    assert "secret-42" not in text
    assert visitor.post(f"turns/{run.pk}/waits/{wait.pk}/").status_code == 404


def test_stream_continues_after_the_last_event(visitor: Visitor, execute: Callable[[Run], Run]):
    run = execute(visitor.say("My name is Ana."))
    whole = read_stream(visitor, run)
    numbers = [int(number) for number in re.findall(r"^id: (\d+)$", whole, re.MULTILINE)]

    rest = read_stream(visitor, run, {"Last-Event-ID": str(numbers[-2])})
    assert re.findall(r"^id: (\d+)$", rest, re.MULTILINE) == [str(numbers[-1])]
    assert "event: run_finished" in rest


def read_stream(visitor: Visitor, run: Run, headers: dict[str, str] | None = None) -> str:
    answer = visitor.client.get(f"{visitor.root}turns/{run.pk}/events/", headers=headers)
    text: str = async_to_sync(collect)(answer.streaming_content)
    return text


def test_stream_within_another_site_is_opened_by_its_signed_address(page: PublicPage):
    frame = Visitor(page)
    headers = {"X-Visitor": "", "HX-Request": "true"}
    headers["X-Visitor"] = frame.post("visitor/", headers=headers).json()["ticket"]
    turn = frame.post("say/", headers=headers, query="Hello").content.decode()
    first = newest_run()
    (address,) = re.findall(r'data-events="([^"]+)"', turn)
    frame.post("say/", headers=headers, query="Again")
    second = newest_run()

    assert frame.client.get(address).status_code == 200
    assert frame.client.get(address.partition("?")[0]).status_code == 404
    assert frame.client.get(address.replace(str(first.pk), str(second.pk))).status_code == 404
    assert frame.client.get(f"{address}x").status_code == 404


def test_visitor_stops_an_answer(visitor: Visitor):
    run = visitor.say("Tell me a long story.")

    assert visitor.post(f"turns/{run.pk}/stop/").status_code == 204
    assert find_run(run.pk).status == "stopped"
    assert "This reply was stopped." in visitor.get(f"turns/{run.pk}/").content.decode()


def test_conversation_is_renamed_and_deleted_with_its_runs(
    visitor: Visitor, execute: Callable[[Run], Run]
):
    run = execute(visitor.say("My name is Ana."))

    assert visitor.post(f"talks/{run.conversation_id}/rename/", name="About me").status_code == 204
    assert "About me" in visitor.get().content.decode()
    assert visitor.post(f"talks/{run.conversation_id}/delete/").status_code == 204
    assert "About me" not in visitor.get().content.decode()
    assert visitor.get(f"turns/{run.pk}/").status_code == 404


def test_form_shows_outputs_and_the_errors_of_its_fields(cast: Cast, execute: Any):
    from tests.factories.workflows import document, make_version, make_workflow

    source = document("Echo", required=True, max_length=20)
    workflow: Workflow = make_workflow(cast.alice, "Echo", source)
    make_version(cast.alice, workflow)
    visitor = Visitor(change_page(cast.alice.principal, workflow=workflow, access="link"))

    rejected = visitor.post("start/", text="")
    assert (rejected.status_code, rejected["HX-Retarget"]) == (422, "#page-fields")
    assert 'aria-invalid="true"' in rejected.content.decode()
    assert visitor.post("start/", text="**bold** <b>").status_code == 200
    run = execute(newest_run())
    text = visitor.get(f"results/{run.pk}/").content.decode()
    assert "<strong>bold</strong> &lt;b&gt;" in text
    assert Visitor(visitor.page).get(f"results/{run.pk}/").status_code == 404


def test_form_leads_to_the_earlier_results_of_its_visitor_alone(cast: Cast, execute: Any):
    from tests.factories.workflows import document, make_version, make_workflow

    workflow: Workflow = make_workflow(cast.alice, "Echo", document("Echo", required=True))
    make_version(cast.alice, workflow)
    visitor = Visitor(change_page(cast.alice.principal, workflow=workflow, access="link"))
    before = visitor.get().content.decode()
    visitor.post("start/", text="My   first\ntext")
    first = execute(newest_run())
    visitor.post("start/", text="My second text")
    second = newest_run()

    page = visitor.get().content.decode()
    foreign = Visitor(visitor.page).get().content.decode()

    assert "Earlier results" not in before
    links = re.findall(r'href="([^"]+/results/[^"]+)"', page)
    assert links == [f"{visitor.root}results/{run.pk}/" for run in (second, first)]
    assert page.index("My second text") < page.index("Still running") < page.index("My first text")
    assert "Earlier results" not in foreign
    assert "My   first" in visitor.get(f"results/{first.pk}/").content.decode()


def test_message_that_is_sent_twice_starts_one_run(page: PublicPage):
    visitor = Visitor(page)
    message: dict[str, Any] = {"query": "Hello", "sys.form_id": "m1"}

    first = visitor.post("say/", **message)
    again = visitor.post("say/", **message)

    count = read(lambda: Run.objects.unscoped().filter(workflow_id=page.workflow_id).count())
    assert (count, again.status_code) == (1, 204)
    assert again["HX-Redirect"] == first["HX-Replace-Url"]
    assert 'name="sys.form_id"' in visitor.get().content.decode()
