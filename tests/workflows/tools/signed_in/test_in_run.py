"""A run whose connection needs a new sign-in says so at its node, with the connection."""

import pytest

from accounts.tenancy import tenant
from tests.factories.workflows import make_workflow
from tests.workflows.tools.signed_in.conftest import reload
from workflows.execution.evaluation.running import run_next_case
from workflows.models import EvaluationResult, SignInStatus, Step
from workflows.services import tools
from workflows.services.debugging import cases


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
CASE = {
    "name": "Adds",
    "checks": [{"of": "output.text", "operator": "contains", "value": "3"}],
}


def run(cast, connection):
    """Run the workflow once, and return its result and the step of the tool."""
    tools.choose_operations(
        cast.ada.principal, connection=connection, enabled={"add"}, approvals=set()
    )
    workflow = make_workflow(cast.alice, source=DOCUMENT)
    case = cases.save_case(cast.alice.principal, workflow=workflow, spec=CASE)
    (queued,) = cases.run_cases(cast.alice.principal, workflow=workflow, cases=[case])
    run_next_case(cast.team_a.pk, queued.evaluation_id)
    with tenant([cast.team_a.pk]):
        result = EvaluationResult.objects.unscoped().get(pk=queued.pk)
        step = Step.objects.unscoped().filter(node_key="add").first()
    return result, step


def test_run_renews_the_token_that_it_needs(cast, signed_in, server):
    server.end_tokens()

    result, _step = run(cast, signed_in)

    assert result.verdict == "passed", result.detail
    assert len(server.mcp.calls) == 1


def test_run_names_the_connection_at_its_node(cast, signed_in, server):
    server.end_tokens()
    server.refresh_tokens.clear()

    result, step = run(cast, signed_in)

    assert result.verdict != "passed"
    assert "'Desk' needs a new sign-in" in step.error
    assert reload(signed_in).sign_in.status == SignInStatus.AGAIN
