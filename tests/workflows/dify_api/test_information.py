"""What a front end asks of an app, files, and what isn't carried out."""

from typing import Any
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tests.support.cast import Cast, KeyClient
from tests.workflows.dify_api.apps import build_chat, make_program, publish
from tests.workflows.dify_api.rows import read_audit, start
from workflows.models import Workflow


pytestmark = pytest.mark.django_db


@pytest.fixture
def program(cast: Cast, chat: Workflow) -> KeyClient:
    return make_program(cast.alice, chat)


def upload(program: KeyClient, name: str = "note.txt", user: str = "ana") -> Any:
    file = SimpleUploadedFile(name, b"Tea is hot.", "text/plain")
    return program.post("/v1/files/upload", {"file": file, "user": user})


def test_parameters_are_those_of_dify(program: KeyClient) -> None:
    body = program.get("/v1/parameters").json()

    assert body["opening_statement"] == "Hello!"
    assert body["suggested_questions"] == ["Who are you?", "What can you do?"]
    assert body["suggested_questions_after_answer"] == {"enabled": True}
    for name in ("speech_to_text", "text_to_speech", "retriever_resource", "annotation_reply",
                 "more_like_this", "sensitive_word_avoidance"):  # fmt: skip
        assert body[name]["enabled"] is False, name
    assert [next(iter(item)) for item in body["user_input_form"]] == [
        "text-input",
        "select",
        "file",
    ]
    assert body["user_input_form"][0]["text-input"] == {
        "label": "Name", "variable": "name", "type": "text-input", "required": False,
        "default": None, "max_length": 48, "options": [],
    }  # fmt: skip
    assert body["user_input_form"][1]["select"]["options"] == ["good", "bad"]
    assert body["user_input_form"][2]["file"]["allowed_file_types"] == ["document"]
    assert body["file_upload"]["enabled"] is True
    assert body["file_upload"]["number_limits"] == 2
    assert body["file_upload"]["allowed_file_upload_methods"] == ["local_file"]
    assert set(body["system_parameters"]) == {
        "image_file_size_limit", "file_size_limit", "audio_file_size_limit",
        "video_file_size_limit", "workflow_file_upload_limit",
    }  # fmt: skip


def test_name_look_and_icons(program: KeyClient) -> None:
    info = program.get("/v1/info").json()
    site = program.get("/v1/site").json()

    assert (info["name"], info["mode"], info["tags"]) == ("Echo", "advanced-chat", [])
    assert (site["title"], site["icon_type"], site["default_language"]) == (
        "Echo", "emoji", "en-US",
    )  # fmt: skip
    assert program.get("/v1/meta").json() == {"tool_icons": {}}


def test_uploaded_file_is_201_and_comes_with_a_message(program: KeyClient, chat: Workflow) -> None:
    answer = upload(program)

    file = answer.json()
    assert answer.status_code == 201
    assert (file["name"], file["size"], file["extension"], file["mime_type"]) == (
        "note.txt", 11, "txt", "text/plain",
    )  # fmt: skip
    assert isinstance(file["created_at"], int)
    reference = {
        "type": "document", "transfer_method": "local_file", "upload_file_id": file["id"],
    }  # fmt: skip
    run = start(program, chat, "ana", query="Read", files=[reference])
    assert run.conversation is not None
    key = run.conversation.key
    messages = program.get("/v1/messages", {"user": "ana", "conversation_id": key}).json()
    shown = messages["data"][0]["message_files"][0]
    assert (shown["filename"], shown["belongs_to"], shown["upload_file_id"]) == (
        "note.txt", "user", file["id"],
    )  # fmt: skip


def test_file_is_shown_to_its_user_and_key_alone(program: KeyClient, cast: Cast) -> None:
    file = upload(program).json()
    path = f"/v1/files/{file['id']}/preview"

    own = program.get(path, {"user": "ana"})
    saved = program.get(path, {"user": "ana", "as_attachment": "true"})
    foreign = program.get(path, {"user": "ben"})
    other = make_program(cast.alice, publish(cast.alice, build_chat(), "Other"))
    of_another_key = other.get(path, {"user": "ana"})

    assert (own.status_code, own.content) == (200, b"Tea is hot.")
    assert own["X-Content-Type-Options"] == "nosniff"
    assert saved["Content-Disposition"].startswith("attachment")
    for answer in (foreign, of_another_key):
        assert (answer.status_code, answer.json()["code"]) == (404, "file_not_found")
    assert program.get(path).status_code == 400
    refused = read_audit(cast.alice, "access.refused")
    assert [entry.detail["op"] for entry in refused] == ["file.preview"] * 2


def test_upload_without_a_file_or_with_several_is_refused(program: KeyClient) -> None:
    files = [SimpleUploadedFile("a.txt", b"a"), SimpleUploadedFile("b.txt", b"b")]

    none = program.post("/v1/files/upload", {"user": "ana"})
    several = program.post("/v1/files/upload", {"user": "ana", "file": files})
    nobody = program.post("/v1/files/upload", {"file": SimpleUploadedFile("a.txt", b"a")})

    assert (none.status_code, none.json()["code"]) == (400, "no_file_uploaded")
    assert (several.status_code, several.json()["code"]) == (400, "too_many_files")
    assert nobody.json()["message"] == "Arg user must be provided."


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("get", "/apps/annotations", 404),
        ("post", "/apps/annotation-reply/enable", 404),
        ("post", "/text-to-audio", 400),
        ("get", "/datasets", 404),
        ("get", "/datasets/1/documents", 404),
        ("get", "/workspaces/current/models/model-types/llm", 404),
    ],
)
def test_what_is_not_carried_out_says_so(
    program: KeyClient, method: str, path: str, status: int
) -> None:
    answer = getattr(program, method)(f"/v1{path}", content_type="application/json")

    assert (answer.status_code, answer.json()["status"]) == (status, status)
    assert answer.json()["message"]


def test_other_content_types_and_methods_are_refused_in_the_same_envelope(
    program: KeyClient,
) -> None:
    text = program.post("/v1/chat-messages", "{}", "text/plain")
    method = program.delete("/v1/parameters")
    nobody = program.get(f"/v1/end-users/{uuid4()}")

    assert (text.status_code, text.json()["code"]) == (415, "unsupported_media_type")
    assert (method.status_code, method.json()["code"]) == (405, "method_not_allowed")
    assert (nobody.status_code, nobody.json()["code"]) == (404, "end_user_not_found")
