"""A browser context that was lent before: nothing of the test before is in it."""

import pytest
from playwright.sync_api import BrowserContext

from tests.journeys.rooms import Rooms
from tests.support.stack import LiveStack


pytestmark = pytest.mark.browser

KEPT = "() => [localStorage.getItem('left'), sessionStorage.getItem('left'), document.cookie]"


def test_room_lent_again_holds_nothing_of_the_test_before(rooms: Rooms, live_stack: LiveStack):
    with rooms.lent() as first:
        leave_things(first, live_stack.url)
    with rooms.lent() as again:
        page = again.new_page()
        answer = page.goto("/accounts/login/")

        assert again is first
        assert answer
        assert answer.ok  # neither offline nor refused any more
        assert page.evaluate(KEPT)[:2] == [None, None]
        assert "left" not in page.evaluate(KEPT)[2]


def leave_things(context: BrowserContext, address: str) -> None:
    context.add_cookies([{"name": "left", "value": "1", "url": address}])
    page = context.new_page()
    page.goto("/accounts/login/")
    page.evaluate("() => { for (const one of [localStorage, sessionStorage]) one.left = 'yes'; }")
    assert page.evaluate(KEPT)[:2] == ["yes", "yes"]
    assert "left=1" in page.evaluate(KEPT)[2]
    context.route("**/*", lambda route: route.abort())
    context.set_offline(True)


def test_room_in_which_the_pages_were_closed_is_not_lent_again(rooms: Rooms):
    with rooms.lent() as first:
        first.close()
    with rooms.lent() as next_one:
        assert next_one is not first


def test_two_rooms_at_once_are_two_people(rooms: Rooms):
    with rooms.lent() as hers, rooms.lent() as his:
        assert hers is not his
