"""Which runs recalled an entry, for those who may see both."""

from typing import Any

import pytest

from accounts.tenancy import tenant
from memory.models import Entry, Read
from tests.factories.workflows import make_run, make_workflow
from tests.support.cast import Cast


pytestmark = pytest.mark.django_db

ENTRIES = "/api/v1/memory/entries"
PLACE = {"namespace": "global:default", "key": "hours", "value": "Nine to five."}


@pytest.fixture
def entry(cast: Cast) -> str:
    answer = cast.alice.client.post(ENTRIES, PLACE, content_type="application/json")
    return str(answer.json()["id"])


def make_read(cast: Cast, entry: str, run_id: object) -> None:
    with tenant([cast.team_a.pk]):
        Read.objects.create(
            team_id=cast.team_a.pk,
            entry=Entry.objects.unscoped().get(pk=entry),
            revision=1,
            run_id=str(run_id),
            node_id="recall",
            origin_key="k",
            score=0.5,
            injected=True,
        )


def test_runs_that_recalled_an_entry_are_listed_and_those_of_others_stay_hidden(
    cast: Cast, entry: str
) -> None:
    workflow = make_workflow(cast.alice, "Helpdesk")
    own, of_ada = make_run(cast.alice, workflow), make_run(cast.ada, workflow)
    for run in (own, of_ada):
        make_read(cast, entry, run.pk)

    page = cast.alice.client.get(f"{ENTRIES}/{entry}/recalled-by").json()

    assert (page["count"], page["next"]) == (2, None)
    hidden, shown = page["items"]
    assert (shown["run_id"], shown["workflow"], shown["node_id"]) == (
        str(own.pk),
        "Helpdesk",
        "recall",
    )
    assert (hidden["run_id"], hidden["workflow"], hidden["node_id"]) == (None, None, None)
    assert (hidden["score"], hidden["in_prompt"]) == (0.5, True)
    first = cast.alice.client.get(f"{ENTRIES}/{entry}/recalled-by?limit=1").json()
    rest = cast.alice.client.get(
        f"{ENTRIES}/{entry}/recalled-by?limit=1&cursor={first['next']}"
    ).json()
    assert first["items"] + rest["items"] == page["items"]


def test_entry_of_another_team_is_404_and_a_key_without_runs_sees_none(
    cast: Cast, entry: str, api_key: Any
) -> None:
    make_read(cast, entry, make_run(cast.alice, make_workflow(cast.alice)).pk)
    address = f"{ENTRIES}/{entry}/recalled-by"

    items = api_key(cast.alice, scopes={"memory:read"}).get(address).json()["items"]

    assert [row["run_id"] for row in items] == [None]
    assert cast.carol.client.get(address).status_code == 404
