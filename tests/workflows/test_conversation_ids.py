"""Ids of conversations: what could be none is refused at the start, what isn't yours isn't there."""

from typing import Any

import pytest

from accounts.tenancy import tenant
from memory import services
from memory.models import Entry
from memory.services import MemoryCaller
from tests.factories.workflows import make_message, make_workflow
from tests.support.cast import Cast
from workflows.models import Conversation, Run
from workflows.services.chat.conversations import open_conversation
from workflows.services.chat.deletion import delete_conversation


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


def turns(client: Any, key: str, **query: Any) -> Any:
    return client.get("/api/v1/messages", {"conversation_id": key, **query})


def test_same_person_has_a_conversation_of_that_id_in_each_workflow(
    cast: Cast, api_key: Any
) -> None:
    key, first, second = api_key(cast.alice), *(make_workflow(cast.alice) for _ in range(2))
    body = {"conversation_id": "trip", "user": "ana"}
    assert [start(key, one, **body).status_code for one in (first, second, first)] == [202] * 3

    with tenant([cast.team_a.pk]):
        rows = Conversation.objects.unscoped().filter(key="trip")
        assert {row.workflow_id for row in rows} == {first.pk, second.pk}
        runs = Run.objects.unscoped().filter(conversation__in=rows)
        pairs = set(runs.values_list("workflow_id", "conversation__workflow_id"))
    assert pairs == {(one.pk, one.pk) for one in (first, second)}
    unclear = turns(key, "trip")
    assert (unclear.status_code, unclear.json()["error"]["problems"][0]["field"]) == (
        422,
        "workflow",
    )
    assert turns(key, "trip", workflow=first.pk).status_code == 200


def test_another_person_has_no_conversation_of_that_id_in_any_workflow(
    cast: Cast, api_key: Any
) -> None:
    key, first, second = api_key(cast.alice), *(make_workflow(cast.alice) for _ in range(2))
    assert start(key, first, conversation_id="trip", user="ana").status_code == 202

    for client, user in ((key, "ben"), (api_key(cast.alice), "ana"), (api_key(cast.bob), "ana")):
        answer = start(client, second, conversation_id="trip", user=user)
        assert (answer.status_code, answer.json()["error"]["message"]) == (
            404,
            "Conversation not found.",
        )


def test_memory_of_a_conversation_is_shared_and_stays_with_the_last_one(
    cast: Cast, api_key: Any
) -> None:
    first, second = (make_workflow(cast.alice) for _ in range(2))
    own = str(cast.alice.user.pk)
    rows = [
        open_conversation(
            cast.alice.principal,
            workflow=one,
            subject=own,
            subject_user_id=cast.alice.user.pk,
            key="trip",
        )
        for one in (first, second)
    ]
    caller = MemoryCaller(cast.alice.principal, cast.team_a.pk)
    services.remember(caller, namespace="conv:trip", key="to", value="Bern")

    delete_conversation(cast.alice.principal, conversation=rows[0])
    assert [hit.value for hit in services.recall(caller, namespace="conv:trip")] == ["Bern"]

    delete_conversation(cast.alice.principal, conversation=rows[1])
    with tenant([cast.team_a.pk]):
        assert not Entry.objects.unscoped().living().filter(namespace__text="conv:trip").exists()
