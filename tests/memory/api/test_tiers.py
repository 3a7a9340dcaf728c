"""What waits in quarantine and who moves what where, over HTTP."""

from typing import Any

import pytest

from memory import services
from memory.core.records import MemoryEntry
from tests.memory.services.conftest import at_door
from tests.support.cast import Cast, Person


pytestmark = pytest.mark.django_db

API = "/api/v1/memory"
HERE = "global:app"


def held(
    person: Person, key: str, value: str = "Alice likes tea a lot", **more: Any
) -> MemoryEntry:
    given = {"tier": "quarantine", **more}
    return services.remember(at_door(person), namespace=HERE, key=key, value=value, **given)


class Api:
    def __init__(self, client: Any) -> None:
        self.client = client

    def get(self, path: str) -> Any:
        return self.client.get(API + path)

    def post(self, path: str, body: Any, **headers: str) -> Any:
        return self.client.post(
            API + path, data=body, content_type="application/json", headers=headers
        )

    def waiting(self, more: str = "") -> list[str]:
        listed = self.get(f"/quarantine?namespace={HERE}{more}").json()["items"]
        return [one["key"] for one in listed]


@pytest.fixture
def api(speaker: Any) -> Api:
    return Api(speaker)


def test_one_is_approved_by_its_revision_and_a_late_one_is_told_so(api: Api, alice: Person) -> None:
    """spec §5: a person approves it (→ working or long-term)."""
    entry = held(alice, "k")
    path = f"/entries/{entry.id}/move"
    assert api.waiting() == ["k"]

    done = api.post(path, {"move": "approve", "to": "working"}, **{"If-Match": '"1"'})
    late = api.post(path, {"move": "promote"}, **{"If-Match": '"1"'})

    assert (done.status_code, done["ETag"], done.json()["entries"][0]["tier"]) == (
        200, '"2"', "working",
    )  # fmt: skip
    assert (late.status_code, late.json()["error"]["type"]) == (409, "RevisionConflict")
    assert api.waiting() == []
    promoted = api.post(path, {"move": "promote"}, **{"If-Match": done["ETag"]}).json()
    assert (promoted["entries"][0]["tier"], promoted["entries"][0]["expires_at"]) == (
        "long_term", None,
    )  # fmt: skip


def test_rejected_is_kept_as_rejected_with_its_reason(api: Api, alice: Person) -> None:
    entry = held(alice, "k")

    body = {"move": "reject", "reason": "she doesn't"}
    done = api.post(f"/entries/{entry.id}/move", body, **{"If-Match": '"1"'}).json()

    assert done["entries"][0]["metadata"]["review_reason"] == "she doesn't"
    assert (api.waiting(), api.waiting("&rejected=true")) == ([], ["k"])


def test_several_are_tried_moved_and_undone_as_one(api: Api, alice: Person) -> None:
    services.remember(at_door(alice), namespace=HERE, key="b", value="Alice likes tea")
    ids = [held(alice, key, f"words that wait, {key}").id for key in "ab"]
    body = {"move": "approve", "entries": ids}

    tried = api.post("/move", {**body, "dry_run": True}).json()

    assert (tried["count"], tried["change"], tried["entries"]) == (2, None, [])
    assert [(one["entry"]["key"], one["to"]) for one in tried["planned"]] == [
        ("a", "long_term"), ("held:b", "long_term"),
    ]  # fmt: skip
    assert [one["replaces"] and one["replaces"]["value"] for one in tried["planned"]] == [
        None, "Alice likes tea",
    ]  # fmt: skip
    assert sorted(api.waiting()) == ["a", "held:b"]

    done = api.post("/move", body).json()
    assert (done["count"], api.waiting()) == (2, [])
    assert api.post(f"/changes/{done['change']}/undo", {}).json()["count"] >= 2
    assert sorted(api.waiting()) == ["a", "held:b"]


def test_one_that_can_not_be_moved_keeps_all_where_they_are(api: Api, alice: Person) -> None:
    waits, used = held(alice, "a").id, held(alice, "b", tier="long_term").id
    body = {"move": "approve", "entries": [waits, used]}

    tried = api.post("/move", {**body, "dry_run": True}).json()
    done = api.post("/move", body)

    assert [bool(one["problem"]) for one in tried["planned"]] == [False, True]
    assert (tried["count"], done.status_code, api.waiting()) == (1, 422, ["a"])


WRONG = [
    ({"move": "eat", "entries": ["01a0c3f0-0000-7000-8000-000000000000"]}, 422),
    ({"move": "approve", "entries": []}, 422),
    ({"move": "approve", "entries": ["01a0c3f0-0000-7000-8000-000000000000"], "x": 1}, 422),
    ({"move": "approve", "entries": ["01a0c3f0-0000-7000-8000-000000000000"]}, 404),
]


@pytest.mark.parametrize(("body", "status"), WRONG)
def test_what_makes_no_sense_is_refused(api: Api, body: Any, status: int) -> None:
    assert api.post("/move", body).status_code == status


def test_without_a_revision_nothing_is_moved(api: Api, alice: Person) -> None:
    entry = held(alice, "k")

    assert api.post(f"/entries/{entry.id}/move", {"move": "approve"}).status_code == 422
    assert api.waiting() == ["k"]


def test_viewer_looks_and_stranger_finds_nothing(cast: Cast) -> None:
    entry = held(cast.alice, "k")

    vic, carol = Api(cast.vic.client), Api(cast.carol.client)
    moves = (
        {"move": "approve", "entries": [entry.id]},
        {"move": "approve", "entries": [entry.id], "dry_run": True},
    )

    assert [vic.post("/move", body).status_code for body in moves] == [403, 403]
    assert [carol.post("/move", body).status_code for body in moves] == [404, 404]
    assert (vic.waiting(), carol.waiting()) == (["k"], [])
