"""A browser context that was lent before: nothing of the test before is in it."""

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.journeys.drawing import touchscreen
from tests.journeys.rooms import SIZE, Rooms
from tests.support.stack import LiveStack


pytestmark = pytest.mark.browser

KEPT = "() => [localStorage.getItem('left'), sessionStorage.getItem('left'), document.cookie]"
PREFERS = (
    "() => matchMedia('(prefers-color-scheme: dark), (prefers-reduced-motion: reduce)').matches"
)


def test_room_lent_again_holds_nothing_of_the_test_before(rooms: Rooms, live_stack: LiveStack):
    with rooms.lent() as first:
        leave_things(first, live_stack.url)
    with rooms.lent() as again:
        page = again.pages[0]
        with page.expect_response("**/accounts/login/") as answer:
            page.goto("/accounts/login/")

        assert again is first
        assert answer.value.ok  # neither offline nor refused any more
        assert page.evaluate(KEPT)[:2] == [None, None]
        assert "left" not in page.evaluate(KEPT)[2]
        assert page.viewport_size == SIZE
        assert [page.evaluate("() => name"), presses_with_control(page)] == ["", False]
        assert not page.evaluate(PREFERS)


def leave_things(context: BrowserContext, address: str) -> None:
    context.add_cookies([{"name": "left", "value": "1", "url": address}])
    page = context.pages[0]
    page.goto("/accounts/login/")
    page.evaluate("() => { for (const one of [localStorage, sessionStorage]) one.left = 'yes'; }")
    assert page.evaluate(KEPT)[:2] == ["yes", "yes"]
    assert "left=1" in page.evaluate(KEPT)[2]
    page.evaluate("() => { name = 'left'; }")
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    assert page.evaluate(PREFERS)
    page.keyboard.down("Control")
    assert presses_with_control(page)
    page.route("**/accounts/**", lambda route: route.abort())
    context.route("**/*", lambda route: route.abort())
    context.set_offline(True)


def presses_with_control(page: Page) -> bool:
    page.evaluate(
        "() => addEventListener('keydown', (event) => { window.heard = event.ctrlKey; }, { once: true })"
    )
    page.keyboard.press("F9")
    return bool(page.evaluate("() => window.heard"))


def test_room_whose_page_has_fingers_is_not_lent_again(rooms: Rooms):
    with rooms.lent() as first:
        session = first.new_cdp_session(first.pages[0])
        session.send("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})
    with rooms.lent() as next_one:
        assert next_one is not first


def test_room_whose_page_had_fingers_for_a_while_is_lent_again(rooms: Rooms):
    with rooms.lent() as first, touchscreen(first.pages[0]):
        assert first.pages[0].evaluate("() => navigator.maxTouchPoints") > 0
    with rooms.lent() as again:
        assert again is first
        assert again.pages[0].evaluate("() => navigator.maxTouchPoints") == 0


def test_room_in_which_the_pages_were_closed_is_not_lent_again(rooms: Rooms):
    with rooms.lent() as first:
        first.close()
    with rooms.lent() as next_one:
        assert next_one is not first


def test_two_rooms_at_once_are_two_people(rooms: Rooms):
    with rooms.lent() as hers, rooms.lent() as his:
        assert hers is not his
