"""Test cases call the APIs and MCP servers that their team has connected."""

import json

import pytest

from accounts.tenancy import tenant
from tests.factories.workflows import make_workflow
from tests.fakes.http_server import FakeHttp, Reply
from tests.support.cast import Cast
from workflows.execution.evaluation.running import run_next_case
from workflows.models import EvaluationResult
from workflows.services.debugging import cases
from workflows.services.tools import connect_openapi


DESCRIPTION = {
    "openapi": "3.0.3",
    "info": {"title": "Library", "version": "1"},
    "paths": {"/books": {"get": {"operationId": "find"}}},
}
FIND = {
    "type": "tool",
    "title": "Find",
    "provider_type": "api",
    "provider_id": "library",
    "tool_name": "find",
}
DOCUMENT = {
    "version": "0.1.0",
    "nodes": [
        {"id": "start", "data": {"type": "start", "variables": []}},
        {"id": "find", "data": FIND},
        {
            "id": "end",
            "data": {
                "type": "end",
                "outputs": [{"variable": "text", "value_selector": ["find", "text"]}],
            },
        },
    ],
    "edges": [
        {"id": "a", "source": "start", "target": "find"},
        {"id": "b", "source": "find", "target": "end"},
    ],
}
CASE = {
    "name": "Finds the book",
    "checks": [{"of": "output.text", "operator": "contains", "value": "Solaris"}],
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("loopback")
def test_case_calls_an_operation_of_a_connected_api(cast: Cast):
    alice, team = cast.alice.principal, cast.team_a.pk
    with FakeHttp() as server:
        server.answers(Reply(200, b"Solaris"))
        document = json.dumps(DESCRIPTION | {"servers": [{"url": server.base_url}]})
        connect_openapi(cast.ada.principal, team_id=team, document=document)
        workflow = make_workflow(cast.alice, source=DOCUMENT)
        case = cases.save_case(alice, workflow=workflow, spec=CASE)

        (queued,) = cases.run_cases(alice, workflow=workflow, cases=[case])
        run_next_case(team, queued.evaluation_id)

    with tenant([team]):
        result = EvaluationResult.objects.unscoped().get(pk=queued.pk)
    assert result.verdict == "passed", result.detail
