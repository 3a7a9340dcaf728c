"""The transport: who may connect, and what is answered to messages that no client should send."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.factories.workflows import make_version, make_workflow
from tests.support.cast import Cast, KeyClient
from tests.workflows.mcp_server.messages import ask, list_tool_names, post


pytestmark = pytest.mark.django_db(transaction=True)

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.fixture
def client(cast: Cast, api_key: Callable[..., KeyClient]) -> KeyClient:
    return api_key(cast.alice)


def test_connection_begins_with_the_version_that_the_client_asked_for(client: KeyClient) -> None:
    answer = ask(
        client,
        "initialize",
        protocolVersion="2025-06-18",
        capabilities={},
        clientInfo={"name": "test", "version": "1"},
    )["result"]

    assert answer["protocolVersion"] == "2025-06-18"
    assert answer["serverInfo"]["name"] == "mnemoflow"
    assert set(answer["capabilities"]) >= {"tools", "resources"}
    assert "memory_search" in answer["instructions"]


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer mf_wrong"}])
def test_without_a_valid_key_nothing_is_answered(headers: dict[str, str]) -> None:
    response = post(Client(), PING, **headers)

    assert response.status_code == 401
    assert response["WWW-Authenticate"].startswith("Bearer")


def test_session_of_a_member_is_no_key(cast: Cast) -> None:
    assert post(cast.alice.client, PING).status_code == 401


def test_page_of_another_site_is_refused(client: KeyClient) -> None:
    assert post(client, PING, Origin="http://testserver").status_code == 200
    assert post(client, PING, Origin="https://evil.example").status_code == 403
    assert post(client, PING, Origin="null").status_code == 403


def test_address_and_header_that_name_different_persons_are_refused(client: KeyClient) -> None:
    answer = post(client, PING, "/mcp/?user=mia", **{"X-Mnemoflow-User": "tom"})

    assert answer.status_code == 403


@pytest.mark.parametrize("method", ["get", "delete", "put"])
def test_there_are_no_sessions_and_no_streams_of_the_server(client: KeyClient, method: str) -> None:
    assert getattr(client, method)("/mcp/").status_code == 405


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("{", -32700),
        ('{"a": NaN}', -32700),
        ([PING], -32600),
        ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, -32600),
        ("7", -32600),
        ("", -32700),
    ],
)
def test_what_is_no_message_is_refused_with_the_code_of_json_rpc(
    client: KeyClient, body: Any, code: int
) -> None:
    response = post(client, body)

    assert (response.status_code, response.json()["error"]["code"]) == (400, code)


def test_unknown_version_of_the_protocol_is_refused(client: KeyClient) -> None:
    response = post(client, PING, **{"MCP-Protocol-Version": "1999-01-01"})

    assert response.status_code == 400
    assert "1999-01-01" in response.json()["error"]["message"]


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 4, "result": {}},
    ],
)
def test_notifications_and_responses_are_only_taken(client: KeyClient, message: Any) -> None:
    response = post(client, message)

    assert (response.status_code, response.content) == (202, b"")


@pytest.mark.parametrize(
    ("method", "params"),
    [("prompts/list", {}), ("no/such", {}), ("tools/call", {"arguments": {}})],
)
def test_wrong_requests_are_answered_with_an_error(
    client: KeyClient, method: str, params: dict[str, Any]
) -> None:
    assert "error" in ask(client, method, **params)


@pytest.mark.parametrize("uri", ["file:///etc/passwd", "mnemoflow://knowledge/x", "mnemoflow://a"])
def test_other_resources_are_not_there(client: KeyClient, uri: str) -> None:
    assert ask(client, "resources/read", uri=uri)["error"]["code"] == -32002


def test_key_that_may_not_read_workflows_is_offered_none(
    cast: Cast, api_key: Callable[..., KeyClient]
) -> None:
    make_version(cast.alice, make_workflow(cast.alice))
    runs = {"runs:read", "runs:write"}

    assert list_tool_names(api_key(cast.alice, scopes=runs)) == []
    assert "get_run_result" in list_tool_names(
        api_key(cast.alice, scopes={*runs, "workflows:read"})
    )
