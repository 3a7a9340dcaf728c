"""Fingers on the canvas: one pans, taps, holds and moves, and two pinch."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import CDPSession, Page, expect

from tests.journeys.drawing import Board, Point, open_board, touches, touchscreen
from tests.journeys.seeing import steady


pytestmark = pytest.mark.browser

Finger = Callable[..., None]
NEVER = (
    10**9
)  # ms before a press counts as long, so that a slow machine doesn't make one of a short one
# The browser scrolls with its own frames, so that a finger moves in steps that are all seen.
STEPS = 8


@pytest.fixture
def screen(signed_in: Page) -> Iterator[CDPSession]:
    """The page is on a touchscreen before it is laid out, since fingers get larger buttons."""
    with touchscreen(signed_in) as session:
        yield session


@pytest.fixture
def board(signed_in: Page, screen: CDPSession) -> Board:
    return open_board(signed_in)


@pytest.fixture
def finger(screen: CDPSession) -> Finger:
    def send(kind: str, *points: Point) -> None:
        touches(screen, kind, *points)

    return send


def begin_anew(board: Board) -> None:
    """Select nothing, show all, and let no press count as long."""
    board.js("canvas.pick([]); canvas.fit(); canvas.pointers.longPress.delay = args[0];", NEVER)
    steady(board.page, board.view)


def swipe(board: Board, finger: Finger, start: Point, by: float) -> None:
    for step in range(1, STEPS + 1):
        finger("touchMove", (start[0] + by * step / STEPS, start[1]))
        board.frame()


def tap(finger: Finger, point: Point) -> None:
    finger("touchStart", point)
    finger("touchEnd")


def check_finger_on_a_node_that_is_not_selected_pans(board: Board, finger: Finger):
    node, x = board.node("loose"), board.view()[0]
    start = board.inside("loose")

    finger("touchStart", start)
    swipe(board, finger, start, 120)
    finger("touchEnd")

    assert steady(board.page, board.view)[0] > x + 60
    assert board.node("loose") == node
    assert board.chosen() == set()


def check_finger_moves_a_node_that_it_has_selected(board: Board, finger: Finger):
    tap(finger, board.inside("loose"))
    board.until("return canvas.selection.size === 1 && canvas.selection.has('loose');")
    node, view = board.node("loose"), board.view()
    start = board.inside("loose")

    finger("touchStart", start)
    swipe(board, finger, start, 80)
    finger("touchEnd")

    assert board.node("loose")["x"] > node["x"] + 30
    assert board.view() == view
    assert board.stored("loose")["position"]["x"] == board.node("loose")["x"]


def test_one_finger_selects_pans_and_moves(board: Board, finger: Finger):
    for check in (
        check_finger_moves_a_node_that_it_has_selected,
        check_finger_on_a_node_that_is_not_selected_pans,
        check_second_finger_takes_a_move_back,
    ):
        begin_anew(board)
        check(board, finger)


def test_finger_that_rests_holds_a_node_and_two_pinch(board: Board, finger: Finger):
    for delay in (NEVER, 1):
        begin_anew(board)
        check_pinch_that_begins_on_a_node_selects_and_moves_nothing(board, finger, delay)
    for check in (
        check_finger_that_rests_on_a_node_holds_it_and_moves_it,
        check_node_that_was_held_without_a_move_opens_its_menu,
    ):
        begin_anew(board)
        check(board, finger)


def check_finger_that_rests_on_a_node_holds_it_and_moves_it(board: Board, finger: Finger):
    board.js("canvas.pointers.longPress.delay = 1;")
    node, view = board.node("loose"), board.view()
    start = board.inside("loose")

    finger("touchStart", start)
    expect(board.page.locator("wf-node[data-id=loose].held")).to_be_visible()
    swipe(board, finger, start, 80)
    finger("touchEnd")

    expect(board.page.locator("wf-node.held")).to_have_count(0)
    assert board.node("loose")["x"] > node["x"] + 30
    assert board.view() == view
    assert board.chosen() == {"loose"}


def check_node_that_was_held_without_a_move_opens_its_menu(board: Board, finger: Finger):
    board.js("canvas.pointers.longPress.delay = 1;")
    node = board.node("loose")

    finger("touchStart", board.inside("loose"))
    expect(board.page.locator("wf-node[data-id=loose].held")).to_be_visible()
    expect(board.page.locator("#context-menu")).to_be_hidden()
    finger("touchEnd")

    expect(board.page.locator("#context-menu")).to_be_visible()
    assert board.node("loose") == node


def pinch(board: Board, finger: Finger, start: Point) -> None:
    """Put a second finger beside the first one, and move them apart."""
    for step in range(STEPS + 1):
        kind = "touchMove" if step else "touchStart"
        finger(kind, (start[0] - 10 * step, start[1]), (start[0] + 60 + 10 * step, start[1]))
        board.frame()
    finger("touchEnd")


def check_pinch_that_begins_on_a_node_selects_and_moves_nothing(
    board: Board, finger: Finger, delay: int
):
    board.js("canvas.pointers.longPress.delay = args[0];", delay)
    node, k = board.node("loose"), board.view()[2]
    start = board.inside("loose")

    finger("touchStart", start)
    if delay != NEVER:
        expect(board.page.locator("wf-node[data-id=loose].held")).to_be_visible()
    pinch(board, finger, start)

    assert steady(board.page, board.view)[2] > k * 1.4
    assert board.node("loose") == node
    assert board.chosen() == set()


def check_second_finger_takes_a_move_back(board: Board, finger: Finger):
    board.js("canvas.pick(['loose']);")
    node, start = board.node("loose"), board.inside("loose")

    finger("touchStart", start)
    swipe(board, finger, start, 80)
    board.until("return canvas.pointers.gesture?.name === 'drag';")
    finger("touchStart", (start[0] + 80, start[1]), (start[0] + 160, start[1]))
    finger("touchEnd")

    board.until("return !canvas.pointers.gesture;")
    assert board.node("loose") == node
    assert board.stored("loose")["position"]["x"] == node["x"]
