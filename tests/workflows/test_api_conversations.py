"""Conversations over the API: a program lists, reads and deletes its own, and nobody else's."""

from collections.abc import Callable
from typing import Any

import pytest

from accounts.tenancy import tenant
from tests.clients.mcp.documents import DIARY
from tests.factories.workflows import make_version, make_workflow
from tests.support.cast import Cast, KeyClient
from tests.support.markup import markup_of
from workflows.models import Conversation, Message, Run


pytestmark = pytest.mark.django_db

ROOT = "/api/v1/conversations"

SUGGESTIONS = "/api/v1/suggested-questions"


@pytest.fixture
def client(cast: Cast, api_key: Callable[..., KeyClient]) -> KeyClient:
    return api_key(cast.alice)


@pytest.fixture
def chat(cast: Cast) -> Any:
    workflow = make_workflow(cast.alice, "Chat", DIARY)
    make_version(cast.alice, workflow)
    return workflow


def say(client: KeyClient, chat: Any, query: str, **body: Any) -> dict[str, Any]:
    """Start a turn, which no worker answers."""
    response = client.post(
        f"/api/v1/workflows/{chat.pk}/runs", {"query": query, **body}, "application/json"
    )
    assert response.status_code == 202, response.content
    return dict(response.json())


def test_program_lists_its_conversations_by_person(
    cast: Cast, client: KeyClient, chat: Any, api_key: Callable[..., KeyClient]
) -> None:
    first = say(client, chat, "Hello", user="mia")
    second = say(client, chat, "Good morning", user="tom")
    stranger = api_key(cast.alice)

    listed = client.get(ROOT).json()
    of_mia = client.get(ROOT, {"user": "mia", "workflow": str(chat.pk)}).json()

    assert [each["conversation_id"] for each in listed["items"]] == [
        second["conversation_id"],
        first["conversation_id"],
    ]
    assert (of_mia["count"], of_mia["items"][0]["name"]) == (1, "Hello")
    assert stranger.get(ROOT).json() == {"items": [], "next": None, "count": 0}
    assert client.get(ROOT, {"archived": "true"}).json()["count"] == 0
    assert client.get(ROOT, {"usr": "mia"}).status_code == 422


def test_turns_are_read_in_order_and_page_by_page(client: KeyClient, chat: Any) -> None:
    conversation = say(client, chat, "Turn 1")["conversation_id"]
    for number in (2, 3):
        say(client, chat, f"Turn {number}", conversation_id=conversation)
    query = {"conversation_id": conversation}

    whole = client.get("/api/v1/messages", query).json()
    newest = client.get("/api/v1/messages", {**query, "limit": 2}).json()
    older = client.get("/api/v1/messages", {**query, "cursor": newest["next"]}).json()

    assert [turn["query"] for turn in whole["items"]] == ["Turn 1", "Turn 2", "Turn 3"]
    assert [turn["query"] for turn in newest["items"]] == ["Turn 2", "Turn 3"]
    assert (older["next"], whole["next"]) == (None, None)
    assert [turn["query"] for turn in older["items"]] == ["Turn 1"]


def test_turn_says_how_it_was_rated_by_who_asks(client: KeyClient, chat: Any) -> None:
    run = say(client, chat, "Hello")
    client.post(f"/api/v1/runs/{run['id']}/feedback", {"rating": -1}, "application/json")

    [turn] = client.get("/api/v1/messages", {"conversation_id": run["conversation_id"]}).json()[
        "items"
    ]

    assert (turn["run_id"], turn["rating"]) == (run["id"], -1)


def test_run_of_a_chat_shows_its_query_and_how_it_was_started(client: KeyClient, chat: Any) -> None:
    run = say(client, chat, "Hello")

    shown = client.get(f"/api/v1/runs/{run['id']}").json()

    assert (shown["query"], shown["channel"]) == ("Hello", "api")


def test_deleted_conversation_is_gone_with_its_turns(
    cast: Cast, client: KeyClient, chat: Any, api_key: Callable[..., KeyClient]
) -> None:
    run = say(client, chat, "Hello")
    address = f"{ROOT}/{run['conversation_id']}"
    client.post(f"/api/v1/runs/{run['id']}/cancel", {}, "application/json")

    assert api_key(cast.alice).delete(address).status_code == 404
    assert client.delete(address).status_code == 204
    with tenant([cast.team_a.pk]):
        assert not Conversation.objects.unscoped().exists()
        assert not Message.objects.unscoped().exists()
        assert not Run.objects.unscoped().filter(pk=run["id"]).exists()
    assert (
        client.get("/api/v1/messages", {"conversation_id": run["conversation_id"]}).status_code
        == 404
    )


def test_page_of_a_run_says_through_what_it_was_started(
    cast: Cast, client: KeyClient, chat: Any
) -> None:
    started = say(client, chat, "Hello")

    # Whoever created the key sees its runs.
    shown = markup_of(cast.alice.client.get(f"/runs/{started['id']}/"))

    assert "<dt>Started through</dt><dd>API (test)</dd>" in shown


CURIOUS = {
    "kind": "app",
    "version": "0.3.0",
    "app": {"mode": "advanced-chat", "name": "Curious"},
    "workflow": {
        "graph": {"nodes": DIARY["nodes"], "edges": DIARY["edges"]},
        "features": {
            "opening_statement": "Hello!",
            "suggested_questions": ["Who are you?", "What can you do?"],
            "suggested_questions_after_answer": {"enabled": True},
        },
    },
}


def test_questions_are_suggested_before_a_chat_and_after_its_turns(
    cast: Cast, client: KeyClient
) -> None:
    workflow = make_workflow(cast.alice, "Curious", CURIOUS)
    unpublished = client.get(SUGGESTIONS, {"workflow": str(workflow.pk)})
    make_version(cast.alice, workflow)

    opening = client.get(SUGGESTIONS, {"workflow": str(workflow.pk)}).json()
    conversation = say(client, workflow, " who are YOU? ")["conversation_id"]
    after = client.get(SUGGESTIONS, {"conversation_id": conversation}).json()

    assert (unpublished.status_code, unpublished.json()["error"]["type"]) == (409, "NotPublished")
    assert opening == {
        "opening_statement": "Hello!",
        "questions": ["Who are you?", "What can you do?"],
    }
    assert after == {"opening_statement": "", "questions": ["What can you do?"]}


def test_chat_without_follow_ups_suggests_none_after_a_turn(client: KeyClient, chat: Any) -> None:
    conversation = say(client, chat, "Hello")["conversation_id"]

    answer = client.get(SUGGESTIONS, {"conversation_id": conversation}).json()

    assert answer == {"opening_statement": "", "questions": []}


def test_questions_of_others_are_not_suggested(
    cast: Cast, client: KeyClient, chat: Any, api_key: Callable[..., KeyClient]
) -> None:
    conversation = say(client, chat, "Hello", user="mia")["conversation_id"]
    stranger = api_key(cast.carol)

    for query in ({"conversation_id": conversation}, {"workflow": str(chat.pk)}):
        assert stranger.get(SUGGESTIONS, query).status_code == 404
    assert client.get(SUGGESTIONS).status_code == 422
