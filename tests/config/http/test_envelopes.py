"""Errors outside of any route speak as the API does whose address was asked."""

import json
from typing import Any

import pytest
from django.test import Client

from config.http.body_timeout import BodyTimeout
from config.http.envelopes import ErrorSummary, build_openai_body, find_envelope, is_api
from tests.support.cast import Person


pytestmark = pytest.mark.django_db

OPENAI_FIELDS = {"message", "type", "param", "code"}


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/api/v1/nowhere", {"type", "message", "retryable"}),
        ("/openai/v1/nowhere", OPENAI_FIELDS),
        ("/v1/chat/completions/x", OPENAI_FIELDS),
    ],
)
def test_unknown_address_answers_404_in_the_shape_of_its_api(path: str, fields: set[str]):
    answer = Client().get(path)

    assert answer.status_code == 404
    assert set(answer.json()["error"]) == fields


def test_pages_are_no_api():
    assert [is_api(path) for path in ("/", "/workflows/", "/v2/models", "/openai")] == [False] * 4


@pytest.mark.parametrize("path", ["/api/v1/workflows"])
def test_write_that_is_not_json_is_refused_in_the_shape_of_its_api(path: str, alice: Person):
    answer = alice.client.post(path, "a=b", content_type="text/plain")

    body = answer.json()
    assert (answer.status_code, body["error"]["message"]) == (415, "Send application/json.")
    assert ("param" in body["error"]) == (find_envelope(path) is build_openai_body)


async def test_body_that_is_too_large_is_refused_in_the_shape_of_its_api():
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    headers = [(b"content-length", b"999999999999")]
    scope = {"type": "http", "path": "/openai/v1/chat/completions", "headers": headers}
    await BodyTimeout(lambda *_: None, 30)(scope, None, send)  # type: ignore[arg-type]

    assert sent[0]["status"] == 413
    assert set(json.loads(sent[1]["body"])["error"]) == OPENAI_FIELDS


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (400, "invalid_request_error", None),
        (401, "invalid_request_error", "invalid_api_key"),
        (403, "permission_error", "permission_denied"),
        (404, "invalid_request_error", "not_found"),
        (429, "rate_limit_error", "rate_limit_exceeded"),
        (500, "server_error", "server_error"),
        (503, "server_error", "service_unavailable"),
    ],
)
def test_openai_names_each_status(status: int, kind: str, code: str | None):
    body = build_openai_body(ErrorSummary(status, "Any", "Why."))["error"]

    assert body == {"message": "Why.", "type": kind, "param": None, "code": code}
