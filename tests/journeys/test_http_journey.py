"""The chat journey as a programme makes it: over HTTP with an API key, on the real server, worker and database."""

import json
import secrets
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from config.env import ROOT
from tests.support.stack import LiveStack


FACT = "My cat is called Miso."
QUESTION = "What is my cat called?"

MAKE_KEY = """
from accounts.models import User
from accounts.roles import SCOPES
from accounts.principals import load_user_principal
from accounts.services import create_team, issue_key
owner = User.objects.create_user("%s@example.org", name="Pia")
team = create_team(owner=owner, name="%s")
_row, secret = issue_key(principal=load_user_principal(owner), team=team, name="journey", scopes=set(SCOPES))
print("secret=" + secret)
"""


def client_with_a_key(live_stack: LiveStack, name: str) -> httpx2.Client:
    mark = f"programmer-{name}-{secrets.token_hex(8)}"
    code = MAKE_KEY % (mark, mark)
    said = live_stack.manage("shell", "--no-imports", "-c", code)
    secret = said.rpartition("secret=")[2].strip()
    return httpx2.Client(
        base_url=f"{live_stack.url}/api/v1",
        headers={"Authorization": f"Bearer {secret}"},
        timeout=30,
        trust_env=False,
    )


@pytest.fixture
def api(live_stack: LiveStack) -> Iterator[httpx2.Client]:
    with client_with_a_key(live_stack, "one") as client:
        yield client


def answer(response: httpx2.Response, status: int = 200) -> Any:
    assert response.status_code == status, response.text
    return response.json()


def events_of(api: httpx2.Client, run: dict[str, Any], **headers: str) -> list[dict[str, Any]]:
    """The whole stream, to its end: waits as long as the run runs."""
    found = []
    with api.stream("GET", f"/runs/{run['id']}/events", headers=headers) as response:
        assert response.headers["Content-Type"].startswith("text/event-stream")
        event: dict[str, Any] = {}
        for line in response.iter_lines():
            name, _, value = line.partition(": ")
            if name in ("id", "event"):
                event[name] = value
            elif name == "data":
                found.append({**event, "data": json.loads(value)})
                event = {}
    return found


def say(
    api: httpx2.Client, workflow: str, query: str, *, user: str, **more: Any
) -> tuple[str, dict[str, Any], list[dict[str, Any]]]:
    """The answer, the run afterwards, and its events as they streamed."""
    body = {"query": query, "user": user, "version": "draft", **more}
    run = answer(api.post(f"/workflows/{workflow}/runs", json=body), 202)
    events = events_of(api, run)
    streamed = "".join(e["data"]["text"] for e in events if e["event"] == "text_chunk")
    ended = answer(api.get(f"/runs/{run['id']}"))
    assert ended["status"] == "succeeded", ended["error"]
    # who comes when all is said gets the text whole, with the last event
    assert streamed in ("", ended["outputs"]["answer"])
    assert events[-1]["data"]["outputs"] == ended["outputs"]
    return ended["outputs"]["answer"], ended, events


def test_chat_over_http_tells_forgets_and_knows_again(live_stack: LiveStack, api: httpx2.Client):
    source = (ROOT / "workflows" / "samples" / "chatbot" / "workflow.yml").read_text()
    made = answer(api.post("/workflows", json={"document": source}), 201)
    workflow = made["workflow"]["id"]
    assert made["warnings"] == []

    # ana tells it something: it is remembered, and the stream says so
    _, told, events = say(api, workflow, FACT, user="ana")
    names = [event["event"] for event in events]
    assert (names[0], names[-1]) == ("run_started", "run_finished")
    assert {"node_state_change", "memory_recalled", "memory_written"} <= set(names)
    (written,) = told["memories_written"]
    assert written["entry"]["value"] == FACT
    numbers = [int(event["id"]) for event in events if "id" in event]
    assert numbers == sorted(set(numbers))

    # a reader who comes back gets what is missing, and no more
    middle = next(event for event in events if event["event"] == "memory_written")
    rest = events_of(api, told, **{"Last-Event-ID": middle["id"]})
    assert [e for e in rest if "id" in e] == [
        e for e in events if "id" in e and int(e["id"]) > int(middle["id"])
    ]

    # another conversation of ana's: recalled, used, cited
    reply, asked, _ = say(api, workflow, QUESTION, user="ana")
    assert "Miso" in reply
    assert asked["conversation_id"] != told["conversation_id"]
    assert asked["memories_written"] == []
    recalled = [entry for read in asked["memories_recalled"] for entry in read["entries"]]
    assert {entry["value"] for entry in recalled} == {FACT}
    assert [0 < entry["score"] <= 1 for entry in recalled if entry["score"] is not None]

    # ben: unknown; and ana's conversation isn't his to go on with
    reply, _, _ = say(api, workflow, QUESTION, user="ben")
    assert "Miso" not in reply
    talk = told["conversation_id"]
    intruding = {"query": QUESTION, "user": "ben", "conversation_id": talk, "version": "draft"}
    answer(api.post(f"/workflows/{workflow}/runs", json=intruding), 404)

    # another team's key: neither workflow, run, nor memory
    entry = f"/memory/entries/{written['entry']['id']}"
    with client_with_a_key(live_stack, "two") as stranger:
        for path in (f"/workflows/{workflow}", f"/runs/{told['id']}", entry):
            answer(stranger.get(path), 404)

    # forgotten: gone; restored: back
    forgotten = answer(api.delete(entry))
    assert "Miso" not in say(api, workflow, QUESTION, user="ana")[0]
    answer(api.post(f"{entry}/restore", json={}))
    assert "Miso" in say(api, workflow, QUESTION, user="ana")[0]
    assert forgotten["count"] == 1
    operations = [row["operation"] for row in answer(api.get(f"{entry}/revisions"))["items"]]
    assert sorted(operations) == ["forget", "restore", "store"]
