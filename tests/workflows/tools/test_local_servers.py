"""MCP servers on this machine: found on the page Tools and connected by one click, if the operator allows it."""

import re
from typing import Any

import pytest
from django.urls import reverse

from config.env import Env
from config.net import clients
from tests.fakes.mcp_server import FakeMcp
from workflows.errors import InvalidValue
from workflows.services import tools
from workflows.services.tools import local_servers


pytestmark = pytest.mark.django_db

PAGE = "/tools/"


@pytest.fixture
def addresses(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses at which servers are looked for; port 1 stands for those where nobody listens."""
    listed = ["http://127.0.0.1:1/mcp"]
    monkeypatch.setattr(local_servers, "ADDRESSES", listed)
    return listed


@pytest.fixture
def local_mcp(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """As LOCAL_MCP=1 does, and no entry of NET_ALLOW."""
    settings.LOCAL_MCP = True
    made = Env(local_mcp=True, _env_file=None)
    monkeypatch.setattr(clients, "env", lambda: made)


@pytest.mark.usefixtures("local_mcp")
def test_server_is_found_and_connected_by_one_click(cast: Any, addresses: list[str]) -> None:
    address = reverse("workflows:local_tool_servers")
    with FakeMcp() as server:
        addresses.append(server.url)
        listed = cast.ada.client.get(PAGE).content.decode()
        found = cast.ada.client.get(address).content.decode()
        action = re.search(r'action="([^"]+)"', found)
        fields = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]+)"', found))
        assert action is not None
        page = cast.ada.client.post(action[1], fields, follow=True).content.decode()
        again = cast.ada.client.get(address).content.decode()

    assert address in listed
    assert "fake is running on this machine" in found
    assert fields["url"] == server.url
    assert "add" in page
    assert "is running on this machine" not in again  # it is connected


@pytest.mark.usefixtures("local_mcp")
def test_server_without_tools_and_what_is_none_are_not_offered(
    cast: Any, addresses: list[str]
) -> None:
    with FakeMcp(tools=[]) as empty:
        addresses.append(empty.url)
        found = local_servers.find_local_servers(cast.ada.principal, cast.team_a.pk)

    assert found == []
    assert empty.messages


@pytest.mark.usefixtures("local_mcp")
def test_own_port_is_not_asked(cast: Any, addresses: list[str]) -> None:
    with FakeMcp() as server:
        addresses.append(server.url)
        port = int(server.url.split(":")[2].split("/")[0])
        found = local_servers.find_local_servers(cast.ada.principal, cast.team_a.pk, own_port=port)

    assert (found, server.messages) == ([], [])


def test_nothing_on_this_machine_is_called_unless_the_operator_allows_it(
    cast: Any, addresses: list[str], settings: Any
) -> None:
    settings.LOCAL_MCP = False
    address = reverse("workflows:local_tool_servers")
    with FakeMcp() as server:
        addresses.append(server.url)
        listed = cast.ada.client.get(PAGE).content.decode()
        found = cast.ada.client.get(address).content.decode()
        port = server.url.split(":")[2].split("/")[0]
        with pytest.raises(InvalidValue, match=rf"NET_ALLOW=127\.0\.0\.1:{port}"):
            tools.connect_mcp(cast.ada.principal, team_id=cast.team_a.pk, url=server.url)

    assert f'hx-get="{address}"' not in listed
    assert "is running" not in found
    assert server.messages == []


@pytest.mark.usefixtures("local_mcp")
def test_other_calls_still_reach_no_address_of_this_machine(cast: Any) -> None:
    with FakeMcp() as server, pytest.raises(InvalidValue, match="is blocked") as refused:
        tools.connect_openapi(cast.ada.principal, team_id=cast.team_a.pk, document_url=server.url)

    assert refused.value.field == "document_url"
    assert server.methods == []
