"""``/api/v1/knowledge/documents``: upload, poll, list and remove documents."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from memory.services.documents.worker import carry_out_document
from tests.memory.services.documents.uploading import BASE, TEXT, titles
from tests.support.cast import Person


pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_host")]

ADDRESS = "/api/v1/knowledge/documents"


def send(client: Any, text: str = TEXT, namespace: str = BASE) -> Any:
    file = SimpleUploadedFile("Handbook.md", text.encode())
    return client.post(ADDRESS, {"file": file, "namespace": namespace})


def test_uploaded_document_is_polled_listed_and_removed(key: Any, alice: Person) -> None:
    answer = send(key)

    assert answer.status_code == 202
    assert answer.json()["outcome"] == "new"
    document = answer.json()["document"]
    assert (document["status"], document["pages"]) == ("waiting", 0)
    carry_out_document(alice.team.id, document["id"])
    done = key.get(f"{ADDRESS}/{document['id']}").json()
    assert (done["status"], done["pages"], done["name"]) == ("done", 2, "Handbook.md")
    assert key.get(ADDRESS, {"namespace": BASE}).json()["items"] == [done]
    removed = key.delete(f"{ADDRESS}/{document['id']}").json()
    assert removed["count"] == 3
    assert titles(alice) == []
    assert key.get(ADDRESS, {"namespace": BASE}).json()["items"] == []


def test_same_content_again_changes_nothing(key: Any, alice: Person) -> None:
    document = send(key).json()["document"]
    carry_out_document(alice.team.id, document["id"])

    answer = send(key)

    assert (answer.status_code, answer.json()["outcome"]) == (200, "unchanged")


def test_other_content_is_409_while_the_document_is_read(key: Any) -> None:
    send(key)

    assert send(key, "# Other").status_code == 409


def test_key_that_only_reads_may_not_upload_and_a_strangers_finds_nothing(
    key: Any, api_key: Any, vic: Person, carol: Person
) -> None:
    document = send(key).json()["document"]

    assert send(api_key(vic, scopes={"memory:read"})).status_code == 403
    assert api_key(vic).get(f"{ADDRESS}/{document['id']}").status_code == 200
    assert api_key(carol).get(f"{ADDRESS}/{document['id']}").status_code == 404


def test_namespace_that_is_none_is_refused_by_name(key: Any) -> None:
    answer = send(key, namespace="nowhere")

    assert answer.status_code == 422
    assert "namespace" in answer.content.decode()
