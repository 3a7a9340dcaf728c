"""Memory over HTTP, with a key, as a programme would."""

from typing import Any

import pytest

from tests.support.cast import Person


pytestmark = pytest.mark.django_db

API = "/api/v1/memory"
PLACE = {"namespace": "user:customer-7"}


@pytest.fixture
def send(api_key: Any, alice: Person) -> Any:
    client = api_key(alice)

    def request(method: str, path: str, body: Any = None, **headers: str) -> Any:
        options: dict[str, Any] = {"headers": headers}
        if body is not None:
            options |= {"data": body, "content_type": "application/json"}
        return getattr(client, method)(API + path, **options)

    return request


def test_store_recall_edit_forget_undo_over_http(send: Any) -> None:
    stored = send("post", "/entries", {**PLACE, "key": "cat", "value": "My cat is called Miso."})
    assert (stored.status_code, stored.json()["revision"]) == (201, 1)
    entry = f"/entries/{stored.json()['id']}"

    question = {**PLACE, "query_text": "What is my cat called?", "top_k": 3}
    recalled = send("post", "/recall", question).json()
    assert recalled["count"] == 1
    assert recalled["results"][0]["score"] == 1.0
    assert set(recalled["results"][0]["explain"]) == {"words", "context", "neighbours", "literal"}

    edited = send("patch", entry, {"value": "Her name is Mia."}, **{"If-Match": '"1"'})
    assert (edited.status_code, edited["ETag"]) == (200, '"2"')
    late = send("patch", entry, {"value": "late"}, **{"If-Match": '"1"'})
    assert late.status_code == 409
    assert send("get", entry).json()["value"] == "Her name is Mia."

    gone = send("delete", entry).json()
    assert gone["count"] == 1
    assert send("get", entry).status_code == 404
    assert send("post", "/recall", question).json()["count"] == 0

    assert send("post", f"/changes/{gone['change']}/undo", {}).json()["count"] == 1
    assert send("get", f"/entries?namespace={PLACE['namespace']}&text=MIA").json()["total"] == 1

    restored = send("post", f"{entry}/restore", {"revision": 1}).json()
    assert (restored["value"], restored["revision"]) == ("My cat is called Miso.", 5)
    history = send("get", f"{entry}/revisions").json()
    assert [one["operation"] for one in history] == [
        "restore",
        "restore",
        "forget",
        "edit",
        "store",
    ]


WRONG = [
    ("/entries", {**PLACE, "key": "k", "value": 1, "team_id": "x"}),
    ("/entries", {"namespace": "user:a:b", "key": "k", "value": 1}),
    ("/entries", {**PLACE, "key": "k", "value": 1, "tier": "eternal"}),
    ("/recall", {**PLACE, "filter": {"a": {"$regex": "x"}}}),
    ("/recall", {**PLACE, "top_k": -1}),
    ("/forget", PLACE),
    ("/forget", {"entries": ["x"]}),
]


@pytest.mark.parametrize(("path", "body"), WRONG, ids=repr)
def test_request_that_makes_no_sense_is_refused(send: Any, path: str, body: Any) -> None:
    assert send("post", path, body).status_code == 422
