"""Ids of conversations: what could be none is refused at the start, what isn't yours isn't there."""

from typing import Any

import pytest

from tests.factories.workflows import make_message, make_workflow
from tests.support.cast import Cast


pytestmark = pytest.mark.django_db


def start(client: Any, workflow: Any, **body: Any) -> Any:
    address = f"/api/v1/workflows/{workflow.pk}/runs"
    given = {"inputs": {"text": "x"}, "version": "draft", **body}
    return client.post(address, given, content_type="application/json")


@pytest.mark.parametrize("odd", [" ", ":" * 27, " " * 80])
def test_conversation_id_that_could_name_no_memory_is_refused(
    odd: str, cast: Cast, api_key: Any
) -> None:
    answer = start(api_key(cast.alice), make_workflow(cast.alice), conversation_id=odd)

    problems = answer.json()["error"]["problems"]
    assert (answer.status_code, [one["field"] for one in problems]) == (422, ["conversation_id"])


def test_conversation_of_somebody_else_is_not_there(cast: Cast, api_key: Any) -> None:
    workflow = make_workflow(cast.alice)
    taken = make_message(cast.alice, workflow, query="private").conversation.key

    answer = start(api_key(cast.alice), workflow, conversation_id=taken)

    error = answer.json()["error"]
    assert (answer.status_code, error["message"]) == (404, "Conversation not found.")
    assert [one["field"] for one in error["problems"]] == ["conversation_id"]


def rename(client: Any, key: str, name: str) -> Any:
    body = {"name": name}
    return client.patch(f"/api/v1/conversations/{key}", body, content_type="application/json")


def test_conversation_is_renamed_by_whose_it_is_alone(cast: Cast, api_key: Any) -> None:
    key, other = api_key(cast.alice), api_key(cast.alice)
    workflow = make_workflow(cast.alice)
    assert start(key, workflow, conversation_id="order/7", query="x").status_code == 202

    answer = rename(key, "order/7", "  The  seventh\norder ")

    assert (answer.status_code, answer.json()["name"]) == (200, "The seventh order")
    for stranger in (other, cast.bob.client, cast.carol.client):
        assert rename(stranger, "order/7", "Mine").status_code == 404
    assert rename(key, "order/7", " ").status_code == 422


def test_key_that_may_only_read_is_told_which_scope_it_has_not(cast: Cast, api_key: Any) -> None:
    client = api_key(cast.alice, scopes={"runs:read", "workflows:read"})

    refused = start(client, make_workflow(cast.alice))

    assert refused.status_code == 403
    assert (
        refused.json()["error"]["message"] == "This API key doesn't have the permission runs:write."
    )
