"""Five hundred memories forgotten and brought back, and a namespace as it was, in both languages."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.journeys.languages import LANGUAGES
from tests.journeys.looking import CONTRAST, HEADINGS, NAMELESS, OVERFLOW, complaints
from tests.journeys.people import Owner
from tests.journeys.seeing import follow
from tests.journeys.shell import Shell
from tests.support.stack import LiveStack


pytestmark = pytest.mark.browser

MANY = 500
APP = "shop"

FILL = """
from accounts.models import User
from accounts.principals import load_user_principal
from memory import services
owner = load_user_principal(User.objects.get(pk='{owner}'))
(team,) = owner.team_ids
caller = services.MemoryCaller(owner, team)
for n in range({many}):
    services.remember(caller, namespace='global:{app}', key=f'order-{{n}}', value=f'{{n}} cups of tea', category='result')
kept = services.remember(caller, namespace='global:{app}', key='kept', value='The kettle is new.')
services.edit(caller, entry_id=kept.id, value='The kettle is old.', if_revision=1)
"""


@pytest.fixture
def shop(signed_in: Page, owner: Owner, shell: Shell, live_stack: LiveStack, language: str) -> Page:
    """An application's memory with many orders."""
    page = signed_in
    shell.run(FILL.format(many=MANY, app=APP, owner=owner.id))
    page.context.add_cookies(
        [{"name": "django_language", "value": language, "url": live_stack.url}]
    )
    page.goto(f"/memory/?q={APP}")
    expect(page.locator("html")).to_have_attribute("lang", language)
    follow(page, page.get_by_role("link", name=APP, exact=True))
    expect(page.locator("h1")).to_have_text(APP)
    return page


def counted(page: Page) -> Locator:
    return page.locator("#entries-title")


@pytest.mark.parametrize("language", LANGUAGES)
def test_many_are_forgotten_and_brought_back_and_the_past_is_looked_at(shop: Page, language: str):
    page = shop
    expect(counted(page)).to_contain_text(str(MANY + 1))
    assert complaints(page, OVERFLOW, HEADINGS, NAMELESS, CONTRAST) == []

    choose_what_matches(page)
    page.locator("[role=alertdialog] button[type=submit]").press("Enter")
    toast = page.locator(".toast")
    expect(toast).to_contain_text(str(MANY))
    expect(counted(page)).to_have_count(1)
    expect(page.locator("tbody tr")).to_have_count(0)
    toast.locator("form button").click()
    expect(counted(page)).to_contain_text(str(MANY))
    expect(toast).to_have_count(0)

    look_back(page)
    bring_back_what_was(page)


def choose_what_matches(page: Page) -> None:
    """All of a category, by the filter; the dry run says how many before anything is done."""
    page.locator(".mem-more summary").click()
    page.locator("#category").select_option("result")
    page.locator("#filters .toolbar button").click()
    expect(page.locator(".mem-chip")).to_have_count(1)
    expect(page).to_have_url(re.compile("category=result"))
    expect(counted(page)).to_contain_text(str(MANY))
    page.locator("input[name=all]").check()
    expect(page.locator("[data-selected-count]")).to_have_text(str(MANY))
    boxes = page.locator("input[name=entry]")
    expect(page.locator("input[name=entry]:checked")).to_have_count(boxes.count())
    boxes.first.uncheck()
    expect(page.locator("input[name=all]")).not_to_be_checked()
    page.locator("input[name=all]").check()
    page.locator("#choose button").click()
    asked = page.locator("[role=alertdialog]")
    expect(asked).to_contain_text(str(MANY))
    expect(page.locator("input[name=entry]:checked:disabled")).to_have_count(boxes.count())
    expect(asked.locator("button[type=submit]")).to_be_focused()
    assert complaints(page, OVERFLOW, NAMELESS, CONTRAST) == []


def look_back(page: Page) -> None:
    """From the day's line about the five hundred to how it was before them, and by the slider to the beginning."""
    page.locator(".mem-bar .tabs a").nth(2).click()
    bulk = page.locator(".mem-happened li").filter(has_text=str(MANY))
    expect(bulk).to_have_count(2)  # forgotten, and back
    assert complaints(page, OVERFLOW, NAMELESS, CONTRAST) == []
    bulk.nth(1).locator("a[aria-label]").click()
    past = page.locator(".mem-past")
    expect(past).to_be_visible()
    expect(page.locator("input[name=entry]")).to_have_count(0)  # nothing can be done to the past
    expect(page.locator("tbody tr")).to_have_count(0)
    follow(page, past.locator("[rel=prev]"))  # the slider moves once its script has come
    expect(counted(page)).to_contain_text(str(MANY))
    before = page.url
    page.locator(".mem-slider").focus()
    page.keyboard.press("Home")
    expect(page).not_to_have_url(before)
    expect(page).to_have_url(re.compile("at=2"))
    expect(past).to_be_visible()
    assert complaints(page, OVERFLOW, NAMELESS, CONTRAST) == []


def bring_back_what_was(page: Page) -> None:
    page.locator(".mem-chip").click()
    expect(page.locator(".mem-chip")).to_have_count(0)
    page.locator("#q").fill("kettle")
    page.locator("#at").fill("")
    page.locator("#filters .toolbar button").click()
    row = page.locator("tbody tr").filter(has_text="kept")
    expect(row).to_contain_text("The kettle is old.")
    expect(row.locator(".mem-score")).to_be_visible()
    page.locator(".mem-bar .tabs a").nth(2).click()
    page.locator(".mem-happened li").nth(1).locator("a[aria-label]").click()
    was = page.locator("tbody tr").filter(has_text="The kettle is new.")
    was.locator("form button").click()
    expect(page.locator("h1")).to_have_text("The kettle is new.")
    expect(page.locator("main")).to_contain_text("The kettle is new.")
