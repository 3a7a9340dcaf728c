"""Models: which workflows a key lists, and what their ids pin."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

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


def test_model_is_found_without_the_documents_of_the_others(
    cast: Cast, api_key: Callable[..., KeyClient], django_assert_num_queries: Any
):
    workflows = [make_workflow(cast.alice, name) for name in ("Echo", "Echo two", "Echo three")]
    for workflow in workflows:
        make_version(cast.alice, workflow)
    principal = KeyPrincipal(api_key(cast.alice).key)

    for model_id in (workflows[1].slug, str(workflows[1].pk)):
        with tenant([cast.team_a.pk]), django_assert_num_queries(1) as seen:
            model = find_model(principal, cast.team_a.pk, model_id)

        assert model.workflow == workflows[1]
        (query,) = seen.captured_queries
        assert f"'{model_id}'" in query["sql"] or workflows[1].pk.hex in query["sql"]


@pytest.mark.parametrize("model_id", ["", "\0", "other", "echo\0", "a" * 200, str(UUID(int=0))])
def test_model_that_is_not_there_names_those_that_are(
    cast: Cast, api_key: Callable[..., KeyClient], model_id: str
):
    make_version(cast.alice, make_workflow(cast.alice, "Echo"))
    principal = KeyPrincipal(api_key(cast.alice).key)

    with (
        tenant([cast.team_a.pk]),
        pytest.raises(ModelNotFound, match="Models of this API key: echo"),
    ):
        find_model(principal, cast.team_a.pk, model_id)
