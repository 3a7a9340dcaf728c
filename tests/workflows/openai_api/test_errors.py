"""Every refusal has OpenAI's shape, its status and the parameter at fault."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import ApiKey, HistoryKeeper
from accounts.tenancy import tenant
from tests.factories.workflows import document, make_version, make_workflow
from tests.support.cast import Cast, KeyClient
from workflows.models import Workflow


pytestmark = pytest.mark.django_db

ROOT = "/openai/v1"
FIELDS = {"message", "type", "param", "code"}
USER = {"role": "user", "content": "Hello?"}


@pytest.fixture
def key(cast: Cast, api_key: Callable[..., KeyClient]) -> KeyClient:
    return api_key(cast.alice)


@pytest.fixture
def echo(cast: Cast) -> Workflow:
    workflow = make_workflow(cast.alice)
    make_version(cast.alice, workflow)
    return workflow


def complete(client: Client, model: str, **changes: Any) -> Any:
    body = {"model": model, "messages": [USER], **changes}
    return post(client, json.dumps(body))


def post(client: Client, body: str, path: str = "/chat/completions") -> Any:
    return client.post(ROOT + path, body, content_type="application/json")


def check(answer: Any, status: int, **expected: Any) -> dict[str, Any]:
    body = answer.json()
    error: dict[str, Any] = body["error"]
    assert (set(body), set(error)) == ({"error"}, FIELDS)
    assert answer.status_code == status, error
    assert {name: error[name] for name in expected} == expected
    assert error["message"]
    return error


PARTS = "messages[0].content[0]"


def part(**part: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [part]}]}


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"n": 2}, "n"),
    ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools"),
    ({"functions": [{"name": "f"}]}, "functions"),
    ({"logprobs": True}, "logprobs"),
    ({"response_format": {"type": "json_object"}}, "response_format"),
    ({"modalities": ["text", "audio"]}, "modalities"),
    ({"tool_choice": "required"}, "tool_choice"),
    ({"messages": []}, "messages"),
    ({"messages": "hello"}, "messages"),
    ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role"),
    ({"messages": [USER, {"role": "assistant", "content": "x"}]}, "messages"),
    ({"messages": [{"role": "tool", "content": "x"}, USER]}, "messages[0].role"),
    (part(type="smell"), f"{PARTS}.type"),
    (part(type="text"), PARTS),
    (part(type="image_url", image_url={}), PARTS),
    (part(type="image_url", image_url={"url": "data:image/png;base64,@"}), PARTS),
    (part(type="image_url", image_url={"url": "data:,hello"}), "messages"),
    (part(type="file", file={"file_id": "7"}), "messages"),
    ({"temperature": "hot"}, "temperature"),
    ({"metadata": {"inputs": "no object"}}, "metadata.inputs"),
    ({"metadata": {"inputs": {"tone": "warm"}}}, "metadata.inputs.tone"),
    ({"metadata": {"conversation_id": 7}}, "metadata.conversation_id"),
    ({"user": "a" * 90}, "user"),
    ({"model": None}, "model"),
]


def test_request_that_cannot_be_answered_names_its_parameter(key: KeyClient, echo: Workflow):
    for changes, param in REFUSED:
        answer = (
            complete(key, echo.slug, **changes)
            if "model" not in changes
            else post(key, json.dumps({"messages": [USER], **changes}))
        )
        check(answer, 400, type="invalid_request_error", param=param)


def test_inputs_that_are_needed_are_named(key: KeyClient, cast: Cast):
    two = document("Two")
    two["nodes"][0]["data"]["variables"] += [{"variable": "other", "type": "string"}]
    for source in (two, document("Number", type="number", required=True)):
        workflow = make_workflow(cast.alice, source["nodes"][0]["data"]["title"], source)
        make_version(cast.alice, workflow)
        error = check(complete(key, workflow.slug), 400, param="metadata.inputs.text")
        assert "text" in error["message"]


def test_body_that_is_no_json_is_refused(key: KeyClient):
    check(post(key, "{"), 400, type="invalid_request_error")
    check(post(key, '{"model": "a", "model": "b"}'), 400)
    text = key.post(f"{ROOT}/chat/completions", "a=b", content_type="text/plain")
    check(text, 415)


def test_without_a_usable_key_it_is_401(key: KeyClient, cast: Cast):
    for client in (
        Client(),
        Client(headers={"Authorization": "Bearer mf_wrong"}),
        cast.alice.client,
    ):
        check(client.get(f"{ROOT}/models"), 401, code="invalid_api_key")
    with tenant([cast.team_a.pk]):
        ApiKey.objects.unscoped().update(expires_at=timezone.now() - timedelta(days=1))
    check(key.get(f"{ROOT}/models"), 401, type="invalid_request_error")


def test_key_that_may_not_run_or_read_runs_is_refused(
    api_key: Callable[..., KeyClient], echo: Workflow, cast: Cast
):
    runs, reads = ({"runs:write"}, {"runs:read"})
    check(complete(api_key(cast.alice, scopes=runs), echo.slug), 403, type="permission_error")
    check(complete(api_key(cast.alice, scopes=reads), echo.slug), 404, code="model_not_found")


def test_unknown_model_names_those_there_are(key: KeyClient, echo: Workflow):
    error = check(complete(key, "gpt-4o"), 404, code="model_not_found", param="model")

    assert echo.slug in error["message"]


def test_unknown_address_and_method(key: KeyClient):
    check(key.get(f"{ROOT}/nowhere"), 404)
    check(post(key, "{}", "/models"), 405)
    check(key.get(f"{ROOT}/chat/completions"), 405)


def test_body_that_is_too_large_is_413(key: KeyClient, settings: Any):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000

    check(complete(key, "any", user="x" * 2_000), 413)


def test_key_that_asks_too_often_is_told_when_to_go_on(key: KeyClient, settings: Any):
    settings.API_REQUESTS_PER_MINUTE = 1
    key.get(f"{ROOT}/models")

    answer = complete(key, "any")

    check(answer, 429, type="rate_limit_error", code="rate_limit_exceeded")
    assert int(answer["Retry-After"]) > 0


def test_key_that_has_used_up_its_day_is_not_to_try_again(
    key: KeyClient, echo: Workflow, cast: Cast
):
    with tenant([cast.team_a.pk]):
        ApiKey.objects.unscoped().filter(pk=key.key.pk).update(runs_per_day=1)
    complete(key, echo.slug, stream=True)  # the stream isn't read, and nobody executes the run

    answer = complete(key, echo.slug, stream=True)

    check(answer, 429, type="rate_limit_error")
    is_long = int(answer["Retry-After"]) > 60
    assert answer.headers.get("X-Should-Retry") == ("false" if is_long else None)


def test_key_whose_conversations_the_server_keeps_refuses_a_request_without_one(
    cast: Cast, key: KeyClient, echo: Workflow
):
    with tenant([cast.team_a.pk]):
        ApiKey.objects.unscoped().filter(pk=key.key.pk).update(history=HistoryKeeper.SERVER)

    answer = complete(key, echo.slug)

    check(answer, 400, type="invalid_request_error", param="metadata.conversation_id")
