"""An owner sets limits for the team and for a key, by mouse."""

import pytest
from playwright.sync_api import Page, expect

from tests.support.stack import LiveStack


pytestmark = pytest.mark.browser


def test_owner_limits_the_team_and_a_key(signed_in: Page, live_stack: LiveStack):
    page = signed_in
    page.goto(f"{live_stack.url}/team/")
    page.get_by_role("link", name="Limits").click()
    team = page.get_by_role("region", name="Whole team, today")
    expect(team.get_by_role("meter")).to_have_count(0)

    page.get_by_role("spinbutton", name="Runs started per day").fill("5000")
    page.get_by_role("button", name="Save limits").click()

    expect(page.get_by_text("Limits saved.")).to_be_visible()
    expect(team.get_by_role("meter", name="Runs started per day")).to_be_visible()
    expect(team).to_contain_text("of 5,000")

    page.goto(f"{live_stack.url}/team/keys/")
    form = page.locator(".key-form")
    form.get_by_label("Name").fill("Small key")
    form.get_by_text("Limits of this key").click()
    form.get_by_label("Requests per minute").fill("60")
    form.get_by_label("Tokens per day").fill("100000")
    form.get_by_role("button", name="Create API key").click()
    expect(page.get_by_text("Copy this key now")).to_be_visible()

    page.goto(f"{live_stack.url}/team/limits/")
    keys = page.get_by_role("region", name="API keys with limits")
    expect(keys).to_contain_text("60 requests per minute")
    expect(keys).to_contain_text("0 of 100,000")
    page.get_by_role("spinbutton", name="Runs started per day").fill("")
    page.get_by_role("button", name="Save limits").click()
    expect(team.get_by_role("meter")).to_have_count(0)
