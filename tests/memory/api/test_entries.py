"""Memory over HTTP, with a key, as a programme would."""

from typing import Any

import pytest

from memory import services
from tests.memory.services.conftest import at_door
from tests.support.cast import Person


pytestmark = pytest.mark.django_db

ROOT = "/api/v1/memory"
PLACE = {"namespace": "user:customer-7"}


def test_store_recall_edit_forget_undo_over_http(send: Any) -> None:
    stored = send("post", "/entries", {**PLACE, "key": "cat", "value": "My cat is called Miso."})
    assert (stored.status_code, stored.json()["revision"]) == (201, 1)
    entry = f"/entries/{stored.json()['id']}"

    question = {**PLACE, "query_text": "What is my cat called?", "top_k": 3}
    recalled = send("post", "/recall", question).json()
    assert recalled["count"] == 1
    assert recalled["items"][0]["score"] == 1.0
    explain = recalled["items"][0]["explain"]
    assert {"words": 1.0, "context": 0.0, "literal": 0.0, "rank": 1.0}.items() <= explain.items()

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
    assert send("get", f"/entries?namespace={PLACE['namespace']}&text=MIA").json()["count"] == 1

    restored = send("post", f"{entry}/restore", {"revision": 1}).json()
    assert (restored["value"], restored["revision"]) == ("My cat is called Miso.", 5)
    history = send("get", f"{entry}/revisions").json()["items"]
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


def test_min_score_over_http_leaves_out_what_meets_less(send: Any) -> None:
    shop = {"namespace": "global:shop"}
    send("post", "/entries", {**shop, "key": "a", "value": "the printer needs toner"})
    send("post", "/entries", {**shop, "key": "b", "value": "the printer of the office"})
    question = {**shop, "query_text": "Which printer did Napoleon use"}

    [first, *_] = send("post", "/recall", question).json()["items"]
    assert 0 < first["score"] < 0.5
    assert send("post", "/recall", {**question, "min_score": 0.5}).json() == {
        "items": [],
        "next": None,
        "count": 0,
    }
    found = send(
        "post", "/recall", {**shop, "query_text": "printer toner", "min_score": 0.9}
    ).json()
    assert [one["key"] for one in found["items"]] == ["a"]
    assert send("post", "/recall", {**shop, "key": "b", "min_score": 0.9}).json()["count"] == 1
    searched = send("get", "/search?q=printer toner&min_score=0.9").json()
    assert ([one["key"] for one in searched["items"]], searched["count"]) == (["a"], 1)
    assert send("get", "/search?q=printer toner").json()["count"] == 2
    for wrong in (-0.1, 1.1, "much"):
        refused = send("post", "/recall", {**question, "min_score": wrong})
        assert refused.status_code == 422
        assert "min_score" in refused.content.decode()


def test_search_over_http_finds_what_a_key_may_see_and_narrows(send: Any, alice: Person) -> None:
    shared = {"namespace": "global:shop"}
    own = f"user:{alice.user.pk}"
    services.remember(at_door(alice), namespace=own, key="mine", value="green tea")
    send("post", "/entries", {**PLACE, "key": "theirs", "value": "green tea"})
    send("post", "/entries", {**shared, "key": "a", "value": "green tea"})
    send("post", "/entries", {**shared, "key": "b", "value": "tea", "category": "note"})

    found = send("get", "/search?q=green tea").json()
    assert [one["key"] for one in found["items"]] == ["a", "b"]
    assert (found["count"], found["next"], found["complete"]) == (2, None, True)
    best = found["items"][0]
    assert (best["namespace"], best["score"]) == ("global:shop", 1.0)
    assert best["explain"]["rank"] == 1.0
    assert send("get", "/search?q=tea&category=note&tier=long_term").json()["count"] == 1
    assert send("get", "/search?q=tea&scope=user").json()["count"] == 0
    first = send("get", "/search?q=tea&limit=1").json()
    second = send("get", f"/search?q=tea&limit=1&cursor={first['next']}").json()
    assert ([one["key"] for one in second["items"]], second["next"]) == (["a"], None)
    for wrong in (
        "",
        "?q=",
        "?q=tea&scope=moon",
        "?q=tea&tier=x",
        "?q=tea&limit=0",
        "?q=tea&x=1",
        "?q=tea&min_score=2",
    ):
        assert send("get", f"/search{wrong}").status_code == 422, wrong


@pytest.mark.parametrize("way", ["key", "entries", "clear"])
def test_dry_run_of_forgetting_counts_by_table_and_forgets_nothing(send: Any, way: str) -> None:
    entry = send("post", "/entries", {**PLACE, "key": "cat", "value": "Miso"}).json()["id"]
    ways: dict[str, tuple[str, dict[str, Any]]] = {
        "key": ("/forget", {**PLACE, "key": "cat"}),
        "entries": ("/forget", {"entries": [entry]}),
        "clear": ("/clear", PLACE),
    }
    path, body = ways[way]

    tried = send("post", path, {**body, "dry_run": True})

    assert tried.status_code == 200
    assert tried.json() == {
        "dry_run": True,
        "count": 1,
        "bytes": 9,  # of the key and the value
        "tables": {"memory_entry": 1, "memory_embedding": 0},
        "kept": {"memory_revision": 1},
    }
    assert send("get", f"/entries/{entry}").status_code == 200
    done = send("post", path, body).json()
    assert (done["count"], set(done)) == (1, {"count", "change"})
    assert send("get", f"/entries/{entry}").status_code == 404


def test_recall_by_text_gives_a_handful_unless_it_is_told_how_many(send: Any) -> None:
    many = [{**PLACE, "key": f"k{n}", "value": f"cat number {n}"} for n in range(8)]
    for one in many:
        send("post", "/entries", one)

    def count(**asked: Any) -> int:
        return int(send("post", "/recall", {**PLACE, **asked}).json()["count"])

    assert count(query_text="cat") == 5
    assert count(query_text="cat", top_k=7) == 7
    assert count(query_text="cat", top_k=None) == 5
    assert count() == 8


def test_recall_for_another_installation_is_the_whole_answer(api_key: Any, alice: Person) -> None:
    guest = api_key(alice, scopes={"memory:read", "memory:write", "memory:serve"})
    asked = {**PLACE, "query_text": "cat"}
    for n in range(8):
        entry = {**PLACE, "key": f"k{n}", "value": f"cat {n}"}
        guest.post(f"{ROOT}/entries", entry, content_type="application/json")

    answer = guest.post(f"{ROOT}/recall", asked, content_type="application/json")

    assert answer.json()["count"] == 8


def test_namespaces_come_in_pages_with_how_many_there_are(send: Any) -> None:
    for number in range(5):
        send("post", "/entries", {"namespace": f"global:n{number}", "key": "k", "value": 1})

    def read_all(query: str) -> tuple[list[list[str]], set[int]]:
        pages: list[list[str]] = []
        counts: set[int] = set()
        cursor: str | None = ""
        while cursor is not None:
            answer = send("get", f"/namespaces?{query}&cursor={cursor}").json()
            pages.append([one["namespace"] for one in answer["items"]])
            counts.add(answer["count"])
            cursor = answer["next"]
        return pages, counts

    every = [f"global:n{number}" for number in range(5)]
    assert read_all("limit=200") == ([every], {5})
    assert read_all("limit=5&scope=global") == ([every], {5})
    assert read_all("limit=2&scope=global") == ([every[:2], every[2:4], every[4:]], {5})
    assert read_all("scope=user") == ([[]], {0})
    for wrong in ("?limit=0", "?limit=201", "?cursor=5", "?offset=0"):
        assert send("get", f"/namespaces{wrong}").status_code == 422
