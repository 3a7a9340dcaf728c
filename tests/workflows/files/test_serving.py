"""A file is sent to its person, or to whoever has a link that was signed some minutes ago; never as a page of this site."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from tests.support.cast import Cast
from tests.workflows.files.made import PNG, make_file
from workflows.files.links import build_link


pytestmark = pytest.mark.django_db

HTML = b"<html><script>alert(1)</script></html>"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


def body(answer: Any) -> bytes:
    return b"".join(answer.streaming_content)


@pytest.mark.parametrize(
    ("content", "name", "media_type"),
    [(HTML, "a.txt", "application/octet-stream"), (SVG, "a.svg", "application/octet-stream"),
     (PNG, "a.png", "image/png"), (b"text", "ä.txt", "application/octet-stream")],
)  # fmt: skip
def test_content_is_sent_as_a_download(cast: Cast, content: bytes, name: str, media_type: str):
    file = make_file(cast.bob, content, name)

    answer = cast.bob.client.get(f"/files/{file.pk}/")

    assert body(answer) == content
    assert answer["Content-Type"] == media_type
    assert answer["Content-Disposition"].startswith("attachment; filename*=UTF-8''")
    assert answer["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Cache-Control"].startswith("private")


def test_name_of_a_file_cannot_add_a_header(cast: Cast):
    file = make_file(cast.bob, b"x", 'a"; x=y\r\nSet-Cookie: a=b.txt')

    answer = cast.bob.client.get(f"/files/{file.pk}/")

    assert "Set-Cookie: a" not in str(answer.headers)
    assert '"' not in answer["Content-Disposition"]


def test_file_is_nobody_elses(cast: Cast):
    file = make_file(cast.bob)

    for person in (cast.alice, cast.ada, cast.carol):
        assert person.client.get(f"/files/{file.pk}/").status_code == 404
    assert Client().get(f"/files/{file.pk}/").status_code == 302  # to sign in


def test_signed_link_works_for_minutes_and_for_its_file_alone(cast: Cast):
    file, other = make_file(cast.bob), make_file(cast.bob)
    link = build_link(file)

    assert body(Client().get(link)) == b"hello"
    assert Client().get(link.replace(str(file.pk), str(other.pk))).status_code == 302
    assert Client().get(link[:-3]).status_code == 302
    with time_machine.travel(timezone.now() + timedelta(minutes=6)):
        for client in (Client(), cast.carol.client):
            page = client.get(link, headers={"Accept": "text/html,*/*"})
            assert (page.status_code, "This link has expired" in page.content.decode()) == (
                410,
                True,
            )
            answer = client.get(link)
            assert (answer.status_code, answer.json()["error"]["type"]) == (410, "FileLinkExpired")
        assert cast.bob.client.get(link).status_code == 200
        assert cast.alice.client.get(link).status_code == 410
