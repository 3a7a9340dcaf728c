"""Publishing is refused, with the cases named, unless the set of a workflow passes with what is to be published."""

import json
from typing import Any

import pytest
from django.urls import reverse

from accounts.tenancy import tenant
from tests.factories.workflows import make_workflow
from tests.support.cast import Cast, Person
from tests.workflows.test_cases import BAD, CHAT, GOOD, run_all
from tests.workflows.views.conftest import HTMX
from workflows.errors import CasesNotPassed, InvalidValue
from workflows.models import DataCase, DataSet, Version, Workflow
from workflows.services import publishing
from workflows.services.catalog.importing import load_source
from workflows.services.data_sets.cases import add_cases, delete_case, make_case
from workflows.services.data_sets.data_sets import delete_data_set, load_tests, save_data_set
from workflows.services.data_sets.publish_gate import change_gate
from workflows.services.debugging.cases import run_cases, save_case
from workflows.services.editor import drafts


pytestmark = pytest.mark.django_db


@pytest.fixture
def gated(alice: Person) -> Workflow:
    """Create a workflow whose two tests must pass; one of them fails."""
    workflow = make_workflow(alice, source=CHAT)
    for spec in (GOOD, BAD):
        save_case(alice.principal, workflow=workflow, spec=spec)
    change_gate(alice.principal, workflow=workflow, data_set=load_tests(workflow))
    return workflow


def run_tests(person: Person, workflow: Workflow, **options: Any) -> list[DataCase]:
    with tenant([workflow.team_id]):
        rows = DataCase.objects.unscoped().select_related("data_set__workflow")
        cases = list(rows.filter(data_set__workflow=workflow).order_by("rank"))
    results = run_cases(person.principal, workflow=workflow, cases=cases, **options)
    run_all(workflow.team_id, results[0].evaluation_id)
    return cases


def refuse(person: Person, workflow: Workflow) -> CasesNotPassed:
    with pytest.raises(CasesNotPassed) as refused:
        publishing.publish(person.principal, workflow=workflow)
    return refused.value


def test_cases_that_failed_or_were_not_run_with_the_draft_are_named(
    alice: Person, gated: Workflow
) -> None:
    before = refuse(alice, gated)
    run_tests(alice, gated, offline=True)
    offline = refuse(alice, gated)
    good, bad = run_tests(alice, gated)
    after = refuse(alice, gated)

    assert (before.failed, before.missing) == ((), ("Knows the cat", "Knows a dog"))
    assert (offline.failed, offline.missing) == (before.failed, before.missing)
    assert (after.failed, after.missing) == (("Knows a dog",), ())
    assert "Failed: Knows a dog." in str(after)
    delete_case(alice.principal, bad)
    assert publishing.publish(alice.principal, workflow=gated).number == 1
    save_case(alice.principal, workflow=gated, spec={**GOOD, "name": "Changed"}, case=good)
    version = make_version_of_draft(alice, gated)
    assert refuse_version(alice, gated, version).missing == ("Changed",)


def make_version_of_draft(person: Person, workflow: Workflow) -> Version:
    """Change the draft, and add a version of it."""
    source = json.loads(json.dumps(CHAT).replace(" known", " known here"))
    document, _warnings = load_source(source, confirm_newer=False)
    drafts.replace_draft(person.principal, workflow=workflow, document=document)
    return publishing.add_version(person.principal, workflow=workflow)


def refuse_version(person: Person, workflow: Workflow, version: Version) -> CasesNotPassed:
    with pytest.raises(CasesNotPassed) as refused:
        publishing.publish_version(person.principal, workflow=workflow, version=version)
    return refused.value


def test_page_and_api_refuse_with_the_names(alice: Person, gated: Workflow) -> None:
    run_tests(alice, gated)
    api = f"/api/v1/workflows/{gated.pk}"
    body: Any = {"content_type": "application/json"}

    page = alice.client.post(reverse("workflows:publish", args=[gated.pk]), {}, headers=HTMX)
    published = alice.client.post(f"{api}/publish", {}, **body)

    assert (page.status_code, published.status_code) == (409, 409)
    assert "Knows a dog" in page.json()["refused"]
    assert "Knows a dog" in page.json()["html"]
    assert 'data-open-panel="tests"' in page.json()["html"]
    assert "Knows a dog" in published.json()["error"]["message"]
    lifted = alice.client.put(f"{api}/publish-gate", {}, **body)
    assert lifted.json() == {"data_set": None}
    assert alice.client.post(f"{api}/publish", {}, **body).status_code == 201


def test_switch_is_on_the_panel_of_the_tests(cast: Cast, gated: Workflow) -> None:
    url = reverse("workflows:publish_gate", args=[gated.pk])
    shared = save_data_set(cast.alice.principal, team_id=gated.team_id, name="Shared")

    page = cast.alice.client.post(url, {"data_set": str(shared.pk)}).content.decode()

    assert f'value="{shared.pk}" selected' in " ".join(page.split())
    with tenant([gated.team_id]):
        assert Workflow.objects.unscoped().get(pk=gated.pk).must_pass_id == shared.pk
    seen = cast.vic.client.get(reverse("workflows:tests", args=[gated.pk])).content.decode()
    assert "Published only if these pass: Shared" in seen
    assert cast.vic.client.post(url, {}).status_code == 403


def test_set_of_another_workflow_is_no_condition_and_a_condition_is_not_deleted(
    alice: Person, gated: Workflow
) -> None:
    other = make_workflow(alice, "Other")
    shared = save_data_set(alice.principal, team_id=gated.team_id, name="Shared")
    add_cases(alice.principal, shared, [make_case("hi")])
    change_gate(alice.principal, workflow=gated, data_set=shared)

    with pytest.raises(InvalidValue):
        change_gate(alice.principal, workflow=gated, data_set=load_tests(other))
    with pytest.raises(InvalidValue, match=gated.name):
        delete_data_set(alice.principal, shared)
    with tenant([gated.team_id]):
        assert DataSet.objects.unscoped().filter(pk=shared.pk).exists()


def test_condition_and_scores_are_reached_without_tests_of_the_workflow_s_own(cast: Cast) -> None:
    workflow = make_workflow(cast.alice, source=CHAT)
    tests = reverse("workflows:tests", args=[workflow.pk])
    scores = reverse("workflows:scores", args=[workflow.pk])
    without = cast.alice.client.get(tests).content.decode()
    shared = save_data_set(cast.alice.principal, team_id=workflow.team_id, name="Shared")

    offered = cast.alice.client.get(tests).content.decode()
    change_gate(cast.alice.principal, workflow=workflow, data_set=shared)
    seen = cast.vic.client.get(tests).content.decode()

    assert scores not in without
    assert f'value="{shared.pk}"' in offered
    assert scores in offered
    assert "Published only if these pass: Shared" in seen
