"""Addresses that are written in another way than the servers write them: with the scheme's own port, in capitals, in Unicode."""

from collections.abc import Mapping
from typing import Any

import httpx2
import pytest
from django.urls import reverse

from accounts.tenancy import tenant
from tests.support.cases import for_each
from tests.workflows.tools.signed_in.conftest import reload
from workflows.engine.errors import ToolFailed
from workflows.models import ToolSignIn
from workflows.tools.challenges import Challenge
from workflows.tools.mcp.sign_in.discovery import AuthorizationServer, discover
from workflows.tools.signed_in.renewal import read_token
from workflows.tools.signed_in.urls import have_same_origin, normalize_url


RESOURCE_PATH = "/.well-known/oauth-protected-resource"
SERVER_PATH = "/.well-known/oauth-authorization-server"
# As a person enters it → as the server at it calls itself.
WRITINGS = {
    "https://mcp.example.com:443/mcp": "https://mcp.example.com/mcp",
    "http://mcp.example.com:80/mcp": "http://mcp.example.com/mcp",
    "https://mcp.example.com/mcp": "https://mcp.example.com:443/mcp",
    "https://MCP.Example.com:443/mcp": "https://mcp.example.com/mcp",
    "https://mcp.example.com:8443/mcp": "https://mcp.example.com:8443/mcp",
    "https://[2001:DB8::1]:443/mcp": "https://[2001:db8::1]/mcp",
    "https://bücher.example/mcp": "https://xn--bcher-kva.example/mcp",
    "https://mcp.example.com:443": "https://mcp.example.com",
}
OTHERS = {
    "https://mcp.example.com:443/mcp": "https://mcp.example.com:8443/mcp",
    "https://mcp.example.com:80/mcp": "https://mcp.example.com/mcp",
    "http://mcp.example.com:443/mcp": "https://mcp.example.com/mcp",
    "https://mcp.example.com/mcp": "http://mcp.example.com:443/mcp",
    "https://mcp.example.com:443/Mcp": "https://mcp.example.com/mcp",
}


class Descriptions:
    """Exchanges with servers that answer with what they say about themselves."""

    def __init__(self, documents: Mapping[str, Mapping[str, Any]]) -> None:
        self._documents = documents

    async def send(self, _method: str, url: str, **_options: Any) -> httpx2.Response:
        document = self._documents.get(httpx2.URL(url).path)
        return httpx2.Response(404) if document is None else httpx2.Response(200, json=document)


def describe_resource(resource: str, issuer: str) -> dict[str, Any]:
    return {"resource": resource, "authorization_servers": [issuer]}


def describe_server(issuer: str) -> dict[str, Any]:
    return {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/authorize",
        "token_endpoint": f"{issuer}/token",
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
    }


async def find_server(url: str, documents: Mapping[str, Mapping[str, Any]]) -> AuthorizationServer:
    exchanges: Any = Descriptions(documents)
    return await discover(exchanges, url, Challenge())


@for_each("entered, written", WRITINGS.items())
async def test_resource_is_recognized_however_its_address_is_written(
    entered: str, written: str
) -> None:
    issuer = written.removesuffix("/mcp")
    documents = {
        RESOURCE_PATH: describe_resource(written, issuer),
        SERVER_PATH: describe_server(issuer),
    }

    server = await find_server(entered, documents)

    assert server.resource == normalize_url(written)
    server.check_issuer(issuer)  # however it is written


@for_each("entered, written", WRITINGS.items())
async def test_server_that_says_nothing_of_itself_is_its_own_authorization_server(
    entered: str, written: str
) -> None:
    documents = {SERVER_PATH: describe_server(written.removesuffix("/mcp"))}

    server = await find_server(entered, documents)

    assert server.resource == normalize_url(written)


@pytest.mark.parametrize(("entered", "written"), OTHERS.items())
async def test_resource_at_another_port_scheme_or_path_is_another(
    entered: str, written: str
) -> None:
    documents = {RESOURCE_PATH: describe_resource(written, "https://auth.example.com")}

    with pytest.raises(ToolFailed, match="describes another server"):
        await find_server(entered, documents)


async def test_issuer_with_the_port_of_its_scheme_comes_back_as_itself_only() -> None:
    issuer = "https://auth.example.com:443"
    documents = {
        RESOURCE_PATH: describe_resource("https://mcp.example.com/mcp", issuer),
        SERVER_PATH: describe_server(issuer),
    }

    server = await find_server("https://mcp.example.com/mcp", documents)

    for name in (issuer, "https://auth.example.com"):
        server.check_issuer(name)
    for name in ("https://auth.example.com:8443", "https://auth.example.com/", "http://auth.example.com"):  # fmt: skip
        with pytest.raises(ToolFailed, match="server that was asked"):
            server.check_issuer(name)


@pytest.mark.parametrize(
    ("url", "is_same"),
    [
        ("https://mcp.example.com:443/other", True),
        ("https://MCP.example.com", True),
        ("https://mcp.example.com:444/mcp", False),
        ("http://mcp.example.com:443/mcp", False),
        ("https://mcp.example.com.evil.example/mcp", False),
        ("no address", False),
    ],
)
def test_origin_is_that_of_scheme_host_and_port(url: str, is_same: bool) -> None:
    assert have_same_origin(url, "https://mcp.example.com/mcp") is is_same


@pytest.mark.django_db
def test_token_is_for_the_connection_however_its_address_is_written(signed_in: Any) -> None:
    with tenant([signed_in.team_id]):
        rows = ToolSignIn.objects.unscoped().filter(connection=signed_in)
        rows.update(resource="https://mcp.example.com/mcp")
    sign_in = reload(signed_in).sign_in
    urls = ("https://mcp.example.com:443/mcp", "https://mcp.example.com:444/mcp")

    tokens = []
    for sign_in.connection.url in urls:
        tokens.append(read_token(sign_in))

    assert (tokens[0] is not None, tokens[1]) == (True, None)


@pytest.mark.django_db
def test_installation_names_itself_as_servers_write_it(cast: Any, settings: Any) -> None:
    settings.PUBLIC_URL = "https://flows.example:443"

    document = cast.ada.client.get(reverse("workflows:sign_in_client")).json()

    assert document["redirect_uris"] == ["https://flows.example/tools/sign-in/"]
    assert document["client_id"] == "https://flows.example/tools/sign-in/client.json"
