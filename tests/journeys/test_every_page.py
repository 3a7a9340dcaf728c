"""Every page, at three widths, light and dark, in both languages: nothing sticks out, nothing is nameless."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, StorageState, expect

from tests.journeys.chatting import say, use_sample
from tests.journeys.conftest import Troubles
from tests.journeys.looking import (
    CONTRAST,
    HEADINGS,
    IDS,
    NAMELESS,
    OVERFLOW,
    UNSEEN_FOCUS,
    complaints,
)
from tests.support.stack import LiveStack


pytestmark = pytest.mark.browser

WIDTHS = (1440, 1024, 390)
LONG = "An_unbroken_word_" * 12


@pytest.fixture(scope="module")
def places() -> dict[str, str]:
    """Name → address of every page; those of rows are filled in once there are rows."""
    return {}


@pytest.fixture
def filled(
    signed_in: Page, places: dict[str, str], session_of_owner: dict[str, StorageState]
) -> dict[str, str]:
    if not places:
        places |= fixed_places() | places_of_rows(signed_in)
        # the languages' cookie is set by the test, so the owner's cookies must not bring one
    return places


def fixed_places() -> dict[str, str]:
    return {
        "home": "/",
        "samples": "/samples/",
        "workflows": "/workflows/",
        "nothing found": "/workflows/?q=nothing-is-called-this",
        "import": "/workflows/import/",
        "runs": "/runs/",
        "no runs": "/runs/?status=paused",
        "memory": "/memory/",
        "models": "/models/",
        "team": "/team/",
        "keys": "/team/keys/",
        "profile": "/profile/",
        "sign out": "/accounts/logout/",
    }


def places_of_rows(page: Page) -> dict[str, str]:
    use_sample(page, "A chatbot that remembers")
    say(page, f"My parrot is called {LONG}.")
    say(page, "What is my parrot called?")
    chat = page.url
    run = page.get_by_role("link", name="Why?").last.get_attribute("href")
    use_sample(page, "Three memories, one router")
    form = page.url
    page.goto("/memory/")
    namespace = page.get_by_role("row").filter(has_text="you").get_by_role("link")
    namespace.click()
    memories = page.url
    page.get_by_role("row").filter(has_text=LONG[:40]).get_by_role("link").first.click()
    expect(page.get_by_role("heading", name="History")).to_be_visible()
    return {
        "chat": chat,
        "run": str(run),
        "run form": form,
        "rename": f"{form}rename/",
        "replace": f"{form}replace/",
        "memories": memories,
        "memory": page.url,
    }


@pytest.fixture
def reader(
    chromium: Browser,
    live_stack: LiveStack,
    session_of_owner: dict[str, StorageState],
    filled: object,
) -> Iterator[BrowserContext]:
    context = chromium.new_context(
        base_url=live_stack.url, storage_state=session_of_owner[live_stack.url]
    )
    context.set_default_timeout(15_000)
    yield context
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_page_fits_reads_and_names_what_it_offers(
    reader: BrowserContext,
    filled: dict[str, str],
    live_stack: LiveStack,
    language: str,
    scheme: str,
):
    speak(reader, live_stack, language)
    page = reader.new_page()
    page.emulate_media(
        color_scheme="dark" if scheme == "dark" else "light", reduced_motion="reduce"
    )
    troubles = Troubles()
    troubles.watch(page)
    wrong = {}
    for name, address in filled.items():
        page.goto(address)
        expect(page.locator("html")).to_have_attribute("lang", language)
        checks = [HEADINGS, NAMELESS, IDS, CONTRAST, UNSEEN_FOCUS]
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            if found := complaints(page, OVERFLOW, *checks):
                wrong[f"{name} at {width}"] = found
            checks = []

    assert (wrong, troubles.found) == ({}, [])


@pytest.mark.parametrize(
    "address", ["/accounts/login/", "/accounts/password/reset/", "/start/x/", "/nowhere/"]
)
def test_page_for_strangers_fits_and_names_what_it_offers(
    chromium: Browser, live_stack: LiveStack, address: str
):
    context = chromium.new_context(base_url=live_stack.url)
    page = context.new_page()
    wrong = {}
    page.goto(address)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        if found := complaints(page, OVERFLOW, HEADINGS, NAMELESS, IDS, CONTRAST, UNSEEN_FOCUS):
            wrong[width] = found
    context.close()

    assert wrong == {}


def speak(context: BrowserContext, live_stack: LiveStack, language: str) -> None:
    context.add_cookies([{"name": "django_language", "value": language, "url": live_stack.url}])


BAD = """<!doctype html><html lang="en"><body style="background:#fff; margin:0">
<h1>One</h1><h1>Two</h1><div style="width:3000px">wide</div>
<p style="color:#ccc">faint</p><button></button><input id="same"><a id="same" href="/">link</a>
<style>a:focus { outline: none }</style></body></html>"""


@pytest.mark.parametrize("check", [OVERFLOW, HEADINGS, NAMELESS, IDS, CONTRAST, UNSEEN_FOCUS])
def test_check_finds_what_is_wrong_with_a_bad_page(chromium: Browser, check: str):
    page = chromium.new_page()
    page.set_content(BAD)

    found = complaints(page, check)

    page.close()
    assert len(found) == (2 if check == NAMELESS else 1)
