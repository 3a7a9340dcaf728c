"""Feedback on answers: given, changed and taken back, and counted in usage."""

from typing import Any

import pytest

from accounts.errors import NotFound
from accounts.tenancy import tenant
from tests.factories.workflows import make_workflow
from tests.support.cast import Cast
from tests.workflows.usage.test_counting import load, make_ended
from workflows import selectors
from workflows.models import Feedback, ModelUsage, Run, RunUsage
from workflows.services.erasure import erase_person, export_person
from workflows.services.runs.feedback import give_feedback


pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


def test_thumb_is_given_changed_and_taken_back(cast: Cast) -> None:
    run = make_ended(cast.alice, make_workflow(cast.alice))
    url = f"/runs/{run.pk}/feedback/"

    page = cast.alice.client.get(f"/runs/{run.pk}/").content.decode()
    up = cast.alice.client.post(url, {"rating": "up"}, headers=HTMX).content.decode()
    cast.alice.client.post(url, {"rating": "down", "text": "too short"}, headers=HTMX)
    api = cast.alice.client.get(f"/api/v1/runs/{run.pk}/feedback").json()["items"]
    total = load(cast.alice).total
    found = [
        cast.alice.client.get(f"/api/v1/runs?feedback={name}").json()["count"]
        for name in ("up", "down", "any")
    ]
    cast.alice.client.post(url, {"rating": "down"}, headers=HTMX)

    assert f"feedback-{run.pk}" in page
    assert up.count('aria-pressed="true"') == 1
    assert [(row["rating"], row["text"]) for row in api] == [(-1, "too short")]
    assert (total.liked, total.disliked) == (0, 1)
    assert found == [0, 1, 1]
    assert cast.alice.client.get(f"/api/v1/runs/{run.pk}/feedback").json()["items"] == []


def test_feedback_over_the_api(cast: Cast, api_key: Any) -> None:
    client = api_key(cast.alice)
    run = make_ended(
        cast.alice, make_workflow(cast.alice), api_key=client.key, started_by=None, subject="zoe"
    )
    url = f"/api/v1/runs/{run.pk}/feedback"

    given = client.post(url, {"rating": 1, "text": "good"}, content_type="application/json")
    wrong = client.post(url, {"rating": 5}, content_type="application/json")
    taken = client.delete(url)

    assert (given.status_code, given.json()["rating"]) == (200, 1)
    assert wrong.status_code == 422
    assert taken.status_code == 204


def test_page_of_a_run_shows_feedback_that_a_key_gave(cast: Cast) -> None:
    run = make_ended(cast.alice, make_workflow(cast.alice))
    with tenant([run.team_id]):
        for actor, author, text in (
            (cast.bob.principal.actor, cast.bob.user, "by a person"),
            ("key:1", None, "by a program"),
        ):
            Feedback.objects.create(
                team_id=run.team_id, run=run, actor=actor, created_by=author, rating=-1, text=text
            )

    page = cast.alice.client.get(f"/runs/{run.pk}/")

    assert page.status_code == 200
    text = " ".join(page.content.decode().split())
    assert f"by a person – {cast.bob.user.name or cast.bob.user.email}" in text
    assert "by a program – API client" in text


def test_a_stranger_gives_none(cast: Cast) -> None:
    run = make_ended(cast.alice, make_workflow(cast.alice))

    with pytest.raises(NotFound):
        selectors.find_run(cast.bob.principal, run.pk)
    assert cast.bob.client.post(f"/runs/{run.pk}/feedback/", {"rating": "up"}).status_code == 404
    assert cast.carol.client.post(f"/runs/{run.pk}/feedback/", {"rating": "up"}).status_code == 404


def test_erasure_removes_feedback_and_the_person_but_keeps_the_numbers(cast: Cast) -> None:
    workflow = make_workflow(cast.alice)
    run = make_ended(cast.alice, workflow)
    for_bob = make_ended(
        cast.alice, workflow, subject=str(cast.bob.user.pk), subject_user=cast.bob.user
    )
    give_feedback(cast.alice.principal, run, rating=1)
    give_feedback(cast.bob.principal, for_bob, rating=-1, text="no")
    before = load(cast.alice).total.count

    with tenant([cast.team_a.pk]):
        exported = [kind for kind, _row in export_person(cast.team_a.pk, str(cast.bob.user.pk))]
        counts = erase_person(cast.team_a.pk, str(cast.bob.user.pk), dry_run=False)
        again = erase_person(cast.team_a.pk, str(cast.alice.user.pk), dry_run=False)
        subjects = set(RunUsage.objects.unscoped().values_list("subject", flat=True))
        assert not Feedback.objects.unscoped().exists()
        assert not Run.objects.unscoped().exists()
        assert not ModelUsage.objects.unscoped().exclude(subject="").exists()

    assert exported == ["feedback"]
    assert (counts["workflows_feedback"], again["workflows_feedback"]) == (1, 1)
    assert subjects == {""}
    assert (before, load(cast.alice).total.count) == (2, 2)
