"""When entries hold, over HTTP: stored, edited, asked about, and refused."""

from typing import Any

import pytest


pytestmark = pytest.mark.django_db

ROOT = "/api/v1/memory"
HERE = {"namespace": "user:customer-7"}
MOVED = "2026-05-01T10:00:00.123456Z"


def recalled(send: Any, **body: Any) -> list[str]:
    answer = send("post", "/recall", {**HERE, **body})
    assert answer.status_code == 200, answer.content
    return sorted(item["key"] for item in answer.json()["items"])


def test_home_moves_over_http(send: Any) -> None:
    old = send("post", "/entries", {**HERE, "key": "berlin", "value": "I live in Berlin."}).json()
    successor = {"key": "lyon", "value": "I live in Lyon.", "valid_from": MOVED}
    new = send("post", "/entries", {**HERE, **successor, "replaces": old["id"]}).json()
    change = {"valid_until": MOVED, "replaced_by": new["id"]}
    retired = send("patch", f"/entries/{old['id']}", change, **{"If-Match": "1"})

    assert (old["valid_from"], old["valid_until"], old["replaces"]) == (None, None, "")
    assert (new["valid_from"], new["replaces"], new["replaced_by"]) == (MOVED, old["id"], "")
    assert retired.status_code == 200
    assert {name: retired.json()[name] for name in change} == change
    assert recalled(send, query_text="live") == recalled(send) == ["lyon"]
    assert recalled(send, query_text="live", valid_at="2026-04-30T00:00:00Z") == ["berlin"]
    assert recalled(send, include_former=True) == ["berlin", "lyon"]
    assert recalled(send, key="berlin") == ["berlin"]
    listed = send("get", f"/entries?namespace={HERE['namespace']}").json()
    assert listed["count"] == 2
    history = send("get", f"/entries/{old['id']}/revisions").json()["items"]
    assert [one["valid_until"] for one in history] == [MOVED, None]

    back = {"valid_until": None, "replaced_by": ""}
    held_again = send("patch", f"/entries/{old['id']}", back, **{"If-Match": "2"}).json()
    assert {name: held_again[name] for name in back} == back
    assert recalled(send) == ["berlin", "lyon"]


def test_search_of_all_namespaces_leaves_out_former_entries(send: Any) -> None:
    shared = {"namespace": "global:app"}
    send("post", "/entries", {**shared, "key": "a", "value": "green tea", "valid_until": MOVED})
    send("post", "/entries", {**shared, "key": "b", "value": "black tea"})

    def found(query: str) -> list[str]:
        items = send("get", f"/search?q=tea{query}").json()["items"]
        return sorted(item["key"] for item in items)

    assert found("") == ["b"]
    assert found("&include_former=true") == ["a", "b"]
    assert found("&valid_at=2026-04-30T00:00:00Z") == ["a", "b"]


REFUSED = [
    {"valid_from": "2026-05-01T10:00:00"},
    {"valid_until": "2026-05-01"},
    {"valid_from": MOVED, "valid_until": MOVED},
    {"replaces": "a sentence"},
    {"replaced_by": "x" * 81},
    {"replaces": None},
]


@pytest.mark.parametrize("validity", REFUSED)
def test_validity_that_makes_no_sense_is_refused(send: Any, validity: dict[str, Any]) -> None:
    answer = send("post", "/entries", {**HERE, "key": "k", "value": "v", **validity})

    assert answer.status_code == 422
    (name, *_rest) = reversed(validity)
    assert name in answer.content.decode()


@pytest.mark.parametrize("body", [{"valid_at": "2026-05-01T10:00:00"}, {"include_former": "maybe"}])
def test_moment_that_makes_no_sense_is_refused(send: Any, body: dict[str, Any]) -> None:
    assert send("post", "/recall", {**HERE, **body}).status_code == 422
