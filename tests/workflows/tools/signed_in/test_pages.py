"""The pages of a sign-in: connect, continue to the server, come back, connected as, sign in again, disconnect."""

import re
from html import unescape

import pytest
from django.db import connections
from django.test import Client
from django.urls import reverse

from tests.workflows.tools.signed_in.conftest import change_sign_in, reload
from workflows.models import SignInStatus
from workflows.tools.mcp.sign_in import steps, tokens
from workflows.tools.signed_in.renewal import EXPIRED


pytestmark = pytest.mark.django_db

RETURN = "/tools/sign-in/"


@pytest.fixture
def ada(cast):
    return cast.ada.client


def show(client, connection):
    return client.get(reverse("workflows:tool_connection", args=[connection.pk])).content.decode()


def start(client, connection, **values):
    return client.post(reverse("workflows:sign_in_tools", args=[connection.pk]), values)


def find_address(response):
    (address,) = re.findall(r'href="(http[^"]+/authorize\?[^"]+)"', response.content.decode())
    return unescape(address)


def test_person_connects_a_server_by_its_pages(cast, ada, loopback, server):
    url = reverse("workflows:connect_tools", args=["mcp_http"])
    page = ada.post(url, {"url": server.url, "name": "Desk"}, follow=True)
    connection = page.context["connection"]
    assert "This server wants you to sign in" in page.content.decode()

    leaving = start(ada, connection)
    address = find_address(leaving)
    parameters = server.sign_in(address)
    page = ada.get(RETURN, parameters, follow=True)

    text = page.content.decode()
    assert server.origin.removeprefix("http://") in leaving.content.decode()
    assert page.redirect_chain == [
        (reverse("workflows:tool_connection", args=[connection.pk]), 302)
    ]
    assert ("Connected as" in text, (cast.ada.user.name or cast.ada.user.email) in text) == (
        True,
        True,
    )
    assert "Disconnect" in text
    assert "add" in [operation["name"] for operation in reload(connection).operations]
    for secret in (server.tokens[0].token, server.refresh_tokens[0].token, parameters["code"]):
        assert secret not in text
    assert ada.get(RETURN, parameters).status_code == 404  # taken once


def test_address_to_come_back_to_is_that_of_the_site(ada, connection, server, settings):
    settings.PUBLIC_URL = "https://flows.example/"

    server.sign_in(find_address(start(ada, connection)))

    assert server.asked[0]["redirect_uri"] == "https://flows.example/tools/sign-in/"


@pytest.mark.parametrize("name", ["alice", "bob", "vic", "carol"])
def test_nobody_else_comes_back_with_the_state(cast, ada, connection, server, name):
    parameters = server.sign_in(find_address(start(ada, connection)))

    assert cast.people[name].client.get(RETURN, parameters).status_code == 404
    assert cast.ada.client.get(RETURN, parameters).status_code == 404  # another session of hers
    assert ada.get(RETURN, parameters).status_code == 302


def test_cancelled_sign_in_is_told_on_the_page_of_the_connection(ada, connection, server):
    parameters = server.sign_in(find_address(start(ada, connection)))
    answer = {"state": parameters["state"], "error": "access_denied"}

    page = ada.get(RETURN, answer, follow=True)

    assert "The sign-in was cancelled." in page.content.decode()
    assert "This server wants you to sign in" in page.content.decode()


def test_client_id_is_asked_for_where_the_server_registers_none(ada, connection, server):
    server.metadata["registration_endpoint"] = None

    response = start(ada, connection)

    text = response.content.decode()
    assert response.status_code == 422
    assert ("Client ID" in text, "http://testserver/tools/sign-in/" in text) == (True, True)


def test_ended_sign_in_is_told_with_the_reason(cast, ada, signed_in):
    change_sign_in(signed_in, access_token=None, refresh_token=None, error="It was withdrawn.")

    page, list_ = show(ada, signed_in), ada.get(reverse("workflows:tools")).content.decode()

    assert ("The sign-in has ended" in page, "It was withdrawn." in page) == (True, True)
    assert page.count("Sign in again") == 1  # the button
    assert "Sign in again" in list_
    assert start(ada, signed_in).status_code == 200
    # An editor sees why, and whom to ask.
    page = show(cast.bob.client, signed_in)
    assert "An admin of the team can sign in." in page
    assert reverse("workflows:sign_in_tools", args=[signed_in.pk]) not in page


def test_sign_in_that_has_expired_is_told_once(ada, signed_in):
    change_sign_in(signed_in, access_token=None, refresh_token=None, error=EXPIRED)

    page = show(ada, signed_in)

    assert ("The sign-in has ended" in page, EXPIRED in page) == (True, False)
    assert "Workflows that use its tools fail until somebody signs in again." in page


def test_missing_permissions_are_told_of_a_sign_in_that_goes_on(ada, signed_in):
    change_sign_in(signed_in, error="The MCP server wants more permissions: admin")

    page = show(ada, signed_in)

    assert ("This server wants more permissions" in page, "admin" in page) == (True, True)
    assert "The sign-in has ended" not in page


def test_new_connection_asks_for_a_sign_in_or_a_key(ada, connection):
    page, list_ = show(ada, connection), ada.get(reverse("workflows:tools")).content.decode()

    assert "Only if the server gave you a key" in page
    assert "Replace" not in page  # there is no key yet
    assert ("Sign-in needed" in list_, "0 of 0" in list_) == (True, False)


def test_disconnected_page_offers_to_connect(ada, signed_in, server):
    url = reverse("workflows:sign_out_tools", args=[signed_in.pk])

    page = ada.post(url, follow=True).content.decode()

    assert "Disconnected." in page
    assert "This server wants you to sign in" in page
    assert server.tokens == []


def test_connection_says_over_the_api_whether_somebody_signed_in(cast, ada, signed_in):
    url = f"/api/v1/tools/connections/{signed_in.pk}"

    assert ada.get(url).json()["sign_in"] == "signed_in"
    assert ada.delete(f"{url}/sign-in").status_code == 204
    assert ada.get(url).json()["sign_in"] == "needed"
    assert reload(signed_in).sign_in.status == SignInStatus.NEEDED


def test_anybody_reads_who_this_installation_is(settings):
    settings.PUBLIC_URL = "https://flows.example"

    response = Client().get("/tools/sign-in/client.json", secure=True)

    document = response.json()
    assert response.status_code == 200
    assert document["client_id"] == "https://flows.example/tools/sign-in/client.json"
    assert document["redirect_uris"] == ["https://flows.example/tools/sign-in/"]
    assert document["token_endpoint_auth_method"] == "none"
    assert "client_secret" not in document


@pytest.mark.django_db(transaction=True)
def test_who_waits_for_the_authorization_server_holds_no_connection(
    cast, ada, connection, server, monkeypatch
):
    """Whether they go there, come back, or sign out."""
    held = dict[str, bool]()
    for module, name in ((steps, "begin"), (steps, "finish"), (tokens, "revoke")):
        monkeypatch.setattr(module, name, note_connection(held, getattr(module, name)))

    address = find_address(start(ada, connection))
    ada.get(RETURN, server.sign_in(address), follow=True)
    ada.post(reverse("workflows:sign_out_tools", args=[connection.pk]), follow=True)

    assert held == {"begin": False, "finish": False, "revoke": False}
    assert server.tokens == []


def note_connection(held, wait):
    """Return the same function, which also notes whether the request that waits for it holds a connection."""
    request_connection = connections["default"]

    async def wait_and_note(*args, **options):
        held[wait.__name__] = request_connection.connection is not None
        return await wait(*args, **options)

    return wait_and_note
