"""Every page, at three widths, light and dark, in both languages: nothing sticks out, nothing is nameless."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.journeys.chatting import say, use_sample
from tests.journeys.conftest import Troubles
from tests.journeys.looking import (
    COLOURS,
    CONTRAST,
    CUT,
    FINGER,
    GUTTER,
    HEADINGS,
    IDS,
    NAMELESS,
    OVERFLOW,
    STATES,
    UNSEEN_FOCUS,
    complaints,
    shut_out,
)
from tests.journeys.people import Owner, make_owner
from tests.journeys.rooms import Rooms
from tests.journeys.seeing import DRAWN, ready
from tests.journeys.shell import Shell
from tests.support.stack import LiveStack


pytestmark = pytest.mark.browser

WIDTHS = (1440, 1024, 390)
Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, Scheme] = ("light", "dark")
LONG = "An_unbroken_word_" * 12


Places = dict[str, str]


@pytest.fixture(scope="module")
def places() -> Places:
    """Name → address of every page; those of rows are filled in once there are rows."""
    return {}


@pytest.fixture(scope="module")
def owner(shell: Shell) -> Owner:
    """One for all tests here: filling the pages takes longer than reading some of them."""
    return make_owner(shell)


@pytest.fixture
def filled(signed_in: Page, places: Places) -> Places:
    if not places:
        places |= fixed_places() | places_of_rows(signed_in)
    return places


def fixed_places() -> Places:
    return {
        "home": "/",
        "search": "/search/?q=memory",
        "search dialog": "/runs/#search",
        "keyboard shortcuts": "/runs/#shortcuts",
        "first steps": "/first-steps/",
        "new workflow": "/workflows/new/",
        "usage": "/usage/",
        "runs of the team": "/runs/team/",
        "data sets": "/data-sets/",
        "new folder": "/workflows/folders/new/",
        "samples": "/samples/",
        "workflows": "/workflows/",
        "nothing found": "/workflows/?q=nothing-is-called-this",
        "import": "/workflows/import/",
        "runs": "/runs/",
        "no runs": "/runs/?status=paused",
        "memory": "/memory/",
        "namespaces": "/memory/namespaces/",
        "review": "/memory/review/",
        "rules of the review": "/memory/review/rules/",
        "how memory learns": "/memory/review/settings/",
        "learning": "/memory/learning/",
        "knowledge": "/memory/knowledge/",
        "new page": "/memory/knowledge/new/",
        "models": "/models/",
        "tools": "/tools/",
        "connect an API": "/tools/connect/openapi/",
        "connect an MCP server": "/tools/connect/mcp_http/",
        "connect a web service": "/tools/connect/web/",
        "try a tool": "/tools/local/builtin/time/",
        "team": "/team/",
        "limits": "/team/limits/",
        "audit trail": "/team/audit/",
        "about me": "/memory/about/",
        "waiting": "/waiting/",
        "keys": "/team/keys/",
        "profile": "/profile/",
        "sign out": "/accounts/logout/",
    }


def places_of_rows(page: Page) -> Places:
    use_sample(page, "A chatbot that remembers")
    say(page, f"My parrot is called {LONG}.")
    say(page, "What is my parrot called?")
    chat = page.url
    run = page.get_by_role("link", name="Why?").last.get_attribute("href")
    use_sample(page, "A workflow with conversation memory")
    form = page.url
    exchange = page.url
    older = run_once(page, "one")
    newer = run_once(page, "two")
    version_and_change(page)
    folder = folder_inside_another(page)
    page.goto("/memory/namespaces/")
    namespace = page.get_by_role("row").filter(has_text="You").get_by_role("link")
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
        "import report": f"{form}report/",
        "public page": f"{form}page/",
        "memories": memories,
        "folder": f"/workflows/?folder={folder}",
        "move": f"/workflows/folders/{folder}/move/",
        "memory": page.url,
        "outline": f"{exchange}outline/?node=llm1",
        "difference": f"{exchange}versions/1/diff/draft/",
        "comparison": f"/runs/{older}/compare/{newer}/",
        "node": f"{exchange}?node=llm1",
        **{f"editor: {panel}": f"{exchange}#{panel}" for panel in EDITOR_PANELS},
    }


def folder_inside_another(page: Page) -> str:
    """The outer one's id."""
    page.goto("/workflows/folders/new/")
    page.locator("form.form [name=name]").fill(LONG)
    page.locator("main form.form button[type=submit]").click()
    outer = page.locator("a.folder-open").filter(has_text=LONG)
    address = str(outer.get_attribute("href"))
    folder = address.partition("folder=")[2]
    page.goto(f"/workflows/folders/new/?folder={folder}")
    page.locator("form.form [name=name]").fill("Inside")
    page.locator("main form.form button[type=submit]").click()
    expect(page.locator("h1")).to_have_text(LONG)
    return folder


def run_once(page: Page, words: str) -> str:
    """Its id."""
    card = page.locator("#run-card")
    card.locator("[name=query]").fill(words)
    card.locator("button[type=submit]").click()
    link = card.get_by_role("link", name="Details")
    expect(link).to_have_attribute("href", re.compile("/runs/"))
    expect(card.locator("[name=query]")).to_have_value(words)
    expect(card.locator("[data-waiting]")).to_have_count(0)
    return str(link.get_attribute("href")).split("/")[2]


def version_and_change(page: Page) -> None:
    ready(page)
    page.locator("summary[data-tour=publish]").click()
    page.locator("#publish-note").fill("The first")
    page.locator("form[action$='/publish/'] button[type=submit]").first.click()
    expect(page.locator("#published")).to_contain_text("v1")
    ready(page)
    page.evaluate(
        "() => mnemoflow.editor.edits.send([{op: 'rename', id: 'llm1', title: 'Reply'}], {label: 'x'})"
    )


# What stands open in the editor, by how one gets there: a selector pressed after another.
PANELS = {
    "search": ["[data-search-open]"],
    "shortcuts": ["[data-search-open]", "#search [data-shortcuts]"],
    "add": [".ed-top [data-command=search-palette]"],
    "run": ["#tab-run", ".run-past > summary", "[data-open-run]"],
    "log": ["#tab-run", ".run-past > summary", "[data-open-run]", "#tab-log"],
    "memory": ["#tab-run", ".run-past > summary", "[data-open-run]", "#tab-memory"],
    "test": ["#tab-tests", "#tests [hx-get$='/tests/new/']"],
    "problems": ["#tab-problems"],
    "history": ["#tab-history"],
    "comments": ["#tab-comments"],
}
EDITOR_PANELS = [panel for panel in PANELS if panel not in {"search", "shortcuts"}]


def go(page: Page, address: str) -> None:
    """There, with what is to stand open."""
    address, _, panel = address.partition("#")
    page.goto(address)
    if page.locator("#editor").count():
        ready(page)
    for selector in PANELS.get(panel, []):
        page.locator(selector).first.click()
    if panel == "test":
        expect(page.locator("form#tests")).to_be_visible()
    if panel == "history":
        expect(page.locator("#panel-history form").first).to_be_visible()


@pytest.fixture
def reader(rooms: Rooms, owner: Owner, live_stack: LiveStack) -> Iterator[BrowserContext]:
    with rooms.lent() as context:
        owner.sign_in(context, live_stack.url)
        yield context


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize(
    "whole",
    [pytest.param(False, id="in turn"), pytest.param(True, id="whole", marks=pytest.mark.nightly)],
)
def test_page_fits_reads_and_names_what_it_offers(
    reader: BrowserContext, filled: Places, live_stack: LiveStack, language: str, whole: bool
):
    """At each width light in one language and dark in the other; by night in all ways there are.

    By day axe reads a page in one scheme, every other page in the dark, and leaves the contrast, which takes it longest, to
    our own check of it, which reads a page in both.
    """
    speak(reader, live_stack, language)
    page = reader.new_page()
    page.emulate_media(reduced_motion="reduce")
    troubles = Troubles()
    troubles.watch(page)
    wrong: dict[str, list[str]] = {}
    schemes = SCHEMES
    for name, address in filled.items():
        page.set_viewport_size({"width": WIDTHS[0], "height": 900})
        page.emulate_media(color_scheme=schemes[0])
        go(page, address)
        expect(page.locator("html")).to_have_attribute("lang", language)
        found = looked_at(page, schemes, english=language == "en", whole=whole)
        wrong |= {f"{name}, {where}": said for where, said in found}
        schemes = schemes[::-1]  # so that half of the pages are loaded in the dark

    said = [f"{where}: {one}" for where, found in wrong.items() for one in found]
    assert not said + troubles.found, "\n".join(said + troubles.found)


Found = Iterator[tuple[str, list[str]]]


def looked_at(page: Page, schemes: Sequence[Scheme], *, english: bool, whole: bool) -> Found:
    """What is wrong with the page that stands there, by how it was looked at: loaded once, turned light and dark."""
    yield from read_in(page, schemes if english or whole else schemes[:1], english, whole)
    if english or whole:
        yield from fitted_into(page, schemes)
    if whole or not english:
        yield from fitted_into(page, schemes[::-1])


def read_in(page: Page, schemes: Sequence[Scheme], english: bool, whole: bool) -> Found:
    """What it is to axe, and where the keyboard is, is the same in any language."""
    for scheme, once, rules in zip(schemes, ([HEADINGS, IDS], []), ((), COLOURS), strict=False):
        page.emulate_media(color_scheme=scheme)
        if english and (whole or not rules):
            left_out = () if whole else ("color-contrast",)
            yield f"to axe, {scheme}", shut_out(page, *rules, without=left_out)
            yield f"focus, {scheme}", complaints(page, UNSEEN_FOCUS)
        yield f"{scheme}", complaints(page, *once, CONTRAST)


def fitted_into(page: Page, schemes: Sequence[Scheme]) -> Found:
    """Light and dark from width to width."""
    for width, scheme in zip(WIDTHS, cycle(schemes), strict=False):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.evaluate(DRAWN)
        yield f"{scheme} at {width}", complaints(page, OVERFLOW, CUT, GUTTER, NAMELESS, STATES)
        if width == WIDTHS[-1]:
            with touched(page):
                yield f"{scheme}, touched", complaints(page, FINGER, OVERFLOW, CUT)


@contextmanager
def touched(page: Page) -> Iterator[None]:
    """As on a phone, whose screen is pressed by fingers."""
    session = page.context.new_cdp_session(page)
    session.send("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 1})
    page.evaluate(DRAWN)
    yield
    session.send("Emulation.setTouchEmulationEnabled", {"enabled": False})
    session.detach()


@pytest.mark.parametrize(
    "address", ["/accounts/login/", "/accounts/password/reset/", "/start/x/", "/nowhere/"]
)
def test_page_for_strangers_fits_and_names_what_it_offers(
    chromium: Browser, live_stack: LiveStack, address: str
):
    context = chromium.new_context(base_url=live_stack.url)
    page = context.new_page()
    page.goto(address)
    wrong: dict[object, list[str]] = {"axe": found} if (found := shut_out(page)) else {}
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate(DRAWN)
        if found := complaints(
            page, OVERFLOW, CUT, HEADINGS, NAMELESS, IDS, CONTRAST, UNSEEN_FOCUS
        ):
            wrong[width] = found
    context.close()

    assert wrong == {}


def speak(context: BrowserContext, live_stack: LiveStack, language: str) -> None:
    context.add_cookies([{"name": "django_language", "value": language, "url": live_stack.url}])


BAD = """<!doctype html><html lang="en"><body style="background:#fff; margin:0">
<h1>One</h1><h1>Two</h1><div style="width:3000px">wide</div>
<main class="main"><div class="page" style="max-width:300px; margin-left:9px"><p style="overflow:hidden; white-space:nowrap; width:20px">Cut off</p></div></main>
<p style="color:#ccc">faint</p><button></button><button><i hidden>Run</i></button><input id="same"><a id="same" href="/">link</a>
<div role="tablist"><span role="tab">Not chosen</span></div>
<style>a:focus { outline: none }</style></body></html>"""


@pytest.mark.parametrize(
    ("check", "count"),
    [
        *(
            (check, 1)
            for check in (OVERFLOW, CUT, HEADINGS, STATES, IDS, CONTRAST, UNSEEN_FOCUS, GUTTER)
        ),
        (NAMELESS, 3),
        (FINGER, 3),
    ],
)
def test_check_finds_what_is_wrong_with_a_bad_page(chromium: Browser, check: str, count: int):
    page = chromium.new_page()
    page.set_content(BAD)

    found = complaints(page, check)

    page.close()
    assert len(found) == count
