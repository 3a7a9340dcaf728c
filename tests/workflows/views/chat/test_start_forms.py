"""A chat whose Start node has fields is started from its pages: the form comes first, and nothing typed is lost."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from accounts.tenancy import tenant
from tests.factories.workflows import make_version, make_workflow, within
from tests.support.cast import Person
from tests.workflows.files.made import PNG
from tests.workflows.views.conftest import HTMX, text_of
from workflows.engine.errors import DocumentInvalid
from workflows.engine.files.rules import read_field_rules
from workflows.engine.language.document import Mode
from workflows.engine.language.dsl import load_document
from workflows.engine.language.plan import compile_plan
from workflows.engine.language.start_form import list_form_variables
from workflows.execution.kinds import load_kinds
from workflows.files.accepted import list_kinds
from workflows.forms import InputField
from workflows.models import Run, Workflow
from workflows.services.editor import drafts


pytestmark = pytest.mark.django_db

MESSAGE = "What does it say?"
UPLOADS = {
    "image": ("a.png", PNG),
    "audio": ("a.mp3", b"ID3" + b"\0" * 200),
    "video": ("a.mp4", b"\0\0\0\x18ftypmp42" + b"\0" * 200),
    "document": ("a.txt", b"A report."),
    "custom": ("a.txt", b"A report."),
}


def field(name: str, kind: str = "text-input", **more: Any) -> dict[str, Any]:
    return {"variable": name, "label": name.capitalize(), "type": kind, "required": True, **more}


def chat_of(fields: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the document of a chat with these fields."""
    start = {"id": "start", "data": {"type": "start", "title": "Start", "variables": fields}}
    answer = {"id": "answer", "data": {"type": "answer", "title": "Answer", "answer": "Yes."}}
    edges = [{"id": "e", "source": "start", "target": "answer"}]
    graph = {"nodes": [start, answer], "edges": edges}
    return {
        "version": "0.6.0",
        "kind": "app",
        "app": {"name": "Form", "mode": "advanced-chat"},
        "workflow": {"features": {}, "graph": graph},
    }


# What published documents ask for before the first message.
FORMS = {
    "a text with the name of the message": [field("query", "paragraph")],
    "several texts": [field("title"), field("body", "paragraph"), field("cc", required=False)],
    "a choice": [field("language", "select", options=["日本語", "English"], default="日本語")],
    "a choice whose default is none": [field("kind", "select", options=["a", "b"], default="")],
    "a number and a switch": [field("count", "number"), field("short", "checkbox", required=False)],
    "a document": [field("paper", "file", allowed_file_types=["document"])],
    "pictures": [
        field("before", "file", allowed_file_types=["image"]),
        field("others", "file-list", allowed_file_types=["image"], max_length=2, required=False),
    ],
    "an own file type": [
        field("code", "file", allowed_file_types=["custom"], allowed_file_extensions=[".TXT"])
    ],
    "files of any way in": [
        field("files", "file-list", allowed_file_upload_methods=["remote_url", "local_file"])
    ],
    "optional fields alone": [field("style", required=False)],
}


class ChatPages:
    """The chat of the editor or of the published version, as a person uses it."""

    def __init__(self, person: Person, workflow: Workflow, place: str) -> None:
        self.person, self.workflow = person, workflow
        self.page_name, self.say_name = {
            "editor": ("workflows:detail", "workflows:say"),
            "chat page": ("workflows:chat", "workflows:chat_say"),
        }[place]
        self.version = "?version=published" if place == "chat page" else ""

    def open(self, **query: str) -> Any:
        address = reverse(self.page_name, args=[self.workflow.pk])
        return self.person.client.get(address, query)

    def say(self, inputs: dict[str, str]) -> Any:
        data = {"query": MESSAGE, **{f"input.{name}": text for name, text in inputs.items()}}
        address = reverse(self.say_name, args=[self.workflow.pk])
        return self.person.client.post(address, data, headers=HTMX)

    def fill_in(self, fields: list[InputField], kinds: dict[str, str]) -> dict[str, str]:
        """Return what a person enters who leaves what is filled in already."""
        return {each.name: each.value or self._enter(each, kinds) for each in fields}

    def _enter(self, each: InputField, kinds: dict[str, str]) -> str:
        if each.control == "files":
            return json.dumps([self._upload(each.name, kinds[each.name])])
        options = each.options[0] if each.options else ""
        texts = {"select": options, "number": "3", "json": "{}", "switch": "on"}
        return texts.get(each.control, "Some text")

    def _upload(self, name: str, kind: str) -> dict[str, Any]:
        address = reverse("workflows:upload", args=[self.workflow.pk]) + self.version
        upload = SimpleUploadedFile(*UPLOADS[kind])
        answer = self.person.client.post(address, {"field": name, "file": upload})
        assert answer.status_code == 201, answer.content
        return dict(answer.json())

    def list_runs(self) -> list[Run]:
        with within(self.person):
            rows = Run.objects.visible_to(self.person.principal).filter(workflow=self.workflow)
            return list(rows.select_related("conversation"))


def start(chat: ChatPages) -> None:
    """Start the chat as its pages offer it, and say what they show before, on a refusal and after."""
    page = chat.open()
    fields = list(page.context["start_fields"])
    html = text_of(page)
    assert (
        re.search(r"<details[^>]*\bopen\b[^>]*chat-inputs|chat-inputs[^>]*\bopen\b", html)
        or not fields
    )
    missing = {each.name for each in fields if each.required and not each.value}
    if missing:
        refused = chat.say({each.name: each.value for each in fields})
        assert (refused.status_code, refused["HX-Retarget"]) == (422, "#chat-inputs")
        assert {each.name for each in refused.context["start_fields"] if each.error} == missing
        assert chat.list_runs() == []
    entered = chat.fill_in(fields, choose_kinds(chat.workflow))
    started = chat.say(entered)
    assert started.status_code == 200, started.content.decode()
    (run,) = chat.list_runs()
    assert run.system["query"] == MESSAGE
    assert run.conversation is not None
    later = chat.open(conversation=run.conversation.key)
    assert [each.name for each in later.context["start_fields"]] == [each.name for each in fields]
    assert all(each.value for each in later.context["start_fields"] if entered[each.name])
    assert not later.context.get("is_open")


def choose_kinds(workflow: Workflow) -> dict[str, str]:
    """Return a kind of file that each of the fields for files accepts."""
    with tenant([workflow.team_id]):
        variables = list_form_variables(drafts.load_draft(workflow))
    return {
        str(each["variable"]): next(
            kind for kind in list_kinds(read_field_rules(each)) if kind in UPLOADS
        )
        for each in variables
    }


def list_forms() -> Iterator[Any]:
    """Yield each form with the pages where it is filled in. By day these take turns."""
    for turn, form in enumerate(FORMS):
        for number, place in enumerate(("editor", "chat page")):
            marks = () if number == turn % 2 else pytest.mark.nightly
            yield pytest.param(form, place, marks=marks, id=f"{form}-{place}")


@pytest.mark.parametrize(("form", "place"), [*list_forms()])
def test_chat_with_a_form_is_started_from_its_page(alice: Person, form: str, place: str):
    workflow = make_workflow(alice, "Form", chat_of(FORMS[form]))
    make_version(alice, workflow)

    start(ChatPages(alice, workflow, place))


def list_published_chats() -> Iterator[Any]:
    """Yield the chats of the folder ``REAL_DOCUMENTS``, which is no part of this repository."""
    folder = os.environ.get("REAL_DOCUMENTS")
    for path in sorted(Path(folder).glob("*.yml")) if folder else ():
        source = path.read_text()
        try:
            document = load_document(source, confirm_newer=True).document
        except DocumentInvalid:
            continue
        if document.mode is Mode.CHAT:
            yield pytest.param(source, id=path.stem)


@pytest.mark.nightly
@pytest.mark.parametrize("source", [*list_published_chats()])
def test_published_chat_is_started_from_the_editor(alice: Person, source: str):
    """A chat that its author left half made is refused with the nodes and fields in question."""
    workflow = make_workflow(alice, "Imported", source)
    chat = ChatPages(alice, workflow, "editor")

    if is_complete(workflow):
        start(chat)
        return

    fields = list(chat.open().context["start_fields"])
    refused = chat.say(chat.fill_in(fields, choose_kinds(workflow)))
    assert (refused.status_code, refused["HX-Retarget"]) == (422, "#run-refused")
    assert all(problem.node for problem in refused.context["problems"])


def is_complete(workflow: Workflow) -> bool:
    with tenant([workflow.team_id]):
        document = drafts.load_draft(workflow)
    try:
        compile_plan(document, load_kinds())
    except DocumentInvalid:
        return False
    return True
