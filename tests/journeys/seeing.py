"""Wait until a page shows something, or until what moves has come to rest: the only place where journeys wait.

The browser tells what happens while somebody waits for its answer. So between two questions the page is asked to draw.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from playwright.sync_api import Error, FloatRect, Locator, Page, Request, Route, expect

from tests.support import waiting


T = TypeVar("T")

# Two frames: what was changed before is drawn. A page that nobody sees draws nothing.
DRAWN = """() => Promise.race([
  new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done()))),
  new Promise((done) => setTimeout(done, 1000)),
])"""


def until(page: Page, ask: Callable[[], T], *, why: str = "", seconds: float = waiting.LIMIT) -> T:
    """Ask again and again, while the page goes on, and return the first answer that counts as true."""

    def ask_after_drawing() -> T:
        with suppress(Error):  # the page is just giving way to the next one
            page.evaluate(DRAWN)
        return ask()

    return waiting.until(ask_after_drawing, why=why, seconds=seconds)


def steady(page: Page, read: Callable[[], T | None]) -> T:
    """Return what is read, once it is there and the same twice, with frames drawn in between."""
    readings = [read()]

    def is_same() -> bool:
        readings.append(read())
        return readings[-1] is not None and readings[-1] == readings[-2]

    until(page, is_same, why="it never came to rest")
    found = readings[-1]
    assert found is not None
    return found


def box_of(place: Locator) -> FloatRect:
    """Return where it lies, once it moves no more."""
    return steady(place.page, place.bounding_box)


def middle(place: Locator) -> tuple[float, float]:
    box = box_of(place)
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def ready(page: Page) -> None:
    """Wait for the whole editor: its own mark, and the end of loading, when links and forms have their scripts."""
    expect(page.locator("#editor")).to_have_attribute("data-ready", "yes")
    page.wait_for_load_state()


def follow(page: Page, link: Locator) -> None:
    """Press it, and wait for the whole next page: its keys and dialogs are of no use before its scripts have come."""
    with page.expect_navigation():
        link.click()


@contextmanager
def deaf(page: Page) -> Iterator[None]:
    """Let none of its live streams reach the server, from its next load on.

    By the browser's own means: while a page has routes, the browser loads everything anew, through the test.
    """
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.setBlockedURLs", {"urls": ["*/live/*"]})
    try:
        yield
    finally:
        session.detach()


@contextmanager
def note_requests(page: Page) -> Iterator[list[Request]]:
    """Note what the page asks for during the block. As long as somebody listens, the browser tells of each request."""

    def note(request: Request) -> None:
        requests.append(request)

    requests: list[Request] = []
    page.on("request", note)
    try:
        yield requests
    finally:
        page.remove_listener("request", note)


class Gate:
    """Before some addresses: requests wait there until the test lets them go."""

    def __init__(self, page: Page, address: str | re.Pattern[str]) -> None:
        self.waiting: list[Route] = []
        self._page, self._is_open = page, False
        page.route(address, self._take)

    def let_one_go(self) -> None:
        until(self._page, lambda: self.waiting, why="nothing was asked")
        self.waiting.pop(0).continue_()

    def open(self) -> None:
        """For those that wait, and for all that come later."""
        self._is_open = True
        while self.waiting:
            self.waiting.pop(0).continue_()

    def _take(self, route: Route) -> None:
        if self._is_open:
            route.continue_()
        else:
            self.waiting.append(route)
