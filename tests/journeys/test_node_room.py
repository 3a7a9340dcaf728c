"""A node that is put onto an edge has room: others make way, and no card lies on another one or on the mark of its run."""

from itertools import permutations
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.canvas_document import edge, node
from tests.journeys.drawing import Board, open_board
from tests.support.cases import for_each


pytestmark = pytest.mark.browser

STATE_ROOM = 40  # below a card, where the mark of a run lies at every zoom
CASE = {
    "case_id": "true",
    "logical_operator": "and",
    "conditions": [
        {"variable_selector": ["sys", "user_id"], "comparison_operator": "not empty", "value": ""}
    ],
}
BOXES = """return Object.fromEntries([...canvas.model.nodes.values()].map((n) => [n.id, [n.x, n.y, n.w, n.h]]));"""
# The pixels that a mark and the card of another node have in common.
COVERED = """() => [...document.querySelectorAll("wf-node > .wf-state")].filter((mark) => mark.checkVisibility()).flatMap((mark) => {
  const a = mark.getBoundingClientRect();
  return [...document.querySelectorAll("wf-node > .wf-card")].map((card) => card.getBoundingClientRect())
    .filter((b) => a.left < b.right && a.right > b.left && a.top < b.bottom && a.bottom > b.top)
    .map((b) => [mark.textContent, a.top, b.top]);
})"""


def text(id_: str, x: float, y: float) -> dict[str, Any]:
    return node(id_, "template-transform", id_.title(), x, y, template="x", variables=[])


def build(nodes: list[dict[str, Any]], edges: list[dict[str, Any]]) -> dict[str, Any]:
    graph = {"nodes": [node("start", "start", "Start", 0, 0, variables=[]), *nodes], "edges": edges}
    app = {"name": "Room", "mode": "workflow"}
    return {"version": "0.6.0", "kind": "app", "app": app, "workflow": {"graph": graph}}


END = node("end", "end", "End", 1280, 0, outputs=[{"variable": "o", "value_selector": ["c", "output"]}])  # fmt: skip
TWO_ROWS = build(
    [node("if", "if-else", "If", 320, 0, cases=[CASE]), text("a", 640, 0), text("b", 640, 104), text("c", 960, 0), END],
    [edge("start", "if"), edge("if", "a", "true"), edge("if", "b", "false"), edge("a", "c"), edge("b", "c"), edge("c", "end")],
)  # fmt: skip
# "Aside" is on no path behind "a", and stands where "c" arrives; "below" is near the row.
IN_THE_WAY = build(
    [text("a", 320, 0), text("c", 640, 0), text("aside", 980, 24), text("below", 330, 80), END],
    [edge("start", "a"), edge("a", "c"), edge("c", "end"), edge("start", "below"), edge("below", "aside")],
)  # fmt: skip


def insert(board: Board, between: tuple[str, str], kind: str) -> str:
    """By the menu of the edge."""
    known = set(board.js(BOXES))
    source, target = between
    board.js(
        "const e = [...canvas.model.edges.values()].find((e) => e.from === args[0] && e.to === args[1]); canvas.pick([e.id]);",
        source, target,
    )  # fmt: skip
    board.js("canvas.editor.commands.run('insert-here');")
    field = board.page.locator("#picker-query")
    expect(field).to_be_focused()
    field.fill(kind)
    expect(board.page.locator("#picker [aria-selected=true]")).to_be_visible()
    field.press("Enter")
    board.until(f"return canvas.model.nodes.size === {len(known) + 1};")
    [new] = set(board.js(BOXES)) - known
    return str(new)


def find_near(boxes: dict[str, list[float]]) -> list[tuple[str, str]]:
    """Return the nodes that lie on another one, or on the room for its mark."""
    return [
        (one, other)
        for one, other in permutations(boxes, 2)
        if boxes[one][0] < boxes[other][0] + boxes[other][2]
        and boxes[other][0] < boxes[one][0] + boxes[one][2]
        and boxes[one][1] <= boxes[other][1] < boxes[one][1] + boxes[one][3] + STATE_ROOM
    ]


@for_each(
    "source, between, kind",
    [
        (TWO_ROWS, ("if", "a"), "template"),
        (TWO_ROWS, ("if", "a"), "if/else"),
        (TWO_ROWS, ("if", "b"), "template"),
        (TWO_ROWS, ("b", "c"), "template"),
        (IN_THE_WAY, ("a", "c"), "template"),
        (IN_THE_WAY, ("start", "a"), "template"),
    ],
)
def test_node_put_onto_an_edge_lies_on_no_other_one(
    signed_in: Page, source: dict[str, Any], between: tuple[str, str], kind: str
):
    board = open_board(signed_in, source)
    before = board.js(BOXES)

    new = insert(board, between, kind)

    boxes = board.js(BOXES)
    assert [pair for pair in find_near(boxes) if pair not in find_near(before)] == []
    assert boxes[new][0] >= boxes[between[0]][0] + boxes[between[0]][2]
    assert boxes[between[1]][0] >= boxes[new][0] + boxes[new][2]
    assert {one["id"]: tuple(one["position"].values()) for one in board.graph()["nodes"]} == {
        id_: (x, y) for id_, (x, y, _width, _height) in boxes.items()
    }


def test_rows_make_room_and_views_come_back_when_an_insertion_is_undone(signed_in: Page):
    board = open_board(signed_in, TWO_ROWS)
    check_view_that_an_insertion_changed_comes_back_when_it_is_undone(board)
    check_view_that_somebody_moved_since_an_insertion_stays_when_it_is_undone(board)
    check_row_below_a_high_node_moves_down_as_a_whole(board)


def check_row_below_a_high_node_moves_down_as_a_whole(board: Board):
    new = insert(board, ("if", "a"), "if/else")

    boxes = board.js(BOXES)
    assert boxes[new][:2] == [640, 0]
    assert boxes["b"][:2] == [640, 160]
    assert [boxes[id_][1] for id_ in ("start", "if", "a", "c", "end")] == [0] * 5


def check_view_that_an_insertion_changed_comes_back_when_it_is_undone(board: Board):
    board.js("canvas.fit();")
    board.frame()
    before = board.view()

    insert(board, ("if", "a"), "template")
    board.until(f"return canvas.viewport.k < {before[2]};")
    board.page.keyboard.press("Control+z")

    board.until(f"return canvas.viewport.k === {before[2]};")
    assert board.view() == before
    assert len(board.js(BOXES)) == 6


def check_view_that_somebody_moved_since_an_insertion_stays_when_it_is_undone(board: Board):
    board.js("canvas.fit();")
    board.frame()
    before = board.view()

    insert(board, ("if", "a"), "template")
    board.until(f"return canvas.viewport.k < {before[2]};")
    board.js("canvas.viewport.set(canvas.viewport.x + 40, canvas.viewport.y);")
    after = board.view()
    board.page.keyboard.press("Control+z")
    board.until("return canvas.model.nodes.size === 6;")
    board.saved()

    assert board.view() == after


def test_marks_of_a_run_lie_on_no_card(signed_in: Page):
    board = open_board(signed_in, TWO_ROWS)
    page = board.page
    for between in (("if", "a"), ("b", "c")):
        new = insert(board, between, "template")
        board.js(
            "return canvas.editor.edits.send([{op: 'set', id: args[0], path: ['template'], value: 'x'}], {label: 'x'}).then(() => true);",
            new,
        )
    board.saved()

    page.keyboard.press("Control+Enter")
    expect(page.locator('wf-node[data-id="end"][data-state="completed"]')).to_be_visible()

    assert page.evaluate(COVERED) == []
