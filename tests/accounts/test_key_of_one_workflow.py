"""A key for one workflow: how it is created, what it finds, and what it can't do. The access matrix asks every route."""

import re
from typing import Any
from uuid import UUID

import pytest
from django.apps import apps
from django.urls import reverse

from accounts import services
from accounts.access import can
from accounts.errors import InvalidChoice, NotFound
from accounts.models import ApiKey
from accounts.roles import SCOPES
from accounts.tenancy import OUTSIDE_WORKFLOWS, TenantModel, tenant
from tests.factories.workflows import make_version, make_workflow
from tests.support.cast import Cast, KeyClient, Person
from tests.support.markup import markup_of
from workflows.models import Workflow


pytestmark = pytest.mark.django_db


@pytest.fixture
def workflow(alice: Person) -> Workflow:
    workflow = make_workflow(alice, "Helpdesk")
    make_version(alice, workflow)
    return workflow


@pytest.fixture
def client(alice: Person, workflow: Workflow) -> KeyClient:
    return KeyClient(*issue(alice, workflow.pk))


def issue(person: Person, workflow_id: UUID, *scopes: str) -> tuple[ApiKey, str]:
    return services.issue_key(
        principal=person.principal,
        team=person.team,
        name="shop",
        scopes=scopes or set(SCOPES),
        workflow_id=workflow_id,
    )


def newest(person: Person) -> ApiKey:
    with tenant([person.team.pk]):
        return ApiKey.objects.unscoped().select_related("workflow").latest("created_at")


def test_models_of_workflows_all_tell_how_a_row_leads_to_its_workflow():
    models = [
        m for m in apps.get_app_config("workflows").get_models() if issubclass(m, TenantModel)
    ]

    assert [m.__name__ for m in models if m.workflow_lookup == OUTSIDE_WORKFLOWS] == []


def test_key_lists_reads_and_runs_its_own_workflow_only(
    alice: Person, workflow: Workflow, client: KeyClient
):
    other = make_workflow(alice, "Payroll")
    listed = client.get("/api/v1/workflows").json()
    inputs: dict[str, Any] = {"inputs": {"text": "hi"}, "version": "draft"}

    assert [row["name"] for row in listed["items"]] == ["Helpdesk"]
    assert client.get(f"/api/v1/workflows/{workflow.pk}").status_code == 200
    assert client.get(f"/api/v1/workflows/{other.pk}").status_code == 404
    started = [
        client.post(f"/api/v1/workflows/{pk}/runs", inputs, content_type="application/json")
        for pk in (workflow.pk, other.pk)
    ]
    assert [answer.status_code for answer in started] == [202, 404]
    assert client.get(f"/api/v1/runs/{started[0].json()['id']}").status_code == 200


def test_key_names_its_workflow_and_uses_memory_as_its_permissions_say(
    workflow: Workflow, client: KeyClient
):
    assert client.get("/api/v1/me").json()["key"]["workflow"] == str(workflow.pk)
    assert client.get("/api/v1/memory/namespaces").status_code == 200


def test_key_has_no_right_in_the_team_or_to_a_workflow_that_was_found_another_way(
    alice: Person, workflow: Workflow, client: KeyClient
):
    other = make_workflow(alice, "Payroll")
    principal = services.authenticate_key(client.secret)

    assert principal is not None
    assert can(principal, "workflow.edit", workflow)
    assert not can(principal, "workflow.edit", other)
    assert not can(principal, "workflow.create", alice.team)
    assert can(principal, "memory.view", alice.team)


def test_key_for_a_workflow_of_another_team_or_with_the_audit_trail_is_refused(
    cast: Cast, workflow: Workflow
):
    foreign = make_workflow(cast.carol, "Foreign")

    with pytest.raises(NotFound):
        issue(cast.alice, foreign.pk)
    with pytest.raises(InvalidChoice):
        issue(cast.alice, workflow.pk, "audit:read")


def test_api_creates_a_key_for_a_workflow(alice: Person, workflow: Workflow):
    body = {"name": "shop", "scopes": ["runs:write"], "workflow": str(workflow.pk)}

    answer = alice.client.post(
        f"/api/v1/teams/{alice.team.pk}/keys", body, content_type="application/json"
    )

    assert answer.status_code == 201
    assert answer.json()["workflow"] == str(workflow.pk)
    listed = alice.client.get(f"/api/v1/teams/{alice.team.pk}/keys").json()["items"]
    assert [row["workflow"] for row in listed] == [str(workflow.pk)]


def test_page_of_the_keys_offers_the_workflow_and_lists_it(alice: Person, workflow: Workflow):
    page = reverse("accounts:keys")
    offered = markup_of(alice.client.get(page, {"workflow": str(workflow.pk)}))
    body = {"name": "Bot", "preset": "run", "workflow": str(workflow.pk), "days": "30"}

    made = markup_of(alice.client.post(page, body))

    assert f'<option value="{workflow.pk}" selected>Helpdesk</option>' in offered
    assert newest(alice).workflow == workflow
    assert f'<a href="/workflows/{workflow.pk}/">Helpdesk</a>' in made


def test_publish_dialog_creates_a_key_for_the_workflow_without_leaving_it(
    alice: Person, workflow: Workflow
):
    dialog = markup_of(alice.client.get(f"/workflows/{workflow.pk}/", {"published": "1"}))
    made = markup_of(alice.client.post(f"/workflows/{workflow.pk}/key/"))

    key = newest(alice)
    assert f'hx-post="/workflows/{workflow.pk}/key/"' in dialog
    assert (key.workflow, key.name) == (workflow, "Helpdesk")
    assert key.scopes == ["runs:read", "runs:write", "workflows:read"]
    assert f'readonly value="{key.prefix}' in made


def test_publish_dialog_sends_a_member_who_cannot_create_keys_to_an_admin(
    cast: Cast, workflow: Workflow
):
    dialog = markup_of(cast.bob.client.get(f"/workflows/{workflow.pk}/", {"published": "1"}))

    assert "Ask an admin of your team" in dialog
    assert cast.bob.client.post(f"/workflows/{workflow.pk}/key/").status_code == 403


def test_key_of_a_workflow_looks_as_clients_of_dify_expect(alice: Person, workflow: Workflow):
    key, secret = issue(alice, workflow.pk)

    assert re.fullmatch(r"app-[A-Za-z0-9]{24}", secret)
    assert key.prefix == secret[:10]
    assert services.authenticate_key(secret) is not None
