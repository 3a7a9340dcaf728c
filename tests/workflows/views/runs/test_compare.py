"""Two runs side by side: what differed, and whose they must be."""

import pytest
from django.urls import reverse

from accounts.tenancy import tenant
from tests.factories.workflows import make_run, make_workflow
from tests.support.cast import Cast, Person
from tests.support.markup import markup_of
from workflows.models import Run, Step
from workflows.services.debugging.compare import Verdict, compare_steps, compare_values


def step(run: Run, node: str, **more) -> Step:
    given = {"kind": "llm", "status": "succeeded", **more}
    with tenant([run.team_id]):
        return Step.objects.create(team_id=run.team_id, run=run, node_key=node, **given)


@pytest.fixture
def two(alice: Person) -> tuple[Run, Run]:
    workflow = make_workflow(alice)
    first = make_run(alice, workflow, inputs={"text": "a"}, outputs={"text": "one\ntwo"})
    second = make_run(alice, workflow, inputs={"text": "a"}, outputs={"text": "one\nthree"})
    step(first, "start", kind="start")
    step(first, "think", outputs={"text": "same", "usage": {"n": 1}}, elapsed=1.0)
    step(first, "left", handle="true")
    step(second, "start", kind="start")
    step(second, "think", outputs={"text": "other", "usage": {"n": 2}}, elapsed=1.5)
    step(second, "right")
    return first, second


def steps_of(run: Run) -> list[Step]:
    with tenant([run.team_id]):
        return list(Step.objects.unscoped().filter(run=run).order_by("id"))


@pytest.mark.django_db
def test_pairs_say_what_is_the_same_what_differs_and_what_only_one_has(two):
    pairs = compare_steps(*map(steps_of, two))

    assert {pair.node: pair.verdict for pair in pairs} == {
        "start": Verdict.SAME,
        "think": Verdict.DIFFERENT,
        "left": Verdict.ONLY_FIRST,
        "right": Verdict.ONLY_SECOND,
    }
    think = next(pair for pair in pairs if pair.node == "think")
    assert [(d.side, d.name) for d in think.differences] == [("outputs", "text")]  # not the usage
    assert think.slower_by == pytest.approx(0.5)


def test_values_are_compared_line_by_line():
    (difference,) = compare_values("outputs", {"text": "one\ntwo"}, {"text": "one\nthree"})

    assert [(line.sign, line.text) for line in difference.lines] == [
        (" ", "one"),
        ("-", "two"),
        ("+", "three"),
    ]


@pytest.mark.django_db
def test_page_and_api_show_the_difference_to_who_may_see_both(cast: Cast, two):
    place = reverse("workflows:compare_runs", args=[two[0].pk, two[1].pk])

    page = markup_of(cast.alice.client.get(place))
    told = cast.alice.client.get(f"/api/v1/runs/{two[0].pk}/compare/{two[1].pk}").json()

    assert 'data-verdict="only-second"' in page
    assert "three" in page
    assert {node["node"]: node["verdict"] for node in told["nodes"]}["think"] == "different"
    assert cast.bob.client.get(place).status_code == 404


@pytest.mark.django_db
def test_run_of_somebody_else_beside_ones_own_is_not_there(cast: Cast, two):
    bobs = make_run(cast.bob, two[0].workflow)

    place = reverse("workflows:compare_runs", args=[two[0].pk, bobs.pk])

    assert cast.alice.client.get(place).status_code == 404
