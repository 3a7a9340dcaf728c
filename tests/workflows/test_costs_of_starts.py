"""How many statements the start of a run takes through each API: each is part of the time to the first token."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test.utils import CaptureQueriesContext

from accounts.principals import KeyPrincipal
from accounts.roles import SCOPES
from accounts.services import issue_key
from accounts.tenancy import tenant
from tests.factories.workflows import make_version
from tests.support.cast import Cast, KeyClient
from workflows.execution.ports.workflow_tools import get_tool_name
from workflows.mcp_server.callers import Caller
from workflows.mcp_server.workflow_tools import _start_once, find_workflow_tool
from workflows.models import Workflow
from workflows.services.samples.samples import copy_sample


# A test's transaction has savepoints where a request has transactions. The last line of each start is that of the audit trail.
pytestmark = pytest.mark.django_db

ANSWER = {"model": "", "messages": [{"role": "user", "content": "Hello?"}], "stream": True}
MESSAGE = {"query": "Hello?", "inputs": {}, "user": "ana", "response_mode": "streaming"}


def ask_own_api(key: KeyClient, chat: Workflow) -> Any:
    body = {"query": "Hello?", "user": "ana"}
    return key.post(f"/api/v1/workflows/{chat.pk}/runs", body, "application/json")


def ask_openai_api(key: KeyClient, chat: Workflow) -> Any:
    body = {**ANSWER, "model": chat.slug, "user": "ana"}
    return key.post("/openai/v1/chat/completions", body, "application/json")


def ask_dify_api(key: KeyClient, chat: Workflow) -> Any:
    return key.post("/v1/chat-messages", MESSAGE, "application/json")


def ask_over_mcp(key: KeyClient, chat: Workflow) -> Any:
    """A call starts the run in a thread of its own; this is what it does there."""
    caller = Caller(KeyPrincipal(key.key), key.key.team_id, "ana", "")
    with tenant([key.key.team_id]):
        assert find_workflow_tool(caller, get_tool_name(chat)) is not None
        _start_once(caller, chat.pk, {"query": "Hello?"})
    return HttpResponse()


@pytest.mark.parametrize(
    ("ask", "most"),
    [(ask_own_api, 19), (ask_openai_api, 16), (ask_dify_api, 20), (ask_over_mcp, 15)],
)
def test_start_of_a_run_takes_few_statements(
    cast: Cast, ask: Callable[[KeyClient, Workflow], Any], most: int
) -> None:
    chat = copy_sample(cast.alice.principal, team_id=cast.team_a.pk, slug="chatbot")
    make_version(cast.alice, chat)
    key, secret = issue_key(
        principal=cast.alice.principal, team=cast.team_a, name="costs",
        scopes={each for each in SCOPES if not each.startswith("team")}, workflow_id=chat.pk,
    )  # fmt: skip
    client = KeyClient(key, secret)
    assert ask(client, chat).status_code in (200, 201, 202)  # which reads the document

    with CaptureQueriesContext(connection) as queries:
        ask(client, chat)

    assert len(queries) == most, "\n".join(each["sql"][:110] for each in queries)
