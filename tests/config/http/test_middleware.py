"""A NUL is refused at the outer door, where an address or a form of memory and of teams has it."""

from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tests.support.cast import Person
from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db

NEW = "/team/groups/"


@pytest.mark.parametrize("fields", [{"name": "a\0b"}, {"name": "fine", "x\0": "y"}])
@pytest.mark.parametrize("kind", ["urlencoded", "multipart"])
def test_form_with_a_nul_is_refused(alice: Person, fields: dict[str, str], kind: str):
    if kind == "multipart":
        answer = alice.client.post(NEW, fields)
    else:
        answer = alice.client.post(
            NEW, urlencode(fields), content_type="application/x-www-form-urlencoded"
        )

    assert answer.status_code == 400
    assert "No groups yet" in markup_of(alice.client.get(NEW))


def test_form_without_one_and_with_a_file_that_has_some_goes_on(alice: Person):
    file = SimpleUploadedFile("picture.png", b"\0\0\0")

    answer = alice.client.post(NEW, {"name": "Support", "more": file})

    assert answer.status_code == 302
    assert "Support" in markup_of(alice.client.get(NEW))


@pytest.mark.parametrize("address", ["/memory/?q=%00", "/memory/%00/"])
def test_address_with_a_nul_is_refused(alice: Person, address: str):
    assert alice.client.get(address).status_code == 400


def test_json_of_the_api_is_read_by_the_api(api_key: Any, alice: Person):
    body = '{"name": "a\\u0000b"}'
    answer = api_key(alice).post("/api/v1/workflows", body, content_type="application/json")

    assert (answer.status_code, answer.headers["Content-Type"][:16]) == (400, "application/json")
