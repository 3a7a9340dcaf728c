"""The review queue and the rules of learning over HTTP."""

from dataclasses import replace
from typing import Any

import pytest

from accounts.principals import KeyPrincipal
from memory.logic.curation.work import FinishedWork
from memory.logic.review.review_rules import ReviewMode
from tests.memory.services.conftest import in_run
from tests.memory.services.curating import (
    APP,
    answer,
    curated,
    kept,
    learns,
    proposals_of,
    scripted,
)
from tests.memory.services.test_review import additions, contradicted, taught
from tests.support.cast import Cast, Person


pytestmark = pytest.mark.django_db

REVIEW = "/api/v1/memory/review"


def post(person: Person, path: str, body: Any = None) -> Any:
    return person.client.post(path, body or {}, content_type="application/json")


def test_rule_written_is_read_back_and_the_teams_holds_elsewhere(cast: Cast):
    client = cast.people["bob"].client
    rule = {"auto_memory": True, "review": "sample", "sampled": 0.25, "provider": "openai"}

    put = client.put("/api/v1/memory/curation/rules?app=a1", rule, content_type="application/json")

    assert put.status_code == 200
    found = client.get("/api/v1/memory/curation/rules?app=a1").json()
    assert {name: found[name] for name in rule} == rule
    assert client.get("/api/v1/memory/curation/rules").json()["auto_memory"] is False
    assert client.get("/api/v1/memory/curation/rules?apps=a1").status_code == 422


@pytest.mark.parametrize("body", [{"sampled": 2}, {"scope": "run"}, {"review": "most"}, {"x": 1}])
def test_rule_that_makes_no_sense_is_refused(alice: Person, body: Any):
    answer = alice.client.put(
        "/api/v1/memory/curation/rules", body, content_type="application/json"
    )

    assert answer.status_code == 422


def test_queue_is_listed_tried_applied_and_taken_back(alice: Person):
    learns(alice)
    found = contradicted(alice)

    page = alice.client.get(REVIEW).json()
    assert [one["id"] for one in page["items"]] == [str(found.pk)]
    diff = post(alice, f"{REVIEW}/{found.pk}/dry-run").json()
    assert diff["applicable"] is True
    ends = [change["after"]["valid_until"] for change in diff["changes"]]
    assert [end is None for end in ends] == [True, False]  # the older one stays, as a former one

    done = post(alice, f"{REVIEW}/{found.pk}/apply", {"reason": "moved"})
    assert (done.status_code, done.json()["state"]) == (200, "applied")
    assert len(kept(alice, "result")) == 1
    assert post(alice, f"{REVIEW}/{found.pk}/apply").status_code == 422
    assert alice.client.get(REVIEW).json()["precision"]["curation"]["accepted"] == 1

    undone = post(alice, f"{REVIEW}/{found.pk}/undo").json()
    assert undone["state"] == "undone"
    assert len(kept(alice, "result")) == 2
    assert alice.client.get(REVIEW).json()["precision"]["curation"]["share"] == 0.0


def test_edited_and_rejected_are_told_apart(alice: Person):
    learns(alice, review=ReviewMode.ALL)
    taught(alice, "Tea is served at four", run_id="r1")
    [result], [task] = additions(alice), additions(alice, "execution")

    edited = post(
        alice, f"{REVIEW}/{result.pk}/apply", {"value": {"learnings": ["Tea is at five"]}}
    ).json()
    refused = post(alice, f"{REVIEW}/{task.pk}/reject", {"always": True, "reason": "dull"}).json()

    assert (edited["edited"], edited["new"]["value"]) == (True, {"learnings": ["Tea is at five"]})
    assert (refused["state"], refused["decision"]) == ("rejected_always", "dull")
    assert alice.client.get(f"{REVIEW}?state=rejected_always").json()["count"] == 1
    assert alice.client.get(f"{REVIEW}?run=r1").json()["count"] == 0  # none is open


def test_curations_say_what_became_of_runs(alice: Person):
    learns(alice)
    taught(alice, "Tea is served at four", run_id="r1")

    [row] = alice.client.get("/api/v1/memory/curations").json()["items"]

    assert (row["run"], row["app"], row["status"], row["problem"]) == ("r1", APP, "done", "")
    assert row["counts"] == {"admit": 2, "proposed": 0}
    path = f"/api/v1/memory/curations/{row['id']}/retry"
    assert post(alice, path).status_code == 409


def test_key_that_names_an_outside_person_decides_what_waits_about_them(cast: Cast, api_key: Any):
    alice = cast.alice
    learns(alice, review=ReviewMode.ALL)
    app = api_key(alice, scopes={"memory:read", "memory:write", "memory:speak"})
    reader, stranger = api_key(alice, scopes={"runs:read"}), api_key(cast.carol)
    ask, _ = scripted(answer(key_learnings=["Uma rows on Fridays"]))
    run = replace(in_run(alice, outside=True, user_id="uma"), principal=KeyPrincipal(app.key))
    curated(alice, FinishedWork("t"), ask=ask, caller=run)
    [found] = [one for one in additions(alice) if "Uma" in str(one.new)]
    at = f"{REVIEW}/{found.pk}"

    assert app.get(REVIEW).json()["count"] == 0, "a list over many never widens"
    [listed] = app.get(f"{REVIEW}?namespace=user:uma&kind=add").json()["items"][:1]
    assert listed["id"] in {str(one.pk) for one in proposals_of(alice)}
    for who in (alice.client, stranger):
        assert who.get(at).status_code == 404
        assert who.post(f"{at}/apply", {}, content_type="application/json").status_code == 404
    assert reader.get(at).status_code == 404

    done = app.post(f"{at}/apply", {}, content_type="application/json")

    assert (done.status_code, done.json()["state"]) == (200, "applied")
    entries = app.get("/api/v1/memory/entries?namespace=user:uma").json()["items"]
    assert any("Uma rows on Fridays" in str(one["value"]) for one in entries)
