"""A run says the same tokens, time and cost of itself on every page, in usage and over the API."""

import re

import pytest

from tests.factories.workflows import make_workflow
from tests.support.cast import Person
from tests.workflows.usage.test_counting import add_step, make_ended
from tests.workflows.views.conftest import text_of


pytestmark = pytest.mark.django_db

DAY = "since=2026-03-02&until=2026-03-02"


def test_run_has_the_same_numbers_on_every_page(alice: Person) -> None:
    workflow = make_workflow(alice, "Sorter")
    run = make_ended(alice, workflow, elapsed=0.446, prompt_tokens=1300, completion_tokens=55)
    usage = {"usage": {"provider": "acme", "cost": 0.25}}
    add_step(run, prompt_tokens=1300, completion_tokens=55, elapsed=0.446, outputs=usage)
    pages = [
        "/runs/",
        "/runs/team/",
        f"/runs/{run.pk}/",
        f"/usage/?{DAY}",
        f"/usage/?{DAY}&by=model",
    ]

    texts = {page: text_of(alice.client.get(page)) for page in pages}
    answer = alice.client.get(f"/api/v1/runs/{run.pk}").json()
    total = alice.client.get(f"/api/v1/usage?{DAY}").json()["total"]

    for page, text in texts.items():
        assert "1,355" in text, page
        assert "446 ms" in text, page
        assert "$0.25" in text, page
    assert answer["cost"] == total["cost"] == 0.25
    assert total["prompt_tokens"] + total["completion_tokens"] == 1355
    assert answer["elapsed"] == total["median_latency"] == total["p95_latency"] == 0.446


def test_costs_of_the_steps_are_those_of_the_run(alice: Person) -> None:
    run = make_ended(alice, make_workflow(alice))
    add_step(run, prompt_tokens=3, outputs={"usage": {"provider": "acme", "cost": 1.5}})
    apart = {"__usage": {"provider": "acme", "cost": 0.25}}
    add_step(run, node_key="keep", kind="memory-store", prompt_tokens=3, outputs=apart)

    page = text_of(alice.client.get(f"/runs/{run.pk}/"))

    assert re.findall(r"\$[\d.]+", page) == ["$1.75", "$1.50", "$0.2500"]


def test_run_that_has_just_ended_has_its_cost_on_its_page_and_over_the_api(alice: Person) -> None:
    workflow = make_workflow(alice, "Sorter")
    runs = [make_ended(alice, workflow) for _ in range(2)]
    for run in runs:
        add_step(run, prompt_tokens=3, outputs={"usage": {"provider": "acme", "cost": 1.5}})

    answer = alice.client.get(f"/api/v1/runs/{runs[0].pk}").json()
    page = text_of(alice.client.get(f"/runs/{runs[1].pk}/"))

    assert answer["cost"] == 1.5
    assert "$1.50" in page.split('id="run-head"')[1].split("</p>")[0]
