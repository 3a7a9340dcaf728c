"""Browser contexts that tests of a module lend one after the other: what is kept there goes, what was loaded stays.

The editor is more than a hundred scripts. A context made anew fetches and compiles them all: two seconds of a processor
for each test. One page stays in each, so that the process which has them lives on; the next test's costs half of that.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, BrowserContext, Error


class Rooms:
    def __init__(self, browser: Browser, address: str) -> None:
        self._browser, self._address = browser, address
        self._free: list[BrowserContext] = []

    @contextmanager
    def lent(self) -> Iterator[BrowserContext]:
        """One in which nobody has been, as far as a page can tell."""
        context = self._free.pop() if self._free else self._built()
        context.set_default_timeout(30_000)
        try:
            yield context
        finally:
            self._take_back(context)

    def _built(self) -> BrowserContext:
        context = self._browser.new_context(
            base_url=self._address, viewport={"width": 1440, "height": 900}
        )
        context.new_page().goto("/healthz")
        return context

    def _take_back(self, context: BrowserContext) -> None:
        try:
            self._tidy(context)
        except (Error, ValueError):  # a test may have left it in any state, even without a page
            context.close()
        else:
            self._free.append(context)

    def _tidy(self, context: BrowserContext) -> None:
        stays, *others = context.pages
        for page in others:
            page.close()
        context.unroute_all()
        context.set_offline(False)
        context.clear_permissions()
        context.clear_cookies()
        # After the pages have gone, for one that goes may still keep something.
        everything = {"origin": self._address, "storageTypes": "all"}
        session = context.new_cdp_session(stays)
        session.send("Storage.clearDataForOrigin", everything)
        session.detach()
