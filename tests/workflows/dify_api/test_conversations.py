"""Conversations and messages of a person: listed in pages, renamed, rated, deleted; and nobody else's."""

import json
from typing import Any
from uuid import uuid4

import pytest

from accounts.principals import KeyPrincipal
from accounts.tenancy import tenant
from tests.support.cast import Cast, KeyClient
from tests.workflows.dify_api.apps import build_chat, make_program, publish
from tests.workflows.dify_api.rows import read_audit, start
from workflows.models import Conversation, Feedback, Message, Run, Workflow
from workflows.services.runs.runs import cancel_run


pytestmark = pytest.mark.django_db


@pytest.fixture
def program(cast: Cast, chat: Workflow) -> KeyClient:
    return make_program(cast.alice, chat)


def turn(program: KeyClient, chat: Workflow, query: str, user: str = "ana", **given: Any) -> str:
    """The conversation of a turn that has ended, without an answer."""
    run = start(program, chat, user, query=query, **given)
    cancel_run(KeyPrincipal(program.key), run)
    assert run.conversation is not None
    return run.conversation.key


def send(program: KeyClient, method: str, path: str, **body: Any) -> Any:
    ask = getattr(program, method)
    return ask(f"/v1{path}", json.dumps({"user": "ana", **body}), "application/json")


def get(program: KeyClient, path: str, **asked: Any) -> Any:
    return program.get(f"/v1{path}", {"user": "ana", **asked}).json()


def test_conversations_come_in_pages_in_the_order_that_is_asked_for(
    program: KeyClient, chat: Workflow
) -> None:
    first, second, third = (turn(program, chat, f"query {n}") for n in range(3))
    turn(program, chat, "again", conversation=first)
    turn(program, chat, "not hers", user="ben")

    whole = get(program, "/conversations")
    page = get(program, "/conversations", limit=2)
    rest = get(program, "/conversations", limit=2, last_id=page["data"][-1]["id"])
    oldest = get(program, "/conversations", sort_by="created_at", limit=1)

    ids = [row["id"] for row in whole["data"]]
    assert ids == [first, third, second]
    assert (whole["limit"], whole["has_more"]) == (20, False)
    assert whole["data"][0] == {
        "id": ids[0], "name": "query 0", "inputs": {"name": None, "mood": None, "paper": None},
        "status": "normal", "introduction": "Hello!",
        "created_at": whole["data"][0]["created_at"], "updated_at": whole["data"][0]["updated_at"],
    }  # fmt: skip
    assert ([row["id"] for row in page["data"]], page["has_more"]) == (ids[:2], True)
    assert ([row["id"] for row in rest["data"]], rest["has_more"]) == (ids[2:], False)
    assert [row["id"] for row in oldest["data"]] == [ids[0]]
    unknown = get(program, "/conversations", last_id=str(uuid4()))
    assert (unknown["status"], unknown["message"]) == (404, "Last Conversation Not Exists.")


@pytest.mark.parametrize("asked", [{"limit": 0}, {"limit": 101}, {"sort_by": "name"}])
def test_page_that_makes_no_sense_is_refused(program: KeyClient, asked: dict[str, Any]) -> None:
    answer = get(program, "/conversations", **asked)

    assert (answer["status"], answer["code"], answer["params"]) == (
        400, "invalid_param", next(iter(asked)),
    )  # fmt: skip


def test_messages_come_oldest_first_and_in_pages_from_the_newest(
    program: KeyClient, chat: Workflow
) -> None:
    key = turn(program, chat, "one")
    for query in ("two", "three"):
        turn(program, chat, query, conversation=key)

    whole = get(program, "/messages", conversation_id=key)
    page = get(program, "/messages", conversation_id=key, limit=2)
    rest = get(program, "/messages", conversation_id=key, first_id=page["data"][0]["id"])

    assert [row["query"] for row in whole["data"]] == ["one", "two", "three"]
    assert ([row["query"] for row in page["data"]], page["has_more"]) == (["two", "three"], True)
    assert ([row["query"] for row in rest["data"]], rest["has_more"]) == (["one"], False)
    message = whole["data"][1]
    assert message["parent_message_id"] == whole["data"][0]["id"]
    assert (message["conversation_id"], message["answer"], message["status"]) == (key, "", "normal")
    for name in ("message_files", "retriever_resources", "agent_thoughts"):
        assert message[name] == []
    assert (message["feedback"], message["inputs"]["mood"]) == (None, None)
    lost = get(program, "/messages", conversation_id=key, first_id=str(uuid4()))
    assert lost["message"] == "First Message Not Exists."


def test_conversation_is_renamed_by_hand_and_by_its_first_message(
    program: KeyClient, chat: Workflow
) -> None:
    key = turn(program, chat, "What about tea?")

    named = send(program, "post", f"/conversations/{key}/name", name="Tea")
    generated = send(program, "post", f"/conversations/{key}/name", auto_generate=True)
    neither = send(program, "post", f"/conversations/{key}/name", name=" ")

    assert (named.status_code, named.json()["name"]) == (200, "Tea")
    assert generated.json()["name"] == "What about tea?"
    assert (neither.status_code, neither.json()["code"]) == (400, "invalid_param")


def test_feedback_is_given_changed_listed_and_taken_back(
    program: KeyClient, chat: Workflow, cast: Cast
) -> None:
    key = turn(program, chat, "one")
    message = get(program, "/messages", conversation_id=key)["data"][0]["id"]
    path = f"/messages/{message}/feedbacks"

    assert send(program, "post", path, rating="like").json() == {"result": "success"}
    rotated = make_program(cast.alice, chat)  # of the same service account
    send(rotated, "post", path, rating="dislike", content="Too short")

    assert get(program, "/messages", conversation_id=key)["data"][0]["feedback"] == {
        "rating": "dislike"
    }
    rows = get(program, "/app/feedbacks")["data"]
    assert [(row["rating"], row["content"], row["message_id"]) for row in rows] == [
        ("dislike", "Too short", message)
    ]
    assert (rows[0]["from_source"], rows[0]["conversation_id"]) == ("user", key)
    send(program, "post", path, rating=None)
    assert get(program, "/messages", conversation_id=key)["data"][0]["feedback"] is None
    assert send(program, "post", path, rating="great").status_code == 400


def test_questions_are_suggested_that_were_not_asked(program: KeyClient, chat: Workflow) -> None:
    key = turn(program, chat, "who are you?")
    message = get(program, "/messages", conversation_id=key)["data"][0]["id"]

    assert get(program, f"/messages/{message}/suggested") == {
        "result": "success", "data": ["What can you do?"],
    }  # fmt: skip


def test_questions_are_not_suggested_where_that_is_off(cast: Cast) -> None:
    chat = publish(cast.alice, build_chat(features={}), "Silent")
    program = make_program(cast.alice, chat)
    key = turn(program, chat, "one")
    message = get(program, "/messages", conversation_id=key)["data"][0]["id"]

    answer = get(program, f"/messages/{message}/suggested")

    assert (answer["status"], answer["code"]) == (400, "bad_request")


def test_variables_are_listed_and_changed_in_their_types(
    program: KeyClient, chat: Workflow
) -> None:
    key = turn(program, chat, "one")
    path = f"/conversations/{key}/variables"

    page = get(program, path)
    topic, count = page["data"]
    assert (topic["name"], topic["value_type"], topic["value"]) == ("topic", "string", "tea")
    assert (count["name"], count["value_type"], count["value"]) == ("count", "number", "1")
    changed = send(program, "put", f"{path}/{topic['id']}", value="coffee")
    wrong = send(program, "put", f"{path}/{count['id']}", value="many")
    unknown = send(program, "put", f"{path}/{uuid4()}", value="x")

    assert (changed.status_code, changed.json()["value"]) == (200, "coffee")
    assert (wrong.status_code, wrong.json()["code"]) == (400, "bad_request")
    assert unknown.json()["message"] == "Conversation Variable Not Exists."
    assert get(program, path, variable_name="topic")["data"][0]["value"] == "coffee"
    assert get(program, path, limit=1, last_id=topic["id"])["data"][0]["name"] == "count"


def test_deleted_conversation_takes_its_messages_and_feedback_along(
    program: KeyClient, chat: Workflow, cast: Cast
) -> None:
    key = turn(program, chat, "one")
    stays = turn(program, chat, "two")
    message = get(program, "/messages", conversation_id=key)["data"][0]["id"]
    send(program, "post", f"/messages/{message}/feedbacks", rating="like")

    answer = send(program, "delete", f"/conversations/{key}")

    assert (answer.status_code, answer.content) == (204, b"")
    with tenant([chat.team_id]):
        assert [row.key for row in Conversation.objects.unscoped().all()] == [stays]
        assert Message.objects.unscoped().count() == 1
        assert Feedback.objects.unscoped().count() == 0
        assert Run.objects.unscoped().count() == 1
    assert get(program, "/messages", conversation_id=key)["message"] == "Conversation Not Exists."
    assert len(read_audit(cast.alice, "conversation.deleted")) == 1


def test_running_turn_of_a_deleted_conversation_is_stopped(
    program: KeyClient, chat: Workflow
) -> None:
    run = start(program, chat, "ana", query="one")
    assert run.conversation is not None

    path = f"/conversations/{run.conversation.key}"
    assert send(program, "delete", path).status_code == 204
    with tenant([chat.team_id]):
        assert Run.objects.unscoped().get().status == "stopped"


FOREIGN: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("get", "/messages?conversation_id={key}", {}),
    ("post", "/conversations/{key}/name", {"name": "mine"}),
    ("delete", "/conversations/{key}", {}),
    ("get", "/conversations/{key}/variables?", {}),
    ("put", "/conversations/{key}/variables/{variable}", {"value": "mine"}),
    ("post", "/messages/{message}/feedbacks", {"rating": "dislike"}),
    ("get", "/messages/{message}/suggested?", {}),
)


@pytest.mark.parametrize("by", ["another user", "another key"])
def test_what_is_another_s_is_refused_unchanged_and_audited(
    program: KeyClient, chat: Workflow, cast: Cast, by: str
) -> None:
    key = turn(program, chat, "one")
    names = {
        "key": key,
        "message": get(program, "/messages", conversation_id=key)["data"][0]["id"],
        "variable": get(program, f"/conversations/{key}/variables")["data"][0]["id"],
    }
    user, client = "ben", program
    if by == "another key":
        user = "ana"
        client = make_program(cast.alice, publish(cast.alice, build_chat(), "Other"))

    for method, path, body in FOREIGN:
        url = path.format(**names)
        if method == "get":
            answer = client.get(f"/v1{url}&user={user}")
        else:
            answer = send(client, method, url, **{**body, "user": user})
        assert answer.status_code == 404, (method, path, answer.content)
        assert "tea" not in answer.content.decode()

    assert len(read_audit(cast.alice, "access.refused")) == len(FOREIGN)
    assert get(program, "/conversations")["data"][0]["name"] == "one"
    assert get(program, f"/conversations/{key}/variables")["data"][0]["value"] == "tea"
    assert get(program, "/messages", conversation_id=key)["data"][0]["feedback"] is None
