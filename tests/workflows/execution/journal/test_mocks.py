"""The mocks of a run are stored with the secrets of its workflow masked, and are executed with them."""

import json
from typing import Any

import pytest

from accounts.tenancy import tenant
from config.encryption.crypto import encrypt
from config.redaction import NO_REDACTION
from tests.factories.workflows import document, make_workflow
from tests.support.cast import Person
from workflows.execution.debugging.reused_steps import load_redactor
from workflows.execution.journal.mocks import mask_mocks, read_mocks, restore_mocks
from workflows.models import Run, Step, Workflow, WorkflowSecret
from workflows.services.runs.again import run_again


pytestmark = pytest.mark.django_db

SECRET = "correct-horse"
OUTPUTS = {"text": f"the key is {SECRET}"}


@pytest.fixture
def workflow(alice: Person) -> Workflow:
    """A workflow whose document has a secret variable."""
    variable = {"id": "k", "name": "KEY", "value_type": "secret", "value": ""}
    source = {**document(), "environment_variables": [variable]}
    template = {"type": "template-transform", "template": "hello", "variables": []}
    source["nodes"].insert(1, {"id": "greet", "data": template})
    source["edges"] = [
        {"id": f"{before}-{after}", "source": before, "target": after}
        for before, after in (("start", "greet"), ("greet", "end"))
    ]
    source["nodes"][-1]["data"]["outputs"][0]["value_selector"] = ["greet", "output"]
    made = make_workflow(alice, source=source)
    with tenant([made.team_id]):
        WorkflowSecret.objects.create(
            team_id=made.team_id, workflow=made, name="KEY", secret=encrypt(SECRET)
        )
    return made


def start(person: Person, workflow: Workflow, **body: Any) -> Run:
    content = {"inputs": {"text": "hi"}, "version": "draft", **body}
    path = f"/api/v1/workflows/{workflow.pk}/runs"
    answer = person.client.post(path, content, content_type="application/json")
    with tenant([workflow.team_id]):
        return Run.objects.unscoped().select_related("workflow").get(pk=answer.json()["id"])


def read(run: Run) -> object:
    with tenant([run.team_id]):
        mocks = read_mocks(run.mocks, load_redactor(run))
    mock = mocks.find("end", "end") if mocks is not None else None
    return mock.outputs if mock is not None else None


def test_mocks_are_stored_without_secrets_and_executed_with_them(
    alice: Person, workflow: Workflow
) -> None:
    run = start(alice, workflow, mocks={"end": {"outputs": OUTPUTS}})
    again = run_again(alice.principal, run)

    assert SECRET not in json.dumps([run.mocks, again.mocks])
    assert run.mocks != again.mocks
    assert read(run) == read(again) == OUTPUTS


def test_values_for_a_node_that_runs_alone_are_stored_without_secrets(
    alice: Person, workflow: Workflow
) -> None:
    run = start(alice, workflow, debug={"only": ["end"], "values": {"greet": {"output": SECRET}}})

    with tenant([run.team_id]):
        (step,) = Step.objects.unscoped().filter(run=run, node_key="greet")
        redactor = load_redactor(run)
    assert SECRET not in json.dumps(step.outputs)
    assert restore_mocks(step.outputs, redactor) == {"output": SECRET}


def test_mocks_of_a_workflow_without_secrets_stay_as_they_are() -> None:
    mocks = {"end": {"outputs": {"text": "hi"}}}

    assert mask_mocks(mocks, NO_REDACTION) is mocks
    assert mask_mocks(None, NO_REDACTION) is None
    assert read_mocks(None, NO_REDACTION) is None
