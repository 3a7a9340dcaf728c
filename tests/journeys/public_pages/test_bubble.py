"""The chat bubble on a site of another host and port, in a real browser; on any other site it is refused."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import ConsoleMessage, Page, expect

from config.env import ROOT
from tests.fakes.serving import serving
from tests.journeys.looking import CONTRAST, NAMELESS, OVERFLOW, complaints, shut_out
from tests.journeys.public_pages.test_chat_link import ask, publish_page
from tests.journeys.rooms import Rooms


pytestmark = pytest.mark.browser

MOST_BYTES = 15_000
# A strict policy of the site, which allows our host its script and its frame, and nothing inline.
POLICY = "default-src 'none'; script-src {host}; frame-src {host}; connect-src 'none'"
SITE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Shop</title></head>
<body><main><h1>Shop</h1><p>Umbrellas.</p></main>
<script src="{host}/embed.js" data-page="{token}" data-color="#ffd54a" data-position="left"
  data-label="Ask the shop" data-language="{language}" defer></script></body></html>"""


class Site:
    """A site on a port of its own. Browsers take localhost and 127.0.0.1 for different sites."""

    def __init__(self) -> None:
        self.html, self.policy = "", ""
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200 if self.path == "/" else 204)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Security-Policy", site.policy)
                self.end_headers()
                self.wfile.write(site.html.encode())

            def log_message(self, *arguments: Any) -> None:
                """Stay silent."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def origin(self) -> str:
        return f"http://localhost:{self.server.server_port}"

    def show(self, link: str, language: str = "en") -> None:
        host, _p, token = link.rstrip("/").rpartition("/p/")
        self.html = SITE.format(host=host, token=token, language=language)
        self.policy = POLICY.format(host=host)


def is_problem(note: ConsoleMessage) -> bool:
    # The button of the question that is closed has the focus once it is open, also where a browser ignores that.
    return note.type == "error" and "Blocked autofocusing" not in note.text


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    with serving(made.server):
        yield made


def allow(page: Page, origin: str) -> None:
    """Enter the site in the dialog, which is open."""
    dialog = page.locator("[data-published]")
    dialog.get_by_label("Sites that may embed it").fill(origin)
    dialog.get_by_role("button", name="Save", exact=True).click()
    expect(dialog.get_by_text("Saved", exact=True)).to_be_visible()
    expect(dialog.get_by_label("Sites that may embed it")).to_have_value(origin)


def test_script_is_small(capsys: pytest.CaptureFixture[str]):
    size = (ROOT / "static/js/public_pages/embed.js").stat().st_size

    with capsys.disabled():
        print(f"\nembed.js: {size:,} bytes")
    assert size < MOST_BYTES


def test_bubble_on_a_site_that_is_allowed(signed_in: Page, rooms: Rooms, site: Site):
    link = publish_page(signed_in, "A chatbot that remembers")
    allow(signed_in, site.origin)
    site.show(link)

    with rooms.lent() as context:
        page = context.pages[0]
        problems: list[str] = []
        page.on("console", lambda note: problems.append(note.text) if is_problem(note) else None)
        page.goto(site.origin)
        button = page.get_by_role("button", name="Ask the shop")
        expect(button).to_have_attribute("aria-expanded", "false")
        before = set(page.evaluate("Object.keys(window)"))
        assert "mnemoflowChat" in before
        button.focus()
        page.keyboard.press("Enter")
        frame = page.frame_locator("mnemoflow-chat iframe")
        expect(ask(frame, "My name is Ana and I love hiking.")).to_be_visible()
        assert not [cookie for cookie in context.cookies() if "visitor" in cookie["name"]]
        assert complaints(page, NAMELESS, OVERFLOW) == []
        (inside,) = [each for each in page.frames if "/embed/" in each.url]
        assert shut_out(inside) == []

        page.reload()
        page.get_by_role("button", name="Ask the shop").click()
        expect(frame.locator(".talk-row")).to_have_count(1)
        expect(ask(frame, "What do I love?")).to_contain_text("hiking")
        frame.get_by_role("link", name="Memory").click()
        expect(frame.locator("[data-memory]").first).to_contain_text("hiking")
        frame.get_by_role("button", name="Forget everything").click()
        frame.locator("#confirm").get_by_role("button", name="Forget everything").click()
        expect(frame.get_by_text("Nothing yet.")).to_be_visible()
        frame.get_by_role("link", name="Back").click()
        frame.get_by_role("textbox", name="Message").press("Escape")
        expect(page.get_by_role("button", name="Ask the shop")).to_be_focused()
        assert problems == []

        page.set_viewport_size({"width": 390, "height": 844})
        page.evaluate("mnemoflowChat.open()")
        expect(frame.get_by_role("textbox", name="Message")).to_be_in_viewport(ratio=1)
        page.evaluate("mnemoflowChat.remove()")
        expect(page.locator("mnemoflow-chat")).to_have_count(0)
        assert page.evaluate("'mnemoflowChat' in window") is False


def test_bubble_in_chinese_and_in_the_dark_shuts_nobody_out(
    signed_in: Page, rooms: Rooms, site: Site
):
    link = publish_page(signed_in, "A chatbot that remembers")
    allow(signed_in, site.origin)
    site.show(link, "zh-hans")

    with rooms.lent() as context:
        page = context.pages[0]
        page.emulate_media(color_scheme="dark")
        for width, height in ((1280, 800), (390, 844)):
            page.set_viewport_size({"width": width, "height": height})
            page.goto(site.origin)
            page.get_by_role("button", name="Ask the shop").click()
            frame = page.frame_locator("mnemoflow-chat iframe")
            expect(ask(frame, "I'm Ana, and I'm allergic to peanuts.")).to_be_visible()
            (inside,) = [each for each in page.frames if "/embed/" in each.url]
            assert inside.locator("html").get_attribute("lang") == "zh-hans"
            assert [*inside.evaluate(CONTRAST), *shut_out(inside)] == []
            assert shut_out(page) == []


def test_bubble_on_another_site_is_refused(signed_in: Page, rooms: Rooms, site: Site):
    link = publish_page(signed_in, "A chatbot that remembers")
    allow(signed_in, "https://shop.example.com")
    site.show(link)

    with rooms.lent() as context:
        page = context.pages[0]
        with page.expect_event("console", lambda note: "frame-ancestors" in note.text):
            page.goto(site.origin)
            page.get_by_role("button", name="Ask the shop").click()
        frame = page.frame_locator("mnemoflow-chat iframe")
        expect(frame.get_by_role("textbox", name="Message")).to_have_count(0)
