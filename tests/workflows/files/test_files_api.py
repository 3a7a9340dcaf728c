"""Files over the API: uploaded as multipart, used by their ids, and by their person's runs alone."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.tenancy import tenant
from tests.factories.workflows import make_version
from tests.support.cast import Cast
from tests.workflows.files.made import PNG, make_file, make_file_workflow
from workflows.models import Run, StoredFile, Workflow


pytestmark = pytest.mark.django_db

API = "/api/v1"
KeyMaker = Callable[..., Any]


def upload(client: Client, name: str = "a.png", content: bytes = PNG, **form: str) -> Any:
    return client.post(f"{API}/files", {"file": SimpleUploadedFile(name, content), **form})


def start(client: Client, workflow: Workflow, **body: Any) -> Any:
    return client.post(
        f"{API}/workflows/{workflow.pk}/runs",
        json.dumps({"version": "draft", **body}),
        content_type="application/json",
    )


def test_uploaded_file_becomes_the_value_of_a_field(cast: Cast, api_key: KeyMaker):
    client, workflow = api_key(cast.bob), make_file_workflow(cast.alice)
    make_version(cast.alice, workflow)

    stored = upload(client, user="ana").json()
    answer = start(client, workflow, user="ana", inputs={"doc": {
        "transfer_method": "local_file", "upload_file_id": stored["id"], "type": "document",
        "url": "file:///etc/passwd", "name": "evil", "size": 1,
    }})  # fmt: skip

    value = answer.json()["inputs"]["doc"]
    assert answer.status_code == 202
    assert {key: value[key] for key in ("type", "name", "size", "mime_type", "extension", "related_id")} == {
        "type": "image", "name": "a.png", "size": len(PNG), "mime_type": "image/png", "extension": ".png",
        "related_id": stored["id"],
    }  # fmt: skip
    assert value["url"].startswith(f"/files/{stored['id']}/?token=")
    with tenant([cast.team_a.pk]):
        file = StoredFile.objects.unscoped().get(pk=stored["id"])
        run = Run.objects.unscoped().get(pk=answer.json()["id"])
    assert (file.run_ids, file.expires_at, file.subject) == ([run.pk], None, "ana")


@pytest.mark.parametrize("path", ["files", "files/upload"])
def test_address_of_an_uploaded_file_is_whole(
    cast: Cast, api_key: KeyMaker, settings: Any, path: str
):
    client = api_key(cast.bob)

    answer = client.post(f"{API}/{path}", {"file": SimpleUploadedFile("a.png", PNG)})

    assert answer.status_code == 201
    assert answer.json()["url"].startswith(f"http://testserver/files/{answer.json()['id']}/?token=")
    assert client.get(answer.json()["url"]).status_code == 200
    settings.PUBLIC_URL = "https://flows.example.org"
    again = client.get(f"{API}/files/{answer.json()['id']}")
    assert again.json()["url"].startswith("https://flows.example.org/files/")


def test_unknown_address_is_not_found_whatever_is_sent(cast: Cast, api_key: KeyMaker):
    answer = api_key(cast.bob).post(f"{API}/file", {"file": SimpleUploadedFile("a.png", PNG)})

    assert (answer.status_code, answer.json()["error"]["type"]) == (404, "NotFound")


def test_file_of_another_person_or_key_is_not_there(cast: Cast, api_key: KeyMaker):
    workflow = make_file_workflow(cast.alice)
    client, other = api_key(cast.bob), api_key(cast.bob)
    foreign = [
        upload(client, user="ben").json()["id"],
        upload(other, user="ana").json()["id"],
        str(make_file(cast.alice).pk),
        str(make_file(cast.carol).pk),
        "00000000-0000-0000-0000-000000000000",
        "nonsense",
    ]

    for file_id in foreign:
        answer = start(client, workflow, user="ana", inputs={"doc": file_id})
        assert answer.status_code == 422, file_id
        (problem,) = answer.json()["error"]["problems"]
        assert problem["field"] == "doc"


def test_file_without_a_person_belongs_to_its_first_run(cast: Cast, api_key: KeyMaker):
    client, workflow = api_key(cast.bob), make_file_workflow(cast.alice)
    file_id = upload(client).json()["id"]

    first = start(client, workflow, user="ana", inputs={"doc": file_id})
    second = start(client, workflow, user="ben", inputs={"doc": file_id})

    assert (first.status_code, second.status_code) == (202, 422)


def test_address_on_the_web_is_passed_on(cast: Cast, api_key: KeyMaker):
    client, workflow = api_key(cast.bob), make_file_workflow(cast.alice)
    remote = {"transfer_method": "remote_url", "url": "https://x.example/a%20b.pdf?x=1"}

    value = start(client, workflow, inputs={"doc": remote}).json()["inputs"]["doc"]
    refused = start(client, workflow, inputs={"doc": {**remote, "url": "file:///etc/passwd"}})

    assert (value["name"], value["type"], value["url"]) == ("a b.pdf", "document", remote["url"])
    assert refused.status_code == 422


def test_rules_of_the_field_hold_for_the_content(cast: Cast, api_key: KeyMaker):
    client = api_key(cast.bob)
    workflow = make_file_workflow(cast.alice, allowed_file_types=["document"])
    file_id = upload(client, "report.pdf", PNG).json()["id"]  # an image, whatever its name is

    answer = start(client, workflow, inputs={"doc": file_id})

    assert answer.status_code == 422
    assert (
        "report.pdf is not of an accepted type" in answer.json()["error"]["problems"][0]["message"]
    )


def test_files_of_a_message_become_sys_files(cast: Cast, api_key: KeyMaker):
    client = api_key(cast.bob)
    chat, plain = make_file_workflow(cast.alice, "advanced-chat"), make_file_workflow(cast.alice)
    ids = [upload(client, f"{n}.png").json()["id"] for n in range(3)]

    answer = start(client, chat, query="Look", files=[{"upload_file_id": ids[0]}, ids[1]])
    too_many = start(client, chat, query="Look", files=ids)
    not_taken = start(client, plain, files=ids[:1])

    with tenant([cast.team_a.pk]):
        run = Run.objects.unscoped().get(pk=answer.json()["id"])
    assert [file["related_id"] for file in run.system["files"]] == ids[:2]
    for refused in (too_many, not_taken):
        assert (refused.status_code, refused.json()["error"]["problems"][0]["field"]) == (
            422,
            "files",
        )


def test_file_is_read_and_deleted_by_its_owner(cast: Cast, api_key: KeyMaker):
    client, other = api_key(cast.bob), api_key(cast.bob)
    stored = upload(client).json()
    path = f"{API}/files/{stored['id']}"

    assert client.get(path).json()["sha256"] == stored["sha256"]
    assert [other.get(path).status_code, other.delete(path).status_code] == [404, 404]
    assert client.delete(path).status_code == 204
    assert client.get(path).status_code == 404


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        ('{"file": "x"}', "application/json", 415),
        ('{"files": {"a": {"filepath": "/etc/passwd"}}}', "application/json", 415),
        ("file=x", "application/x-www-form-urlencoded", 415),
        ("file", "text/plain", 415),
        ("--b--", "multipart/form-data; boundary=b", 422),
        ("nonsense", "multipart/form-data; boundary=b", 422),
        ("", "multipart/form-data", 422),
    ],
)
def test_only_a_form_with_a_file_is_an_upload(
    cast: Cast, api_key: KeyMaker, body: str, content_type: str, status: int
):
    answer = api_key(cast.bob).post(f"{API}/files", body, content_type=content_type)

    assert answer.status_code == status


def test_form_is_refused_everywhere_else(cast: Cast, api_key: KeyMaker):
    client, workflow = api_key(cast.bob), make_file_workflow(cast.alice)

    answer = client.post(
        f"{API}/workflows/{workflow.pk}/runs", {"file": SimpleUploadedFile("a", b"x")}
    )

    assert answer.status_code == 415


def test_session_needs_its_csrf_token_to_upload(cast: Cast):
    client = Client(enforce_csrf_checks=True)
    client.cookies = cast.bob.client.cookies

    assert upload(client).status_code == 403


def test_key_that_may_not_start_runs_uploads_nothing(cast: Cast, api_key: KeyMaker):
    assert upload(api_key(cast.bob, scopes={"runs:read"})).status_code == 403
