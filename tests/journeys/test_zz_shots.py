"""Temporary: pictures of the samples."""

import pytest
from playwright.sync_api import Page

from tests.journeys.editing import ready


pytestmark = pytest.mark.browser
OUT = "/tmp/sm/shots"


def shot(page, name):
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_timeout(400)
        page.screenshot(path=f"{OUT}/{name}-{scheme}.png")
    page.emulate_media(color_scheme="light")


@pytest.mark.parametrize("slug", ["companion", "research", "refunds", "shop"])
def test_shots(signed_in: Page, slug):
    page = signed_in
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto("/samples/")
    if slug == "companion":
        page.locator(f"#sample-{slug}").scroll_into_view_if_needed()
        shot(page, "gallery")
    page.locator(f"form[action*='{slug}'] button").click()
    ready(page)
    page.wait_for_timeout(800)
    shot(page, f"{slug}-canvas")
    try:
        if slug == "research":
            page.locator("#run-card > form").get_by_role("button", name="Run").click()
        else:
            page.locator("[data-say], textarea[name=query], #run-card textarea").first.fill(
                {
                    "companion": "I'm Ana, and I'm allergic to peanuts.",
                    "refunds": "I want a refund: the headphones of order 1234 arrived broken.",
                    "shop": "What does it cost to send 2 kg to Norway?",
                }[slug]
            )
            page.keyboard.press("Enter")
        page.wait_for_timeout(6000)
        shot(page, f"{slug}-run")
        run_id = page.locator("#editor").get_attribute("data-run-id")
        page.goto(f"/runs/{run_id}/")
        page.wait_for_timeout(800)
        page.emulate_media(color_scheme="light")
        page.screenshot(path=f"{OUT}/{slug}-page.png", full_page=True)
    except Exception:
        page.screenshot(path=f"{OUT}/{slug}-fail.png")
        raise
