"""Every page, at three widths, light and dark, in both languages: nothing sticks out, nothing is nameless."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.journeys.chatting import say, use_sample
from tests.journeys.conftest import Troubles
from tests.journeys.editing import change, edit_elsewhere, id_in
from tests.journeys.looking import (
    COLOURS,
    CONTRAST,
    CUT,
    FINGER,
    GUTTER,
    HEADINGS,
    IDS,
    MENUS,
    NAMELESS,
    OPTIONS,
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
    outer = change(page, "folders", {"name": LONG})["id"]
    change(page, "folders", {"name": "Inside", "parent": outer})
    return str(outer)


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
    workflow = id_in(page)
    change(page, f"workflows/{workflow}/versions", {"note": "The first"})
    edit_elsewhere(page, workflow, {"op": "rename", "id": "llm1", "title": "Reply"})


# What stands open in the editor, by how one gets there: a selector pressed after another.
PANELS = {
    "search": ["[data-search-open]"],
    "shortcuts": ["[data-search-open]", "#search [data-shortcuts]"],
    "run": ["#tab-run", ".run-past > summary", "[data-open-run]"],
    "log": ["#tab-run", ".run-past > summary", "[data-open-run]", "#tab-log"],
    "memory": ["#tab-run", ".run-past > summary", "[data-open-run]", "#tab-memory"],
    "test": ["#tab-tests", "#tests [hx-get$='/tests/new/']"],
    "problems": ["#tab-problems"],
    "history": ["#tab-history"],
    "comments": ["#tab-comments"],
    "add": [".ed-top [data-command=search-palette]"],
}
EDITOR_PANELS = [panel for panel in PANELS if panel not in {"search", "shortcuts"}]
# What is left to press where the panel before it stands open. By day the editor is loaded once for all of them.
NEXT_PANELS = {
    **{panel: PANELS[panel] for panel in ("test", "problems", "history", "comments", "add")},
    "log": ["#tab-log"],
    "memory": ["#tab-memory"],
}


def go(page: Page, address: str, *, anew: bool) -> None:
    """There, with what is to stand open."""
    address, _, panel = address.partition("#")
    if not anew and panel in NEXT_PANELS:
        press(page, NEXT_PANELS[panel])
    else:
        page.goto(address)
        if page.locator("#editor").count():
            ready(page)
        press(page, PANELS.get(panel, []))
    if panel == "test":
        expect(page.locator("form#tests")).to_be_visible()
    if panel == "history":
        expect(page.locator("#panel-history form").first).to_be_visible()


def press(page: Page, selectors: Sequence[str]) -> None:
    for selector in selectors:
        page.locator(selector).first.click()


FIT = (OVERFLOW, CUT, GUTTER, NAMELESS, STATES, MENUS)
READ = (HEADINGS, IDS, OPTIONS, CONTRAST)


@dataclass(frozen=True)
class Look:
    """At the page that stands there, in one size and scheme."""

    width: int
    scheme: Scheme
    checks: tuple[str, ...]
    axe: tuple[str, ...] | None = None  # some of its rules, or without any all of them
    has_focus: bool = False  # and it is looked where the keyboard is


def plan_day(schemes: Sequence[Scheme], *, english: bool) -> list[Look]:
    """What axe reads, where the keyboard is and what can be read are the same in any language; how long words are isn't."""
    first, second = schemes
    wide, middle, narrow = WIDTHS
    if not english:
        return [Look(wide, second, FIT), Look(narrow, first, FIT)]
    return [
        Look(wide, first, (*READ, *FIT), axe=(), has_focus=True),
        Look(wide, second, (CONTRAST,)),
        Look(middle, second, FIT),
        Look(narrow, second, FIT),
    ]


def plan_night(schemes: Sequence[Scheme]) -> list[Look]:
    first, second = schemes
    return [
        Look(WIDTHS[0], first, READ, axe=(), has_focus=True),
        Look(WIDTHS[0], second, (CONTRAST,), axe=COLOURS, has_focus=True),
        *(Look(width, scheme, FIT) for width in WIDTHS for scheme in schemes),
    ]


@pytest.fixture
def reader(rooms: Rooms, owner: Owner, live_stack: LiveStack) -> Iterator[Page]:
    with rooms.lent() as context:
        owner.sign_in(context, live_stack.url)
        page = context.pages[0]
        page.emulate_media(reduced_motion="reduce")
        yield page


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize(
    "whole",
    [pytest.param(False, id="in turn"), pytest.param(True, id="whole", marks=pytest.mark.nightly)],
)
def test_page_fits_reads_and_names_what_it_offers(
    reader: Page, filled: Places, live_stack: LiveStack, language: str, whole: bool
):
    """By day light at one width and dark at another, by turns; by night in all ways there are.

    By day axe reads a page in one scheme, every other page in the dark, and leaves the contrast, which takes it longest, to
    our own check of it, which reads a page in both.
    """
    page, english = reader, language == "en"
    speak(page.context, live_stack, language)
    troubles = Troubles()
    troubles.watch(page)
    wrong: list[str] = []
    schemes = SCHEMES
    former = None
    for name, address in filled.items():
        looks = plan_night(schemes) if whole else plan_day(schemes, english=english)
        former = pose(page, looks[0], former)
        go(page, address, anew=whole)
        expect(page.locator("html")).to_have_attribute("lang", language)
        for look in looks:
            former = pose(page, look, former)
            page.evaluate(DRAWN)
            found = find(page, look, whole=whole)
            wrong += [f"{name}, {look.scheme} at {look.width}: {one}" for one in found]
        schemes = schemes[::-1]  # so that half of the pages are loaded in the dark
    troubles.leave(page)

    assert not wrong + troubles.found, "\n".join(wrong + troubles.found)


def pose(page: Page, look: Look, former: Look | None) -> Look:
    """Give the page its size and its scheme, unless it has them from the former look."""
    if former is None or look.width != former.width:
        page.set_viewport_size({"width": look.width, "height": 900})
    if former is None or look.scheme != former.scheme:
        page.emulate_media(color_scheme=look.scheme)
    return look


def find(page: Page, look: Look, *, whole: bool) -> list[str]:
    """What is wrong."""
    found = complaints(page, *look.checks)
    if look.axe is not None:
        found += shut_out(page, *look.axe, without=() if whole else ("color-contrast",))
    if look.has_focus:
        found += complaints(page, UNSEEN_FOCUS)
    if look.width == WIDTHS[-1]:
        with touched(page):
            found += complaints(page, FINGER, OVERFLOW, CUT)
    return found


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
def test_page_for_strangers_fits_and_names_what_it_offers(rooms: Rooms, address: str):
    wrong: list[str] = []
    with rooms.lent() as context:
        page = context.pages[0]
        page.goto(address)
        wrong += shut_out(page)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            page.evaluate(DRAWN)
            checks = (OVERFLOW, CUT, HEADINGS, NAMELESS, IDS, CONTRAST, UNSEEN_FOCUS)
            wrong += [f"at {width}: {one}" for one in complaints(page, *checks)]

    assert wrong == []


def speak(context: BrowserContext, live_stack: LiveStack, language: str) -> None:
    context.add_cookies([{"name": "django_language", "value": language, "url": live_stack.url}])


BAD = """<!doctype html><html lang="en"><body style="background:#fff; margin:0">
<h1>One</h1><h1>Two</h1><div style="width:3000px">wide</div>
<main class="main"><div class="page" style="max-width:300px; margin-left:9px"><p style="overflow:hidden; white-space:nowrap; width:20px">Cut off</p></div></main>
<p style="color:#ccc">faint</p><button></button><button><i hidden>Run</i></button><input id="same"><a id="same" href="/">link</a>
<select hidden><option>{'type': 'none'}</option><option>No (none)</option></select>
<details class="menu"><summary>More</summary><p class="menu-panel" style="position:absolute; left:5000px">Far</p></details>
<div role="tablist"><span role="tab">Not chosen</span></div>
<style>a:focus { outline: none }</style></body></html>"""


@pytest.mark.parametrize(
    ("check", "count"),
    [
        *((check, 1) for check in (OVERFLOW, CUT, HEADINGS, STATES, IDS, MENUS, OPTIONS, CONTRAST)),
        *((check, 1) for check in (UNSEEN_FOCUS, GUTTER)),
        (NAMELESS, 3),
        (FINGER, 4),
    ],
)
def test_check_finds_what_is_wrong_with_a_bad_page(rooms: Rooms, check: str, count: int):
    with rooms.lent() as context:
        page = context.pages[0]
        page.goto("about:blank")  # where no policy forbids the bad page its styles
        page.set_content(BAD)

        found = complaints(page, check)

    assert len(found) == count
