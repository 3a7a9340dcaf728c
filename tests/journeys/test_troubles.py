"""Whatever a page asks for in vain is among its troubles, whichever way it asked."""

import re

import pytest

from tests.journeys.conftest import UNREACHABLE, Troubles
from tests.journeys.rooms import Rooms
from tests.journeys.seeing import until


pytestmark = pytest.mark.browser

WAYS = ("fetch", "xhr", "img", "script", "stylesheet", "events")
ASK = """(ways) => {
  const at = (way) => `/nowhere/${way}/`;
  const put = (name, about) => document.body.append(Object.assign(document.createElement(name), about));
  const ask = {
    fetch: (url) => void fetch(url),
    xhr: (url) => {
      const request = new XMLHttpRequest();
      request.open("GET", url);
      request.send();
    },
    img: (src) => put("img", { src }),
    script: (src) => put("script", { src }),
    stylesheet: (href) => put("link", { rel: "stylesheet", href }),
    events: (url) => void new EventSource(url),
  };
  for (const way of ways) ask[way](at(way));
}"""


def test_every_way_to_ask_in_vain_is_noticed(rooms: Rooms):
    with rooms.lent() as context:
        page, troubles = context.pages[0], Troubles()
        page.goto("/accounts/login/")
        troubles.watch(page)

        page.evaluate(ASK, WAYS)
        until(page, lambda: refused(troubles) == {*WAYS}, why=f"{troubles.found}")
        page.goto("/nowhere/page/")
        until(page, lambda: refused(troubles) == {*WAYS, "page"}, why=f"{troubles.found}")

        troubles.leave(page)


def test_every_way_to_ask_nobody_is_noticed(rooms: Rooms):
    with rooms.lent() as context:
        page, troubles = context.pages[0], Troubles()
        page.goto("/accounts/login/")
        troubles.watch(page)
        context.set_offline(True)

        page.evaluate(ASK, WAYS)
        until(page, lambda: refused(troubles) == {*WAYS}, why=f"{troubles.found}")
        assert all(
            "net::ERR_INTERNET_DISCONNECTED" in one for one in troubles.found if "/nowhere/" in one
        )
        troubles.found.clear()
        page.evaluate("() => { location = '/nowhere/page/'; }")
        until(page, lambda: [one for one in troubles.found if one.startswith(UNREACHABLE)])

        troubles.leave(page)


def refused(troubles: Troubles) -> set[str]:
    """Which addresses they name."""
    return {name for one in troubles.found for name in re.findall("/nowhere/([a-z]+)/", one)}
