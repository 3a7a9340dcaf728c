"""The documents of a knowledge base on its page: uploading, waiting, what failed, and where a page is from."""

import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from memory import services
from memory.services.documents.uploading import upload_document
from memory.services.documents.worker import carry_out_document
from memory.views.knowledge import documents as document_views
from tests.memory.fake_host import FakeHost
from tests.memory.services.conftest import at_door
from tests.memory.services.documents.uploading import (
    BASE,
    ILLNESS,
    TEXT,
    VACATION,
    documents,
    rows_of,
    states,
    upload,
)
from tests.support.cast import Person
from tests.support.markup import markup_of


pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_host")]


def base_of(person: Person) -> str:
    row = services.create_knowledge_base(at_door(person), name="Handbook")
    return f"/memory/knowledge/{row.pk}/"


def send(person: Person, address: str, **files: str) -> str:
    uploads = [SimpleUploadedFile(f"{name}.md", text.encode()) for name, text in files.items()]
    answer = person.client.post(
        f"{address}documents/", {"files": uploads}, headers={"HX-Request": "true"}
    )
    assert answer.status_code == 200
    return markup_of(answer)


def test_uploaded_documents_are_listed_while_they_wait_and_when_they_are_read(
    alice: Person,
) -> None:
    address = base_of(alice)

    waiting = send(alice, address, Leave=TEXT, Pay=f"# Pay\n\n{VACATION}")

    assert waiting.count("Queued") == 2
    assert 'hx-trigger="load delay:2s"' in waiting
    for row in rows_of(alice):
        carry_out_document(alice.team.id, row.pk)
    done = alice.client.get(f"{address}documents/", headers={"HX-Request": "true"})
    assert done.headers["HX-Refresh"] == "true"
    page = markup_of(alice.client.get(address))
    assert "Leave.md" in page
    assert "2 pages" in page
    assert "1 page" in page
    assert "load delay:2s" not in page


def test_document_that_was_read_before_its_upload_is_answered_shows_its_pages(
    alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody asks for the list again then. What there is to say about other files stands on the page."""

    def upload_and_read(*args: Any, **fields: Any) -> Any:
        result = upload_document(*args, **fields)
        if result.upload is not None:
            carry_out_document(alice.team.id, result.upload.pk)
        return result

    address, client = base_of(alice), alice.client
    upload(alice, TEXT, name="Leave.md")
    monkeypatch.setattr(document_views, "upload_document", upload_and_read)
    files = {"Pay.md": f"# Pay\n\n{VACATION}", "Leave.md": TEXT}
    uploads = [SimpleUploadedFile(name, text.encode()) for name, text in files.items()]

    answer = client.post(f"{address}documents/", {"files": uploads}, headers={"HX-Request": "true"})

    assert answer.headers["HX-Refresh"] == "true"
    page = markup_of(client.get(address))
    assert "Pay.md" in page
    assert "Leave.md: nothing new" in page


def test_file_that_is_there_already_is_said_to_be_nothing_new(alice: Person) -> None:
    address = base_of(alice)
    upload(alice, TEXT, name="Leave.md")

    assert "Leave.md: nothing new" in send(alice, address, Leave=TEXT)


def test_failed_document_shows_the_sentence_of_its_reader(
    alice: Person, fake_host: FakeHost
) -> None:
    address = base_of(alice)
    fake_host.unreadable = {"Scan.pdf": "Scan.pdf is protected by a password."}
    upload(alice, "x", name="Scan.pdf")
    upload(alice)

    page = markup_of(alice.client.get(address))

    assert "Scan.pdf is protected by a password." in page
    assert "Try again" in page
    assert "2 pages" in page


def test_file_that_is_too_large_is_refused_with_a_sentence(alice: Person, settings: Any) -> None:
    settings.FILE_DOCUMENT_MB = 0

    assert "documents may have 0 MB" in send(alice, base_of(alice), Big="x")
    assert rows_of(alice) == []


def test_page_names_document_and_heading_and_links_the_pages_beside_it(alice: Person) -> None:
    base_of(alice)
    upload(alice, f"{TEXT}\n\n# Pay\n\n{ILLNESS}")
    (hit,) = services.find_pages(
        at_door(alice), namespace=BASE, query="paid vacation twenty-five", top_k=1
    )
    first = services.open_page(at_door(alice), entry_id=hit.entry.id)
    (second_id,) = [
        entry.id for page_id, entry in first.knowledge_base.entries.items() if "illness" in page_id
    ]

    page = markup_of(alice.client.get(f"/memory/knowledge/pages/{second_id}/"))

    assert "Handbook.md" in page
    assert "Leave › Illness" in page
    assert f"/memory/knowledge/documents/{rows_of(alice)[0].pk}/original/" in page
    assert re.search(r'rel="prev">\s*← Handbook › Leave › Vacation', page)
    assert re.search(r'rel="next">\s*Handbook › Pay →', page)


def test_original_is_downloaded_and_never_shown(alice: Person) -> None:
    base_of(alice)
    upload(alice, "<script>alert(1)</script> text", name="Bad.html")

    answer = alice.client.get(f"/memory/knowledge/documents/{rows_of(alice)[0].pk}/original/")

    assert answer.content == b"<script>alert(1)</script> text"
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="Bad.html"'
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_removed_document_offers_undo(alice: Person) -> None:
    base_of(alice)
    upload(alice)

    answer = alice.client.post(
        f"/memory/knowledge/documents/{rows_of(alice)[0].pk}/remove/", follow=True
    )

    assert 'action="/memory/changes/' in markup_of(answer)
    assert documents(alice) == []


def test_failed_document_is_ordered_again(alice: Person, fake_host: FakeHost) -> None:
    base_of(alice)
    fake_host.unreadable = {"Handbook.md": "Not now."}
    upload(alice)

    alice.client.post(f"/memory/knowledge/documents/{rows_of(alice)[0].pk}/retry/")

    assert [status for _name, status, *_rest in states(alice)] == ["waiting"]


def test_viewer_reads_the_list_and_has_no_field_for_files(alice: Person, vic: Person) -> None:
    address = base_of(alice)
    upload(alice)

    page = markup_of(vic.client.get(address))

    assert "Handbook.md" in page
    assert "document-upload" not in page
    assert "/remove/" not in page


def test_list_of_knowledge_bases_counts_documents(alice: Person) -> None:
    base_of(alice)
    upload(alice)
    upload(alice, name="Second.md")

    page = markup_of(alice.client.get("/memory/knowledge/"))

    assert re.search(r'<td class="num on-wide">\s*2\s*</td>', page)
