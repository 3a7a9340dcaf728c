"""Signing in to an MCP server in the browser: connected on the server's own page, tried, and disconnected."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from accounts.services.firstrun import DEMO_NAME
from tests.fakes.mcp_sign_in import SCOPE, SignInServer, serve_sign_in
from tests.support.stack import LiveStack


pytestmark = pytest.mark.browser

NEEDED = "This server wants you to sign in"


@pytest.fixture
def server(live_stack: LiveStack) -> Iterator[SignInServer]:
    """An MCP server that the operator allows, and whose authorization server asks people first."""
    port = int(live_stack.environment["NET_ALLOW"].rpartition(":")[2])
    with serve_sign_in(port=port, asks_first=True) as server:
        yield server


def go_to_sign_in(page: Page, server: SignInServer) -> None:
    """Connect the server by its address, and go to the page on which it asks a person."""
    page.goto("/tools/connect/mcp_http/")
    page.get_by_label("Server URL").fill(server.url)
    page.get_by_role("button", name="Connect").click()
    expect(page.get_by_text(NEEDED)).to_be_visible()
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("listitem").filter(has_text=SCOPE)).to_be_visible()
    page.get_by_role("link", name=f"Continue to {server.origin.removeprefix('http://')}").click()


def test_server_is_connected_on_its_own_page_tried_and_disconnected(
    signed_in: Page, server: SignInServer
) -> None:
    page = signed_in
    go_to_sign_in(page, server)
    page.get_by_role("link", name="Allow").click()

    sign_in = page.get_by_role("region", name="Sign-in")
    expect(sign_in).to_contain_text(f"Connected as {DEMO_NAME}")
    page.get_by_role("link", name="Try add").click()
    page.locator("[name='argument-a']").fill("1")
    page.locator("[name='argument-b']").fill("2")
    page.get_by_role("button", name="Call").click()
    expect(page.locator(".tools-result").first).to_contain_text("3")

    page.locator(".crumbs a").click()
    sign_in.get_by_role("button", name="Disconnect").click()
    page.locator("#confirm").get_by_role("button", name="Disconnect").click()
    expect(page.locator("#toasts")).to_contain_text("Disconnected.")
    expect(page.get_by_text(NEEDED)).to_be_visible()
    assert (len(server.mcp.calls), server.tokens, server.refresh_tokens) == (1, [], [])


def test_person_who_denies_comes_back_to_a_connection_that_still_asks(
    signed_in: Page, server: SignInServer
) -> None:
    page = signed_in
    go_to_sign_in(page, server)

    page.get_by_role("link", name="Deny").click()

    expect(page.locator("#toasts")).to_contain_text("The sign-in was cancelled.")
    expect(page.get_by_text(NEEDED)).to_be_visible()
    assert server.tokens == []
