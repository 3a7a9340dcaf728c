"""A run whose connection needs a new sign-in says so at its node, with the connection."""

import pytest

from accounts.tenancy import tenant
from tests.factories.workflows import make_workflow
from tests.workflows.tools.signed_in.conftest import reload
from workflows.execution.worker import Worker
from workflows.models import Run, SignInStatus, Step
from workflows.services import tools
from workflows.services.runs.runs import start_run


pytestmark = pytest.mark.django_db(transaction=True)

ADD = {
    "type": "tool",
    "title": "Add",
    "provider_type": "mcp",
    "provider_id": "desk",
    "tool_name": "add",
    "tool_parameters": {
        "a": {"type": "constant", "value": 1},
        "b": {"type": "constant", "value": 2},
    },
}
DOCUMENT = {
    "version": "0.1.0",
    "nodes": [
        {"id": "start", "data": {"type": "start", "variables": []}},
        {"id": "add", "data": ADD},
        {
            "id": "end",
            "data": {
                "type": "end",
                "outputs": [{"variable": "text", "value_selector": ["add", "text"]}],
            },
        },
    ],
    "edges": [
        {"id": "a", "source": "start", "target": "add"},
        {"id": "b", "source": "add", "target": "end"},
    ],
}


def execute(cast, connection):
    """Run the workflow once, and return the run and the step of the tool."""
    tools.choose_operations(
        cast.ada.principal, connection=connection, enabled={"add"}, approvals=set()
    )
    workflow = make_workflow(cast.alice, source=DOCUMENT)
    run = start_run(cast.alice.principal, workflow=workflow, inputs={})
    worker = Worker(capacity=1)
    try:
        worker.execute_run(run.pk)
    finally:
        worker.stop(0)
    with tenant([cast.team_a.pk]):
        run = Run.objects.unscoped().get(pk=run.pk)
        return run, Step.objects.unscoped().get(run_id=run.pk, node_key="add")


def test_run_renews_the_token_that_it_needs(cast, signed_in, server):
    server.end_tokens()

    run, step = execute(cast, signed_in)

    assert (run.status, run.outputs) == ("succeeded", {"text": "3"}), step.error
    assert len(server.mcp.calls) == 1


def test_run_names_the_connection_at_its_node(cast, signed_in, server):
    server.end_tokens()
    server.refresh_tokens.clear()

    run, step = execute(cast, signed_in)

    assert run.status == "failed"
    assert "'Desk' needs a new sign-in" in step.error
    assert reload(signed_in).sign_in.status == SignInStatus.AGAIN
