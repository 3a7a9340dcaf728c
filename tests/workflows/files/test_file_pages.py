"""Files on pages: uploaded for a form, sent with a message, and shown as links wherever a run has them."""

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils.html import escape

from accounts.tenancy import tenant
from tests.factories.workflows import make_conversation, make_run, make_version
from tests.support.cast import Cast
from tests.workflows.files.made import PNG, make_file, make_file_workflow
from workflows.engine.text_rendering import as_markdown
from workflows.files.values import build_remote_value, build_value
from workflows.models import Run
from workflows.templatetags.files import list_shown_files


pytestmark = pytest.mark.django_db


def test_file_is_uploaded_for_a_form(cast: Cast, settings: Any):
    workflow = make_file_workflow(cast.alice)
    url = reverse("workflows:upload", args=[workflow.pk])

    stored = cast.bob.client.post(url, {"file": SimpleUploadedFile("a.png", PNG)})
    settings.FILE_DOCUMENT_MB = 1
    large = cast.bob.client.post(url, {"file": SimpleUploadedFile("a.txt", b"x" * 2 * 1024**2)})

    assert (stored.status_code, stored.json()["name"], stored.json()["is_image"]) == (
        201,
        "a.png",
        True,
    )
    assert (large.status_code, "1 MB" in large.json()["error"]) == (413, True)


@pytest.mark.parametrize(
    ("content", "name", "status", "error"),
    [
        (PNG, "cat.png", 201, None),
        (PNG, "cat.txt", 201, None),
        (b"%PDF-1.7", "cat.png", 422,
         "Slip: cat.png is not of an accepted type. Accepted: images up to 1 MB; .log up to 15 MB."),
        (b"Notes", "notes.txt", 422,
         "Slip: notes.txt is not of an accepted type. Accepted: images up to 1 MB; .log up to 15 MB."),
        (b"Notes", "notes.log", 201, None),
        (PNG + b"x" * 1024**2, "cat.png", 413,
         "Slip: cat.png is too large. Accepted: images up to 1 MB; .log up to 15 MB."),
    ],
)  # fmt: skip
def test_upload_is_held_to_the_rules_of_its_field(
    cast: Cast, settings: Any, content: bytes, name: str, status: int, error: str | None
):
    settings.FILE_IMAGE_MB = 1
    workflow = make_file_workflow(
        cast.alice, label="Slip",
        allowed_file_types=["image", "custom"], allowed_file_extensions=[".LOG"],
    )  # fmt: skip
    url = reverse("workflows:upload", args=[workflow.pk])

    response = cast.bob.client.post(
        url, {"field": "doc", "file": SimpleUploadedFile(name, content)}
    )

    assert (response.status_code, response.json().get("error")) == (status, error)


def test_upload_for_a_message_is_held_to_the_rules_of_its_version(cast: Cast):
    workflow = make_file_workflow(cast.alice, "advanced-chat")
    make_version(cast.alice, workflow)
    url = reverse("workflows:upload", args=[workflow.pk])
    audio = b"ID3" + b"\0" * 200

    for query in ("", "?version=published"):
        file = SimpleUploadedFile("a.mp3", audio)
        response = cast.bob.client.post(url + query, {"field": "", "file": file})

        assert response.status_code == 422
        assert response.json()["error"].startswith("Files of the message: a.mp3 is not of an")


def test_field_says_what_it_accepts_before_anything_is_selected(cast: Cast, settings: Any):
    settings.FILE_IMAGE_MB = 7
    workflow = make_file_workflow(cast.alice, type="file-list", max_length=4, allowed_file_types=["image", "audio"])  # fmt: skip

    page = cast.bob.client.get(reverse("workflows:detail", args=[workflow.pk])).content.decode()

    assert "Up to 4 files: images up to 7 MB; audio up to 50 MB" in page


def test_message_of_a_chat_carries_files(cast: Cast):
    workflow = make_file_workflow(cast.alice, "advanced-chat")
    make_version(cast.alice, workflow)
    file = make_file(cast.bob, PNG, "cat.png")
    url = reverse("workflows:chat_say", args=[workflow.pk])
    files = json.dumps([{"id": str(file.pk), "name": "ignored"}])

    cast.bob.client.post(url, {"query": "Look", "files": files})
    refused = cast.carol.client.post(url, {"query": "Look", "files": files})
    foreign = cast.bob.client.post(
        url, {"query": "Look", "files": json.dumps([{"id": str(make_file(cast.alice).pk)}])}
    )

    with tenant([cast.team_a.pk]):
        run = Run.objects.unscoped().select_related("conversation").get()
    assert [value["name"] for value in run.system["files"]] == ["cat.png"]
    assert (refused.status_code, foreign.status_code) == (404, 422)
    assert run.conversation is not None
    url = reverse("workflows:chat", args=[workflow.pk])
    answer = cast.bob.client.get(url, {"conversation": run.conversation.key})
    page = answer.content.decode()
    assert f'href="/files/{file.pk}/"' in page
    assert "<file-picker" in page


def test_page_of_a_run_links_its_files(cast: Cast):
    value = build_value(make_file(cast.bob, b"x", "notes.txt"))
    run = make_run(
        cast.bob, make_file_workflow(cast.alice), inputs={"doc": value}, status="succeeded",
        finished_at="2026-11-27T10:00:00Z", outputs={"doc": value},
    )  # fmt: skip

    page = cast.bob.client.get(reverse("workflows:run", args=[run.pk])).content.decode()

    assert page.count(f'href="/files/{value["related_id"]}/"') == 2
    assert "dify_model_identity" not in page


def test_form_has_the_files_of_the_last_run(cast: Cast):
    workflow = make_file_workflow(cast.alice)
    file = make_file(cast.bob, PNG, "cat.png")
    make_run(cast.bob, workflow, inputs={"doc": build_value(file)}, status="succeeded", finished_at="2026-11-27T10:00:00Z")  # fmt: skip

    page = cast.bob.client.get(reverse("workflows:detail", args=[workflow.pk])).content.decode()

    chosen = json.dumps([{
        "id": str(file.pk), "name": "cat.png", "size": file.size, "url": f"/files/{file.pk}/", "is_image": True,
    }])  # fmt: skip
    assert escape(chosen) in page
    assert "token=" not in page


def test_picture_in_an_answer_is_shown_where_the_answer_is(cast: Cast):
    workflow = make_file_workflow(cast.alice, "advanced-chat")
    make_version(cast.alice, workflow)
    picture, report = make_file(cast.bob, PNG, "cat.png"), make_file(cast.bob, b"x", "notes.txt")
    foreign = make_file(cast.alice, PNG, "private.png")
    links = [as_markdown(build_value(file)) for file in (picture, report, foreign)]
    conversation = make_conversation(cast.bob, workflow)
    run = make_run(
        cast.bob, workflow, status="succeeded", finished_at="2026-11-27T10:00:00Z", conversation=conversation,
        system={"query": "Look"},
        outputs={"answer": "\n".join(links), "files": [build_value(picture), build_value(report)]},
    )  # fmt: skip
    pages = [
        cast.bob.client.get(reverse("workflows:chat", args=[workflow.pk]), {"conversation": conversation.key}),
        cast.bob.client.get(reverse("workflows:run_answer_note", args=[run.pk])),
        cast.bob.client.get(reverse("workflows:run", args=[run.pk])),
        cast.bob.client.get(reverse("workflows:detail", args=[workflow.pk]), {"conversation": conversation.key}),
    ]  # fmt: skip

    for response in pages:
        page = response.content.decode()
        assert page.count(f'<img src="/files/{picture.pk}/" alt="cat.png" loading="lazy">') == 1
        assert page.count(f'href="/files/{report.pk}/"') == 1
        assert f"/files/{foreign.pk}/" not in page
        assert "private.png" in page


def test_form_that_is_refused_keeps_the_file_and_says_why(cast: Cast):
    workflow = make_file_workflow(cast.alice, allowed_file_types=["image"])
    file = make_file(cast.bob, b"<html></html>", "cat.png")
    url = reverse("workflows:start", args=[workflow.pk])
    chosen = json.dumps([{"id": str(file.pk), "name": "cat.png"}])

    answer = cast.bob.client.post(url, {"doc": chosen}, headers={"HX-Request": "true"})

    page = answer.content.decode()
    assert answer.status_code == 422
    assert "cat.png is not of an accepted type (image)" in page
    assert str(file.pk) in page


def test_shown_file_leads_to_the_store_or_to_the_web_and_nowhere_else(cast: Cast):
    stored = build_value(make_file(cast.bob, PNG, "cat.png"))
    remote = build_remote_value("https://x.example/a.pdf")
    script = {
        "type": "image",
        "transfer_method": "remote_url",
        "url": "javascript:alert(1)",
        "name": "x",
    }

    shown = list_shown_files({"a": [stored, {"b": remote}], "c": script, "d": stored})

    assert [(file.name, file.url, file.has_picture) for file in shown] == [
        ("cat.png", f"/files/{stored['related_id']}/", True),
        ("a.pdf", "https://x.example/a.pdf", False),
    ]
