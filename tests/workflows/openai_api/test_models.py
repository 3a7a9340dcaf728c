"""Models: which workflows a key lists, and what their ids pin."""

from collections.abc import Callable

import pytest

from accounts.principals import KeyPrincipal
from accounts.services import issue_key
from accounts.tenancy import tenant
from tests.factories.workflows import make_version, make_workflow
from tests.support.cast import Cast, KeyClient
from workflows.models import Workflow
from workflows.openai_api.errors import ModelNotFound
from workflows.openai_api.models import find_model
from workflows.services.editor import drafts


pytestmark = pytest.mark.django_db

ROOT = "/openai/v1/models"


def test_key_lists_the_published_workflows_that_it_may_run(
    cast: Cast, api_key: Callable[..., KeyClient]
):
    echo, bound = make_workflow(cast.alice, "Echo"), make_workflow(cast.alice, "Echo")
    for workflow in (echo, bound):
        make_version(cast.alice, workflow)
    make_workflow(cast.alice, "Draft")
    with tenant([cast.team_a.pk]):
        Workflow.objects.unscoped().filter(pk=echo.pk).update(name="Renamed")
    key, secret = issue_key(
        principal=cast.alice.principal, team=cast.team_a, name="bound",
        scopes={"workflows:read", "runs:read", "runs:write"}, workflow_id=bound.pk,
    )  # fmt: skip

    body = api_key(cast.alice).get(ROOT).json()
    of_bound = KeyClient(key, secret).get(ROOT).json()

    assert body["object"] == "list"
    assert [(each["id"], each["name"]) for each in body["data"]] == [
        ("echo", "Renamed"),
        (bound.slug, "Echo"),
    ]
    assert {(each["object"], each["owned_by"]) for each in body["data"]} == {("model", "Team A")}
    assert [each["id"] for each in of_bound["data"]] == [bound.slug]
    assert api_key(cast.carol).get(ROOT).json()["data"] == []


def test_ids_pin_versions_by_number_and_by_note(cast: Cast, api_key: Callable[..., KeyClient]):
    workflow = make_workflow(cast.alice, "Echo")
    make_version(cast.alice, workflow, note="First try\n\nwith more words")
    drafts.rename(cast.alice.principal, workflow=workflow, name="Echo again")
    make_version(cast.alice, workflow)
    key = api_key(cast.alice)
    principal = KeyPrincipal(key.key)

    def find(model_id: str) -> int | None:
        with tenant([cast.team_a.pk]):
            try:
                return find_model(principal, cast.team_a.pk, model_id).version.number
            except ModelNotFound:
                return None

    ids = (
        "echo",
        "echo@1",
        "echo@2",
        "echo@first-try",
        str(workflow.pk),
        "echo@3",
        "echo@x",
        "ech",
    )
    assert list(map(find, ids)) == [2, 1, 2, 1, 2, None, None, None]
    assert key.get(f"{ROOT}/echo@1").json()["id"] == "echo@1"
    assert key.get(f"{ROOT}/echo@3").status_code == 404
