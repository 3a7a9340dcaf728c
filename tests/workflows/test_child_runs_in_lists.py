"""Runs that other runs started, in lists, on the pages of both, and in the API."""

from typing import Any

import pytest

from accounts.tenancy import tenant
from tests.support.cast import Cast
from workflows.models import Run, Workflow
from workflows.services.catalog import importing
from workflows.services.runs.runs import cancel_run, start_run


pytestmark = pytest.mark.django_db


def build(cast: Cast, name: str) -> Workflow:
    document = {
        "version": "0.1.0",
        "nodes": [
            {"id": "start", "data": {"type": "start", "title": "Start", "variables": []}},
            {"id": "end", "data": {"type": "end", "title": "End", "outputs": []}},
        ],
        "edges": [{"id": "e", "source": "start", "target": "end"}],
    }
    return importing.import_document(
        cast.alice.principal, team_id=cast.team_a.pk, source=document, name=name
    ).workflow


@pytest.fixture
def family(cast: Cast) -> dict[str, Run]:
    parent = start_run(cast.alice.principal, workflow=build(cast, "Outer"))
    child = start_run(cast.alice.principal, workflow=build(cast, "Inner"))
    with tenant([cast.team_a.pk]):
        Run.objects.unscoped().filter(pk=child.pk).update(parent=parent, parent_key="k")
        return {
            "parent": Run.objects.unscoped().get(pk=parent.pk),
            "child": Run.objects.unscoped().get(pk=child.pk),
        }


def list_ids(cast: Cast, query: str) -> list[str]:
    answer: Any = cast.alice.client.get(f"/api/v1/runs?{query}").json()
    return [item["id"] for item in answer["items"]]


def test_list_counts_children_only_when_asked(cast: Cast, family: dict[str, Run]) -> None:
    parent, child = str(family["parent"].pk), str(family["child"].pk)

    assert list_ids(cast, "") == [parent]
    assert sorted(list_ids(cast, "children=true")) == sorted([parent, child])
    assert list_ids(cast, f"parent={parent}") == [child]
    assert cast.alice.client.get(f"/api/v1/runs/{child}").json()["parent_id"] == parent


def test_page_shows_a_child_under_its_parent(cast: Cast, family: dict[str, Run]) -> None:
    page = cast.alice.client.get("/runs/").content.decode()

    assert page.index("Outer") < page.index("↳") < page.index("Inner")
    assert "↳" not in cast.bob.client.get("/runs/").content.decode()


def test_pages_of_parent_and_child_link_to_each_other(cast: Cast, family: dict[str, Run]) -> None:
    parent, child = family["parent"], family["child"]

    of_parent = cast.alice.client.get(f"/runs/{parent.pk}/").content.decode()
    of_child = cast.alice.client.get(f"/runs/{child.pk}/").content.decode()

    assert f'href="/runs/{child.pk}/"' in of_parent
    assert "Run of Outer" in of_child
    assert f'href="/runs/{parent.pk}/"' in of_child


def test_stopping_a_queued_parent_asks_its_children_to_stop(
    cast: Cast, family: dict[str, Run]
) -> None:
    cancel_run(cast.alice.principal, family["parent"])

    with tenant([cast.team_a.pk]):
        child = Run.objects.unscoped().get(pk=family["child"].pk)
    assert child.cancel_requested_at is not None
