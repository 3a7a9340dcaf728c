"""What a mouse does on the canvas, and that the draft on the server is what was drawn."""

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.drawing import Board, open_board, touches, touchscreen
from tests.journeys.seeing import ready, steady


pytestmark = pytest.mark.browser


@pytest.fixture
def board(signed_in: Page) -> Board:
    return open_board(signed_in)


def moved(point: tuple[float, float], x: float, y: float) -> tuple[float, float]:
    return point[0] + x, point[1] + y


def test_canvas_is_drawn_pointed_at_and_moved_without_a_change(signed_in: Page, board: Board):
    check_first_picture_is_the_servers(signed_in, board)
    check_edges_end_at_the_ports_that_are_drawn(board)
    check_keyboard_lands_on_one_node_and_names_it(board)
    check_escape_puts_a_dragged_node_back(board)
    check_connection_that_makes_no_sense_is_dimmed_with_its_reason(board)
    check_port_let_go_over_nothing_asks_what_to_add(board)
    check_background_pans_shift_chooses_and_click_lets_go(board)
    check_middle_button_and_space_pan_over_a_node(board)
    check_wheel_with_control_zooms_where_the_pointer_is(board)


def check_first_picture_is_the_servers(signed_in: Page, board: Board):
    html = signed_in.request.get(f"/workflows/{board.workflow}/").text()

    assert 'data-id="recall"' in html
    assert "#node-recall{left:320px;top:80px" in html
    assert " style=" not in html.partition("data-canvas")[2].partition("wf-corner")[0]


def check_dragged_node_snaps_and_is_stored(board: Board):
    before = board.node("loose")

    board.drag(board.inside("loose"), moved(board.inside("loose"), 70, 45))

    after = board.node("loose")
    assert after["x"] > before["x"] + 40
    assert (after["x"], after["y"]) != (before["x"], before["y"])
    assert board.stored("loose")["position"] == {"x": after["x"], "y": after["y"]}


def check_escape_puts_a_dragged_node_back(board: Board):
    before, mouse = board.node("loose"), board.page.mouse

    mouse.move(*board.inside("loose"))
    mouse.down()
    mouse.move(*moved(board.inside("loose"), 90, 30), steps=5)
    board.frame()
    assert board.node("loose")["x"] != before["x"]
    board.page.keyboard.press("Escape")
    mouse.up()

    assert board.node("loose") == before


def test_edges_are_drawn_and_moved(board: Board):
    check_port_dragged_to_a_node_connects(board)
    check_edge_taken_off_its_port_and_put_on_another(board)
    check_edge_let_go_over_nothing_is_cut(board)


def check_port_dragged_to_a_node_connects(board: Board):
    board.drag(board.port("loose"), board.port("finish", "target", out=False))

    assert ("loose", "source", "finish") in board.stored_edges()
    expect(board.page.locator('wf-node[data-id="finish"]')).to_have_attribute("data-joins", "3")


REFUSED = {
    "start": "This node has no input.",
    "recall": "This connection would create a cycle",
    "inner": "border of a container",
}


def check_connection_that_makes_no_sense_is_dimmed_with_its_reason(board: Board):
    before, mouse = board.edges(), board.page.mouse

    for target, reason in REFUSED.items():
        mouse.move(*board.port("choose", "urgent"))
        mouse.down()
        mouse.move(*moved(board.inside(target), 4, 4), steps=6)
        expect(board.page.locator(".wf-tip")).to_contain_text(reason)
        expect(board.page.locator(f'wf-node[data-id="{target}"]')).to_have_class("refused")
        mouse.up()

        assert board.edges() == before
        expect(board.page.locator("wf-node.refused")).to_have_count(0)
        expect(board.page.locator("#picker")).to_be_hidden()


def check_edge_taken_off_its_port_and_put_on_another(board: Board):
    end = board.port("reply", "target", out=False)
    board.drag(moved(end, -8, 0), board.port("loose", "target", out=False))

    edges = board.stored_edges()
    assert ("choose", "urgent", "loose") in edges
    assert ("choose", "urgent", "reply") not in edges


def check_edge_let_go_over_nothing_is_cut(board: Board):
    assert ("choose", "false", "each") in board.stored_edges()
    end = board.port("each", "target", out=False)
    board.drag(moved(end, -8, 0), moved(end, -200, 40))

    assert ("choose", "false", "each") not in board.stored_edges()


def check_port_let_go_over_nothing_asks_what_to_add(board: Board):
    board.js(
        "window.asked = null; canvas.editor.addEventListener('connect-void', (e) => (window.asked = e.detail));"
    )

    board.drag(board.port("loose"), moved(board.port("loose"), 60, 90))

    board.until("return window.asked;")
    asked = board.js("return window.asked;")
    assert (asked["from"], asked["handle"], asked["scope"]) == ("loose", "source", "root")
    board.page.keyboard.press("Escape")


def check_node_dropped_on_an_edge_stands_between(board: Board):
    middle = board.js(
        """const e = [...canvas.model.edges.values()].find((e) => e.to === 'finish' && e.from === 'reply'), [x1, y1, x2, y2] = canvas.model.ends(e);
        return canvas.toClient((x1 + x2) / 2, (y1 + y2) / 2);"""
    )
    board.drag(board.inside("loose", 0.5, 0.5), (middle[0], middle[1]))

    edges = board.stored_edges()
    assert {("reply", "source", "loose"), ("loose", "source", "finish")} <= edges
    assert ("reply", "source", "finish") not in edges


def check_node_goes_into_a_container_and_out_again(board: Board):
    # from the group's frame into the free room of the iteration
    board.drag(board.inside("loose"), board.inside("each", 0.8, 0.85))
    assert board.node("loose")["scope"] == "each"
    assert board.stored("loose")["parentId"] == "each"

    board.drag(board.inside("loose"), moved(board.inside("each", 0.5, 1.0), 0, 120))
    assert board.node("loose")["scope"] == "root"
    assert "parentId" not in board.stored("loose")


def test_containers_are_moved_enlarged_and_folded(board: Board):
    check_container_takes_its_inside_along_and_grows_at_its_corner(board)
    check_container_drawn_anew_while_its_corner_is_pulled_keeps_the_hands_size(board)
    check_container_folds_and_is_looked_into(board)


def check_container_takes_its_inside_along_and_grows_at_its_corner(board: Board):
    begun = board.inside("inner")
    inner = board.node("inner")

    board.drag(board.inside("each", 0.5, 0.1), moved(board.inside("each", 0.5, 0.1), 40, 24))
    assert board.inside("inner")[0] > begun[0] + 20
    assert board.node("inner") == inner  # in its container's coordinates

    corner = moved(board.inside("each", 1.0, 1.0), -4, -4)
    board.drag(corner, moved(corner, 60, 30))
    assert board.stored("each")["width"] > 520


def check_container_drawn_anew_while_its_corner_is_pulled_keeps_the_hands_size(board: Board):
    corner, mouse = moved(board.inside("each", 1.0, 1.0), -4, -4), board.page.mouse
    before = board.node("each")["w"]

    mouse.move(*corner)
    mouse.down()
    mouse.move(*moved(corner, 60, 30), steps=4)
    board.frame()
    wide = board.node("each")["w"]
    assert wide > before + 40
    # what the answer to an earlier gesture, or somebody else's edit of this node, brings
    board.js(
        """const fresh = canvas.model.nodes.get("each").el.cloneNode(true);
        for (const el of [fresh, ...fresh.querySelectorAll("[style]")]) el.removeAttribute("style");
        canvas.apply({ ops: [], html: { nodes: { each: fresh.outerHTML }, edges: {}, gone: [] } });"""
    )
    assert board.node("each")["w"] == wide
    mouse.up()

    assert board.stored("each")["width"] == wide


def check_container_folds_and_is_looked_into(board: Board):
    page = board.page
    box = page.locator('wf-node[data-id="each"]')

    box.get_by_role("button", name="Collapse or expand").click()
    expect(page.locator('wf-node[data-id="inner"]')).to_be_hidden()
    page.reload()
    ready(page)
    expect(page.locator('wf-node[data-id="inner"]')).to_be_hidden()  # as this person left it
    box.get_by_role("button", name="Collapse or expand").click()
    expect(page.locator('wf-node[data-id="inner"]')).to_be_visible()

    box.get_by_role("button", name="Open container").click()
    expect(page.locator('wf-node[data-id="recall"]')).to_be_hidden()
    crumbs = page.get_by_role("navigation", name="Breadcrumbs")
    expect(crumbs).to_contain_text("For each item")
    crumbs.get_by_role("button", name="Workflow").click()
    expect(page.locator('wf-node[data-id="recall"]')).to_be_visible()


def test_nodes_are_dragged(board: Board):
    check_group_takes_along_what_lies_in_it(board)
    check_dragged_node_snaps_and_is_stored(board)
    check_node_goes_into_a_container_and_out_again(board)
    check_node_dropped_on_an_edge_stands_between(board)


def check_group_takes_along_what_lies_in_it(board: Board):
    loose = board.node("loose")

    board.drag(board.inside("frame", 0.05, 0.9), moved(board.inside("frame", 0.05, 0.9), 0, 40))

    assert board.node("loose")["y"] > loose["y"] + 20
    assert board.stored("loose")["position"]["y"] == board.node("loose")["y"]


def check_background_pans_shift_chooses_and_click_lets_go(board: Board):
    empty = moved(board.inside("start"), 0, -120)
    x, y, _ = board.view()

    board.drag(empty, moved(empty, 50, 30))
    assert steady(board.page, board.view)[:2] == pytest.approx((x + 50, y + 30), abs=1)

    page = board.page
    page.keyboard.down("Shift")
    board.drag(
        moved(board.inside("start", 0, 0), -10, -10), moved(board.inside("recall", 1, 1), 6, 6)
    )
    page.keyboard.up("Shift")
    assert board.chosen() >= {"start", "recall"}
    board.page.mouse.click(*moved(board.inside("start"), 0, -90))
    assert board.chosen() == set()


def check_middle_button_and_space_pan_over_a_node(board: Board):
    x, _y, _k = board.view()
    node = board.node("recall")

    board.drag(board.inside("recall"), moved(board.inside("recall"), 40, 0), button="middle")
    board.page.keyboard.down("Space")
    board.drag(board.inside("recall"), moved(board.inside("recall"), 40, 0))
    board.page.keyboard.up("Space")

    assert steady(board.page, board.view)[0] == pytest.approx(x + 80, abs=1)
    assert board.node("recall") == node


def check_wheel_with_control_zooms_where_the_pointer_is(board: Board):
    page, before = board.page, board.inside("choose")
    _x, _y, k = board.view()

    page.mouse.move(*before)
    for _ in range(5):
        board.zoom(-60)

    assert board.view()[2] > k * 1.3
    assert board.inside("choose") == pytest.approx(before, abs=2)
    page.get_by_role("button", name="Zoom to fit").click()
    assert steady(page, board.view)[2] == pytest.approx(k, rel=0.02)


def test_two_fingers_zoom(board: Board):
    _x, _y, k = board.view()
    empty = moved(board.inside("start"), 0, -140)

    with touchscreen(board.page) as session:
        touches(session, "touchStart", empty, moved(empty, 60, 0))
        for i in range(1, 8):
            touches(session, "touchMove", moved(empty, -10 * i, 0), moved(empty, 60 + 10 * i, 0))
            board.frame()
        touches(session, "touchEnd")

    assert steady(board.page, board.view)[2] > k * 1.4


def check_edges_end_at_the_ports_that_are_drawn(board: Board):
    gaps = board.js(
        """return [...canvas.model.edges.values()].flatMap((edge) => {
          const svg = edge.el.getScreenCTM(), length = edge.el.getTotalLength();
          return [[0, edge.from, edge.fp, true], [length, edge.to, edge.tp, false]].map(([at, id, port, out]) => {
            const end = edge.el.getPointAtLength(at).matrixTransform(svg);
            const dot = canvas.portElement(canvas.model.nodes.get(id), port, out).getBoundingClientRect();
            return Math.hypot(end.x - dot.x - dot.width / 2, end.y - dot.y - dot.height / 2);
          });
        });"""
    )

    assert len(gaps) == 14
    assert max(gaps) < 1.5


def check_keyboard_lands_on_one_node_and_names_it(board: Board):
    board.js("canvas.focus('reply');")

    focused = board.page.locator(":focus")
    expect(focused).to_have_attribute("data-id", "reply")
    expect(focused).to_have_accessible_name(
        "Answer, LLM, The offline demo model answers until a model is connected on the page Models."
    )
    assert board.js("return canvas.neighbours('choose', 'right');") == ["reply", "each"]
    assert board.js("return canvas.neighbours('choose', 'left');") == ["recall"]
    assert board.js("return document.querySelectorAll('.wf-pane [tabindex=\"0\"]').length;") == 0
