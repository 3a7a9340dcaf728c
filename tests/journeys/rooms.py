"""Browser contexts that the journeys lend one after the other: what is kept there goes, what was loaded stays.

The editor is more than a hundred scripts. A context made anew fetches and compiles them all: two seconds of a processor
for each test. So does, in part, a page made anew, which is a process of its own besides; so the one page stays, too.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, BrowserContext, CDPSession, Error, Page, ViewportSize


PATIENCE = 60_000  # milliseconds until what is awaited surely doesn't come any more
SIZE: ViewportSize = {"width": 1440, "height": 900}
HELD = ("Shift", "Control", "Alt", "Meta")

# What belongs to a tab and not to the site. Answers whether fingers are still pretended.
FORGET = "() => { sessionStorage.clear(); window.name = ''; return navigator.maxTouchPoints > 0; }"


class Rooms:
    def __init__(self, browser: Browser, address: str) -> None:
        self._browser, self._address = browser, address
        self._free: list[BrowserContext] = []
        # Those of their first pages: to open one takes longer than what it is asked.
        self._sessions: dict[BrowserContext, CDPSession] = {}

    @contextmanager
    def lent(self) -> Iterator[BrowserContext]:
        """One in which nobody has been, as far as a page can tell; its first page is there to be used."""
        context = self._free.pop() if self._free else self._built()
        context.set_default_timeout(PATIENCE)
        try:
            yield context
        finally:
            self._take_back(context)

    def _built(self) -> BrowserContext:
        context = self._browser.new_context(base_url=self._address, viewport=SIZE)
        page = context.new_page()
        page.goto("/healthz")
        self._sessions[context] = context.new_cdp_session(page)
        return context

    def _take_back(self, context: BrowserContext) -> None:
        try:
            self._tidy(context)
        except (Error, ValueError):  # a test may have left it in any state, even without a page
            context.close()
            del self._sessions[context]
        else:
            self._free.append(context)

    def _tidy(self, context: BrowserContext) -> None:
        stays, *others = context.pages
        for page in others:
            page.close()
        context.unroute_all()
        stays.unroute_all()
        context.set_offline(False)
        context.clear_permissions()
        context.clear_cookies()
        stays.goto("/healthz")
        # After the pages have gone, for one that goes may still keep something.
        everything = {"origin": self._address, "storageTypes": "all"}
        self._sessions[context].send("Storage.clearDataForOrigin", everything)
        stays.emulate_media(color_scheme="null", reduced_motion="null", forced_colors="null")
        self._let_go(stays)
        if stays.evaluate(FORGET):
            raise ValueError("a page that still has fingers")

    def _let_go(self, page: Page) -> None:
        """Of keys, of the mouse, and of the size a phone has."""
        for key in HELD:
            page.keyboard.up(key)
        page.mouse.up()
        page.mouse.move(0, 0)
        if page.viewport_size != SIZE:
            page.set_viewport_size(SIZE)
