"""A real browser on the real stack. A page that logs an error or fails a request fails its test."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Frame,
    Page,
    Playwright,
    expect,
    sync_playwright,
)

from tests.journeys.people import Owner, make_owner
from tests.journeys.rooms import PATIENCE, Rooms
from tests.journeys.shell import Shell
from tests.support.stack import LiveStack


# Patience costs nothing where things come soon; five seconds, the default, are little on a busy machine.
expect.set_options(timeout=PATIENCE)

# The headless shell comes first: without the windows of a whole Chromium it takes a quarter less of the processors.
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser")

# Where the browser is when a page doesn't come.
UNREACHABLE = "chrome-error:"

QUICK_DRIVER = Path(__file__).with_name("quick_driver.cjs")

# Without these Chromium looks for its maker's hosts at every start, and the log fills with refusals.
QUIET = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="package")
def chromium(_stack: LiveStack) -> Iterator[Browser]:
    """As long as journeys follow each other (``tests.order``), the stack's databases made before it.

    While it is open an event loop counts as running: Django refuses to touch a database then, and tests that are
    coroutines find the loop taken.
    """
    path = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if path is None:
        message = "No Chromium on this machine; `make test` installs Debian's where it may."
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    # A container's root has no user namespace to build Chromium's own sandbox in.
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with quick_driver() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*QUIET, *sandbox])
        yield browser
        browser.close()


@contextmanager
def quick_driver() -> Iterator[Playwright]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("NODE_OPTIONS", f'--require "{QUICK_DRIVER}"')
        playwright = sync_playwright().start()
    try:
        yield playwright
    finally:
        playwright.stop()


@dataclass
class Troubles:
    """What a page complained about.

    Answers of 400 and above, and requests that reach nobody, are told by the browser's console; a page in place of which the
    browser shows its own tells by its address. To be told of each request instead would be nine hundred messages for each
    look at the editor, which keep the browser, its driver and the test busy.
    """

    found: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        page.on("console", self._console)
        page.on("pageerror", self._error)
        page.on("framenavigated", self._navigated)

    def leave(self, page: Page) -> None:
        """It stays open for the next test, whose troubles are its own."""
        page.remove_listener("console", self._console)
        page.remove_listener("pageerror", self._error)
        page.remove_listener("framenavigated", self._navigated)

    def _error(self, error: Error) -> None:
        self.found.append(f"error: {error}")

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.found.append(f"{message.type}: {message.text} {message.location['url']}")

    def _navigated(self, frame: Frame) -> None:
        if frame.url.startswith(UNREACHABLE):
            self.found.append(f"{frame.url} instead of a page that couldn't be reached")


@pytest.fixture(scope="session")
def shell(_stack: LiveStack) -> Iterator[Shell]:
    opened = Shell(_stack)
    yield opened
    opened.close()


@pytest.fixture(scope="package")
def rooms(chromium: Browser, _stack: LiveStack) -> Rooms:
    return Rooms(chromium, _stack.url)


@pytest.fixture
def context(rooms: Rooms, live_stack: LiveStack) -> Iterator[BrowserContext]:
    with rooms.lent() as context:
        yield context


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    page = context.pages[0]
    troubles = Troubles()
    troubles.watch(page)
    yield page
    troubles.leave(page)
    assert troubles.found == []


@pytest.fixture
def owner(shell: Shell) -> Owner:
    """Whoever this test is about: a person whom nobody knew before, and who has a team of their own."""
    return make_owner(shell)


@pytest.fixture
def signed_in(page: Page, owner: Owner, live_stack: LiveStack) -> Page:
    """A page of the test's own owner."""
    owner.sign_in(page.context, live_stack.url)
    return page


@pytest.fixture
def unwatched(context: BrowserContext, owner: Owner, live_stack: LiveStack) -> Page:
    """The same for a test in which something is refused, or a request fails, on purpose."""
    owner.sign_in(context, live_stack.url)
    return context.pages[0]


@pytest.fixture
def first_owner(page: Page, live_stack: LiveStack) -> Page:
    """A page of the owner of the whole site, who has just come by the link of the first start.

    All tests of a worker share this person. What is to be alone belongs to `signed_in`.
    """
    page.goto(live_stack.start_url())
    return page
