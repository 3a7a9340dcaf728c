"""The numbers on the lists of runs, the list of a team's runs, and running again."""

import pytest

from accounts.models import AuditEntry
from accounts.tenancy import tenant
from tests.factories.workflows import document, make_run, make_workflow
from tests.support.cast import Cast
from tests.workflows.usage.test_counting import add_step, make_ended
from workflows.models import Run


pytestmark = pytest.mark.django_db


def test_runs_show_and_sort_by_their_numbers(cast: Cast) -> None:
    workflow = make_workflow(cast.alice)
    cheap = make_ended(cast.alice, workflow, elapsed=0.5, prompt_tokens=1500)
    dear = make_ended(cast.alice, workflow, elapsed=61.0)
    add_step(dear, prompt_tokens=5, outputs={"usage": {"cost": 1.5}})

    page = cast.alice.client.get("/runs/?sort=cost").content.decode()
    by_tokens = cast.alice.client.get("/api/v1/runs?sort=tokens").json()["items"]
    slow = cast.alice.client.get("/api/v1/runs?min_seconds=30").json()["items"]
    costly = cast.alice.client.get("/runs/?min_cost=2&min_tokens=x").content.decode()

    assert page.index(str(dear.pk)) < page.index(str(cheap.pk))
    assert "1 min 1 s" in page
    assert "1,500" in page
    assert "$1.50" in page
    assert [item["id"] for item in by_tokens] == [str(cheap.pk), str(dear.pk)]
    assert [(item["id"], item["cost"]) for item in slow] == [(str(dear.pk), 1.5)]
    assert "No runs match these filters." in costly


def test_admins_see_the_teams_runs_without_what_is_private(cast: Cast) -> None:
    workflow = make_workflow(cast.alice, "Sorter")
    run = make_ended(
        cast.bob, workflow, inputs={"text": "secret words"}, error="secret error", status="failed"
    )

    page = cast.ada.client.get("/runs/team/").content.decode()
    answer = cast.ada.client.get("/api/v1/team-runs?status=failed").json()
    filtered = cast.ada.client.get("/runs/team/?said=secret&person=bob").content.decode()

    assert "Sorter" in page
    assert "secret" not in page + str(answer)
    assert "Bob" not in page
    assert str(run.pk) not in page  # no link to what may not be opened
    assert [item["id"] for item in answer["items"]] == [str(run.pk)]
    assert "Sorter" in filtered  # what is hidden can't be guessed by filters
    assert cast.ada.client.get(f"/runs/{run.pk}/").status_code == 404
    with tenant([cast.team_a.pk]):
        entries = AuditEntry.objects.unscoped().filter(action="run.team_listed")
        assert {entry.actor for entry in entries} == {cast.ada.principal.actor}


def test_the_teams_runs_are_for_admins(cast: Cast) -> None:
    assert cast.bob.client.get("/runs/team/").status_code == 403
    assert cast.bob.client.get("/api/v1/team-runs").status_code == 403
    assert "/runs/team/" not in cast.bob.client.get("/runs/").content.decode()


def test_run_again_starts_the_same_run(cast: Cast) -> None:
    workflow = make_workflow(cast.alice)
    run = make_ended(cast.alice, workflow, inputs={"text": "hi"}, subject_user=cast.alice.user)

    answer = cast.alice.client.post(f"/runs/{run.pk}/again/")

    with tenant([cast.team_a.pk]):
        new = Run.objects.unscoped().exclude(pk=run.pk).get()
    assert answer.headers["Location"] == f"/runs/{new.pk}/"
    assert (new.inputs, new.subject, new.version) == ({"text": "hi"}, run.subject, None)


def test_run_again_keeps_the_mark_of_inputs_from_outside(cast: Cast) -> None:
    """A page that the run of a sub-workflow was given is no more trusted when a person starts it again."""
    workflow = make_workflow(cast.alice)
    run = make_ended(cast.alice, workflow, inputs={"text": "hi"}, subject_user=cast.alice.user)
    with tenant([cast.team_a.pk]):
        marked = Run.objects.unscoped().filter(pk=run.pk)
        marked.update(
            has_untrusted_inputs=True, is_chosen_by_untrusted=True, memories_in_inputs=["beatrix"]
        )

    cast.alice.client.post(f"/runs/{run.pk}/again/")

    with tenant([cast.team_a.pk]):
        new = Run.objects.unscoped().exclude(pk=run.pk).get()
    assert (new.has_untrusted_inputs, new.is_chosen_by_untrusted) == (True, True)
    assert new.memories_in_inputs == ["beatrix"]


def test_run_that_cannot_be_repeated_says_why(cast: Cast) -> None:
    workflow = make_workflow(cast.alice, source=document(type="number"))
    run = make_ended(cast.alice, workflow, inputs={"text": "no number"})

    answer = cast.alice.client.post(f"/runs/{run.pk}/again/", follow=True)

    assert "repeated" in answer.content.decode()


def test_page_of_a_run_has_a_waterfall(cast: Cast) -> None:
    run = make_run(cast.alice, make_workflow(cast.alice))
    with tenant([run.team_id]):
        Run.objects.unscoped().filter(pk=run.pk).update(
            status="succeeded", finished_at=run.created_at, elapsed=1.0
        )
    add_step(run, node_key="a", started_at=100.0, elapsed=1.0, outputs={"usage": {"cost": 0.5}})
    add_step(run, node_key="b", started_at=101.0, elapsed=3.0)

    page = cast.alice.client.get(f"/runs/{run.pk}/").content.decode()

    assert '<rect x="0.00" y="1" width="25.00"' in page
    assert '<rect x="25.00" y="1" width="75.00"' in page
    assert "$0.5000" in page
