"""A viewer starts what is published, and no draft, whichever page or route it is asked by."""

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.access import grant
from accounts.tenancy import tenant
from tests.factories.workflows import make_run, make_version, make_workflow
from tests.support.cast import Cast, Person
from tests.workflows.views.conftest import text_of
from workflows.models import Run, Workflow
from workflows.services.data_sets.cases import add_cases, make_case
from workflows.services.data_sets.data_sets import load_tests


pytestmark = pytest.mark.django_db

JSON = "application/json"


@pytest.fixture
def workflow(cast: Cast) -> Workflow:
    return make_workflow(cast.alice)


@pytest.mark.parametrize("address", ["start", "try", "say", "try_workflow"])
def test_viewer_starts_no_draft_on_a_page(cast: Cast, workflow: Workflow, address: str) -> None:
    url = reverse(f"workflows:{address}", args=[workflow.pk])
    form = {"text": "hi", "input-text": "hi", "query": "hi", "debug": '{"memory": "sandbox"}'}

    statuses = [person.client.post(url, form).status_code for person in (cast.vic, cast.carol)]

    assert statuses == [403, 404]
    with tenant([workflow.team_id]):
        assert not Run.objects.unscoped().exists()


def test_viewer_repeats_no_run_of_a_draft(cast: Cast, workflow: Workflow) -> None:
    runs = {
        person: make_run(person, workflow, status="succeeded", finished_at=timezone.now())
        for person in (cast.vic, cast.bob)
    }
    make_version(cast.alice, workflow)

    def repeat(person: Person) -> tuple[bool, int]:
        url = reverse("workflows:run_again", args=[runs[person].pk])
        page = text_of(person.client.get(reverse("workflows:run", args=[runs[person].pk])))
        return url in page, person.client.post(url).status_code

    assert (repeat(cast.vic), repeat(cast.bob)) == ((False, 403), (True, 302))


def test_viewer_of_a_workflow_evaluates_none_of_its_drafts(cast: Cast, workflow: Workflow) -> None:
    """A viewer who may edit another workflow could choose its tests for the evaluation."""
    version, tests = make_version(cast.alice, workflow), make_workflow(cast.alice, "Own tests")
    grant(cast.vic.user, "workflow.edit", tests)
    case = make_case(inputs={"text": "hi"}, expected="hi")
    data_set = load_tests(tests)
    add_cases(cast.alice.principal, data_set, [case])

    def evaluate(name: str) -> list[int]:
        form = {"workflow": str(workflow.pk), "scorer": "exact"}
        page = cast.vic.client.post(
            f"/data-sets/{data_set.pk}/evaluate/", {**form, "version": name}
        )
        body = {"workflow": str(workflow.pk), "versions": [name], "scorer": "exact"}
        path = f"/api/v1/data-sets/{data_set.pk}/evaluations"
        return [page.status_code, cast.vic.client.post(path, body, content_type=JSON).status_code]

    assert evaluate("draft") == [403, 403]
    assert evaluate(str(version.number)) == [302, 202]
