"""Nothing that floats over the canvas covers what is to be seen, and pickers stay over the canvas."""

from typing import Any

import pytest
from playwright.sync_api import FloatRect, Page, expect

from tests.journeys.canvas_document import edge, node, workflow
from tests.journeys.drawing import Board, open_board
from tests.journeys.seeing import box_of, steady


pytestmark = pytest.mark.browser

COVERED = """
  const boxes = [...document.querySelectorAll(".wf-tools, .wf-minimap, .steps-pill")].map((el) => el.getBoundingClientRect()).filter((b) => b.width);
  const nodes = [...document.querySelectorAll("wf-node")].map((el) => [el.dataset.title, el.getBoundingClientRect()]);
  const hits = (a, b) => a.left < b.right && a.right > b.left && a.top < b.bottom && a.bottom > b.top;
  return nodes.filter(([, at]) => boxes.some((b) => hits(at, b))).map(([title]) => title);
"""


def grid(columns: int, rows: int) -> dict[str, Any]:
    """As wide and high as wanted, with a node in each corner."""
    nodes = [
        node(f"n{x}_{y}", "template-transform", f"{x} {y}", x * 320, y * 160, template="x")
        for x in range(columns)
        for y in range(rows)
    ]
    return workflow("Grid", *nodes)


def test_all_in_view_lies_clear_of_overview_tools_and_first_steps(signed_in: Page):
    board = open_board(signed_in, grid(4, 4))
    signed_in.get_by_role("tab", name="Log").click()

    for width, height in ((1440, 900), (1024, 768), (1440, 1000)):
        signed_in.set_viewport_size({"width": width, "height": height})
        expect(signed_in.locator(".steps-pill")).to_be_visible()
        steady(signed_in, board.view)

        board.js("canvas.viewport.fit(canvas.bounds());")
        # So there is something to be kept clear of.
        assert steady(signed_in, lambda: board.js(COVERED)) != []

        board.js("canvas.fit();")
        assert steady(signed_in, lambda: board.js(COVERED)) == []


def test_picker_and_new_node_at_the_edge_of_the_view_are_in_sight(signed_in: Page):
    board = open_board(signed_in, grid(1, 1))
    check_node_added_at_the_edge_of_the_view_moves_it_no_further_than_needed(board)
    check_picker_opened_near_the_inspector_stays_over_the_canvas(board)


def check_picker_opened_near_the_inspector_stays_over_the_canvas(board: Board):
    signed_in = board.page
    board.js("canvas.editor.panel('run');")
    board.frame()
    canvas = box_of(signed_in.locator("[data-canvas]"))
    seen = steady(signed_in, board.view)

    signed_in.mouse.dblclick(canvas["x"] + canvas["width"] - 30, canvas["y"] + 60)
    expect(signed_in.locator("#picker-query")).to_be_focused()
    picker = box_of(signed_in.locator("#picker"))

    assert picker["x"] + picker["width"] <= canvas["x"] + canvas["width"]
    assert picker["y"] + picker["height"] <= canvas["y"] + canvas["height"]
    assert board.view() == seen


def check_node_added_at_the_edge_of_the_view_moves_it_no_further_than_needed(board: Board):
    signed_in = board.page
    canvas = box_of(signed_in.locator("[data-canvas]"))
    before = steady(signed_in, board.view)

    signed_in.mouse.dblclick(canvas["x"] + canvas["width"] - 60, canvas["y"] + 200)
    signed_in.locator("#picker-query").fill("template")
    signed_in.locator("#picker-query").press("Enter")
    board.until("return canvas.model.nodes.size === 2;")
    board.saved()

    after = steady(signed_in, board.view)
    assert after[1] == before[1]
    assert 0 < before[0] - after[0] < 240


def row(length: int) -> dict[str, Any]:
    """Nodes in a row, each with an edge to the next one."""
    nodes = [
        node(f"n{i}", "template-transform", f"N {i}", i * 320, 0, template="x")
        for i in range(length)
    ]
    return workflow("Row", *nodes, edges=[edge(f"n{i}", f"n{i + 1}") for i in range(length - 1)])


def test_panel_that_opens_keeps_the_selected_node_and_its_neighbours_in_view(signed_in: Page):
    board = open_board(signed_in, row(9))
    # The last three stand at the right end of the canvas, the first one far outside.
    board.js("const v = canvas.viewport; v.set(v.width - 8.9 * 320 * 0.8, v.height / 2, 0.8);")
    board.js("canvas.pick(['n7']);")
    steady(signed_in, board.view)
    shown = [signed_in.locator(f'wf-node[data-id="n{i}"]') for i in (6, 7, 8)]

    signed_in.get_by_role("button", name="Toggle right panel").click()
    expect(signed_in.locator(".ed-right")).to_be_visible()

    canvas = box_of(signed_in.locator("[data-canvas]"))
    for card in shown:
        box = box_of(card)
        assert canvas["x"] <= box["x"]
        assert box["x"] + box["width"] <= canvas["x"] + canvas["width"]


def test_nodes_in_a_row_are_seen_from_far_away_covered_by_nothing_and_grouped(signed_in: Page):
    board = open_board(signed_in, row(3))
    check_mark_and_titles_are_seen_from_far_away_and_the_plus_covers_no_node(board)
    check_message_lies_over_no_node(board)
    board.js("canvas.fit();")
    steady(signed_in, board.view)
    check_several_nodes_are_grouped_from_their_panel(board)


def check_message_lies_over_no_node(board: Board):
    signed_in = board.page
    # In the middle of the lower edge, where messages are shown otherwise.
    board.js("const v = canvas.viewport; v.set(v.width / 2 - 450, v.height - 110, 1);")
    steady(signed_in, board.view)

    def say() -> FloatRect | None:
        """Say it again at each look: the message is shown for seconds only."""
        board.js("canvas.editor.say('Run succeeded');")
        return signed_in.locator("#canvas-message").bounding_box()

    message = steady(signed_in, say)
    card = box_of(signed_in.locator('wf-node[data-id="n1"]'))
    assert message["y"] + message["height"] < card["y"]


def check_mark_and_titles_are_seen_from_far_away_and_the_plus_covers_no_node(board: Board):
    signed_in = board.page
    board.js("canvas.viewport.zoomTo(1 / 3);")
    board.js("canvas.paintNode('n1', { breakpoint: true });")
    size = "return parseFloat(getComputedStyle(document.querySelector('wf-node[data-breakpoint]'), '::after').width) * canvas.viewport.k;"
    assert board.js(size) >= 10
    board.js("canvas.viewport.zoomTo(0.1);")
    assert board.js(size) >= 10
    board.js("canvas.viewport.zoomTo(1 / 3);")
    expect(signed_in.locator("wf-node .wf-names small").first).to_be_hidden()

    start, end = board.port("n0"), board.port("n1", "target", out=False)
    signed_in.mouse.move((start[0] + end[0]) / 2 - 1, start[1])
    signed_in.mouse.move((start[0] + end[0]) / 2, start[1])
    plus = box_of(signed_in.locator(".plus"))

    assert start[0] <= plus["x"]
    assert plus["x"] + plus["width"] <= end[0]


def check_several_nodes_are_grouped_from_their_panel(board: Board):
    signed_in = board.page
    signed_in.get_by_role("button", name="Toggle right panel").click()
    board.js("canvas.pick(['n0', 'n1']); canvas.editor.panel('node');")
    signed_in.locator("#panel-node").get_by_role("button", name="Group nodes").click()

    dialog = signed_in.get_by_role("dialog", name="Group nodes")
    asked = box_of(dialog)
    assert asked["y"] + asked["height"] < box_of(signed_in.locator('wf-node[data-id="n0"]'))["y"]
    dialog.get_by_label("Group name").fill("Both")
    dialog.get_by_role("button", name="Group nodes").click()
    board.until("return [...canvas.model.nodes.values()].some((each) => each.isNote);")


ANNOUNCE = """
  const { editor } = canvas;
  const message = document.getElementById("canvas-message");
  const tell = (name, number, data) => {
    message.textContent = "";
    const detail = { run: "r1", name, number, data };
    editor.root.dispatchEvent(new CustomEvent("run-event", { detail }));
    return message.textContent;
  };
  const pause = { nodes: ["n0"], reason: "input" };
  const open = (status) => editor.runs.open({ id: "r1", status, seen: 4, events: "/nowhere/", page: "" });
"""


def test_ends_of_runs_are_announced_once_and_to_who_does_not_see_them(signed_in: Page):
    board = open_board(signed_in, row(2))
    check_only_what_happens_from_now_on_is_announced(board)
    check_end_of_a_run_is_not_announced_over_the_chat_that_shows_its_answer(board)


def check_only_what_happens_from_now_on_is_announced(board: Board):
    live = board.js(
        ANNOUNCE
        + """
        open("paused");
        const end = { status: "failed" };
        return [tell("run_paused", 4, pause), tell("run_paused", 6, pause), tell("run_finished", 7, end)];
        """
    )
    ended = board.js(
        ANNOUNCE
        + """
        open("succeeded");
        return [tell("run_paused", 3, pause), tell("run_finished", 8, { status: "succeeded" })];
        """
    )

    assert live == ["", "Waiting for an answer", "Run failed"]
    assert ended == ["", ""]


def check_end_of_a_run_is_not_announced_over_the_chat_that_shows_its_answer(board: Board):
    texts = board.js(
        ANNOUNCE
        + """
        editor.root.dataset.mode = "advanced-chat";
        const turn = document.createElement("a");
        turn.dataset.why = "r1";
        document.getElementById("panel-run").append(turn);
        const end = (number) => tell("run_finished", number, { status: "succeeded" });
        editor.panel("run");
        open("running");
        const whenOpen = end(8);
        document.getElementById("panel-run").hidden = true;
        return [whenOpen, end(9)];
        """
    )

    assert texts == ["", "Run succeeded"]


def branches() -> dict[str, Any]:
    """A condition with cases that differ in their ends alone."""
    cases = [
        {
            "case_id": f"case{i}",
            "logical_operator": "and",
            "conditions": [
                {
                    "variable_selector": ["begin", "dialogue_count"],
                    "comparison_operator": "=",
                    "value": str(i),
                }
            ],
        }
        for i in range(1, 4)
    ]
    targets = [
        node(f"q{i}", "template-transform", f"问题{i}", 640, i * 160, template="x")
        for i in range(1, 4)
    ]
    return workflow(
        "Branches",
        node("begin", "start", "Begin", 0, 0, variables=[]),
        node("which", "if-else", "Which?", 320, 0, cases=cases),
        *targets,
        edges=[edge("begin", "which"), *(edge("which", f"q{i}", f"case{i}") for i in range(1, 4))],
    )


# The width of what is written and of what is shown, of the ends of a row's ways and of where they lead.
CUT = """() => [...document.querySelectorAll("#outline .ol-way-end, #outline .ol-target")]
  .filter((el) => el.scrollWidth > el.clientWidth).map((el) => el.textContent)"""


def test_outline_shows_the_end_of_each_condition_and_where_it_leads(signed_in: Page):
    board = open_board(signed_in, branches())
    board.js("canvas.editor.panels.toggle('left'); canvas.editor.panel('outline');")
    row = signed_in.locator("#outline [data-row=which]")

    expect(row.locator(".ol-way-end")).to_have_text(["= 1:", "= 2:", "= 3:"])
    expect(row.locator(".ol-target")).to_have_text(["问题1", "问题2", "问题3"])
    assert signed_in.evaluate(CUT) == []


def test_state_of_a_node_has_no_words_where_they_would_cover_its_neighbours(signed_in: Page):
    board = open_board(signed_in, grid(2, 1))
    board.js("canvas.paintNode('n0_0', { state: 'skipped' }); canvas.viewport.zoomTo(0.5);")
    strip = signed_in.locator("wf-node[data-id=n0_0] .wf-state")
    expect(strip.locator("[data-word]")).to_have_text("Skipped")
    expect(strip.locator("[data-word]")).to_be_visible()

    board.js("canvas.viewport.zoomTo(0.24);")

    expect(strip.locator("[data-word]")).to_be_hidden()
    expect(strip.locator(".icon")).to_be_visible()
    expect(signed_in.locator("wf-node[data-id=n0_0]")).to_have_attribute(
        "aria-description", "Skipped"
    )


@pytest.mark.parametrize("is_in_panel", [True, False])
def test_failure_is_told_once(signed_in: Page, *, is_in_panel: bool):
    board = open_board(signed_in, row(2))

    texts = board.js(
        ANNOUNCE
        + f"const isInPanel = {str(is_in_panel).lower()};"
        + """
        open("running");
        if (isInPanel) {
          const card = document.createElement("a");
          card.dataset.why = "r1";
          document.getElementById("panel-run").append(card);
        }
        const failed = { node: "n0", kind: "code", status: "failed", at: 1, elapsed: 0.1, error: "Out of order" };
        tell("node_state_change", 5, failed);
        tell("run_finished", 6, { status: "failed", error: "Out of order", error_node: "n0" });
        const shown = [...editor.root.querySelectorAll("[data-run-words], [data-log-rows] [data-error]:not([hidden])")];
        return shown.map((el) => el.textContent).filter(Boolean);
        """
    )

    assert texts == ([] if is_in_panel else ["Out of order"])
