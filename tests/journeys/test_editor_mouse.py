"""The editor's features by mouse: palette, pickers at the pointer, the menu, notes, dropped files, the outline."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.journeys.canvas_document import edge, workflow
from tests.journeys.canvas_document import node as made
from tests.journeys.chatting import copy_sample
from tests.journeys.drawing import Board, open_board
from tests.journeys.editing import Draft, open_sample
from tests.journeys.seeing import box_of, middle, ready, steady, until


pytestmark = pytest.mark.browser


@pytest.fixture
def draft(signed_in: Page) -> Draft:
    return open_sample(signed_in)


EDGE_MIDDLE = """([from, to]) => {
  const named = (t) => [...document.querySelectorAll("wf-node")].find((n) => n.dataset.title === t).dataset.id;
  const path = document.querySelector(`.wf-edge[data-from="${named(from)}"][data-to="${named(to)}"]`);
  const p = path.getPointAtLength(path.getTotalLength() / 2).matrixTransform(path.getScreenCTM());
  return [p.x, p.y];
}"""


def between(draft: Draft, source: str, target: str) -> tuple[float, float]:
    """On the edge from one to the other, as it is drawn."""
    x, y = steady(draft.page, lambda: draft.page.evaluate(EDGE_MIDDLE, [source, target]))
    return x, y


def check_kind_dragged_from_the_palette_lands_where_it_was_let_go(draft: Draft):
    page = draft.page
    page.get_by_role("banner").get_by_role("button", name="Add node").click()
    page.get_by_role("searchbox", name="Search nodes").fill("recall")
    item = page.locator('[data-add-kind="memory-recall"]')
    expect(page.locator("[data-add-kind]:visible")).to_have_count(1)
    # The best match comes first, whatever its family: Enter adds it.
    for query, best in (("if", "if-else"), ("http", "http-request"), ("code", "code")):
        page.get_by_role("searchbox", name="Search nodes").fill(query)
        first = page.locator("[data-add-kind]:visible").first
        expect(first).to_have_attribute("data-add-kind", best)
    page.get_by_role("searchbox", name="Search nodes").fill("recall")

    canvas = box_of(page.locator("[data-canvas]"))
    page.mouse.move(*middle(item))
    page.mouse.down()
    page.mouse.move(canvas["x"] + 200, canvas["y"] + 600, steps=8)
    page.mouse.up()

    draft.heard(re.compile("Recall 2"))
    expect(draft.node("Recall 2")).to_be_visible()
    assert "Recall 2" in draft.titles.values()
    assert not any("Recall 2" in (a, b) for a, _, b in draft.ends)


def check_kind_dropped_on_an_edge_is_inserted(draft: Draft):
    page = draft.page
    page.get_by_role("banner").get_by_role("button", name="Add node").click()
    edge = between(draft, "Recall", "Generate answer")
    item = page.locator('[data-add-kind="template-transform"]')
    item.scroll_into_view_if_needed()
    page.mouse.move(*middle(item))
    page.mouse.down()
    page.mouse.move(edge[0], edge[1], steps=10)
    expect(page.locator(".wf-edge.is-target")).to_have_count(1)
    page.mouse.up()

    draft.heard("Inserted Template between Recall and Generate answer")
    assert {e for e in draft.ends if "Template" in (e[0], e[2])} == {
        ("Recall", "source", "Template"),
        ("Template", "source", "Generate answer"),
    }


def pull_into_nothing(page: Page, port: Locator) -> None:
    """An edge from the port, let go where nothing stands."""
    canvas = box_of(page.locator("[data-canvas]"))
    page.mouse.move(*middle(port))
    page.mouse.down()
    page.mouse.move(canvas["x"] + 400, canvas["y"] + 80, steps=8)
    page.mouse.up()


def check_edge_let_go_over_nothing_asks_what_should_stand_there(draft: Draft):
    page = draft.page
    pull_into_nothing(page, draft.node("Answer").locator(".port.out"))

    options = page.locator("#picker").get_by_role("option")
    expect(options.filter(has_text="LLM")).to_be_visible()
    # a start can't follow anything
    expect(options.locator("b", has_text=re.compile("^Start$"))).to_have_count(0)
    draft.pick("llm")
    draft.heard("Added LLM after Answer")
    assert ("Answer", "source", "LLM") in draft.ends


def check_port_is_lit_no_longer_than_the_mouse_is_on_it(draft: Draft):
    page = draft.page
    port = draft.node("Answer").locator(".port.out")
    page.mouse.move(*middle(port))
    expect(port).to_have_class(re.compile("hover"))
    pull_into_nothing(page, port)
    expect(page.locator("#picker-query")).to_be_focused()

    expect(page.locator(".port.hover, .port.snap")).to_have_count(0)
    draft.pick("llm")
    draft.heard("Added LLM after Answer")
    expect(page.locator(".port.hover, .port.snap")).to_have_count(0)


def test_node_added_under_the_overview_is_moved_out_from_under_it(signed_in: Page):
    board = open_board(signed_in, workflow("One", made("a", "start", "A", 0, 0)))
    overview = signed_in.locator(".wf-minimap")
    expect(overview).to_be_visible()
    canvas, box = box_of(signed_in.locator("[data-canvas]")), box_of(overview)

    signed_in.mouse.dblclick(box["x"] - 60, box["y"] + 20)
    signed_in.locator("#picker-query").fill("template")
    signed_in.locator("#picker-query").press("Enter")
    board.until("return canvas.model.nodes.size === 2;")
    board.saved()
    board.frame()

    [new] = board.chosen()
    at = box_of(signed_in.locator(f"wf-node[data-id='{new}']"))
    assert at["x"] + at["width"] <= box["x"] or at["y"] + at["height"] <= box["y"]
    assert at["x"] >= canvas["x"]
    assert at["y"] >= canvas["y"]


def test_nodes_come_from_an_edge_from_the_background_and_from_a_file(draft: Draft):
    check_mark_of_the_problems_follows_their_number(draft)
    check_plus_on_an_edge_inserts_and_double_click_adds(draft)
    check_dropped_file_joins_the_draft_or_becomes_it(draft)


def check_mark_of_the_problems_follows_their_number(draft: Draft):
    page = draft.page
    button = page.locator("#problems-button")
    expect(button).to_have_text(re.compile("No problems"))
    expect(button.locator("use")).to_have_attribute("href", re.compile("#check$"))

    draft.focus("Recall")
    page.keyboard.press("a")
    draft.pick("http")
    expect(button).to_have_text(re.compile("problem"))
    expect(button).not_to_have_text(re.compile("No problems"))
    expect(button.locator("use")).to_have_attribute("href", re.compile("#warning$"))

    page.keyboard.press("Control+z")
    expect(button).to_have_text(re.compile("No problems"))
    expect(button.locator("use")).to_have_attribute("href", re.compile("#check$"))


def check_plus_on_an_edge_inserts_and_double_click_adds(draft: Draft):
    page = draft.page
    edge = between(draft, "User message", "Recall")
    plus = page.get_by_role("button", name="Insert node here")

    def is_offered() -> bool:
        if plus.is_visible():
            return True
        page.mouse.move(edge[0] - 3, edge[1])
        page.mouse.move(*edge)
        return False

    until(page, is_offered)
    plus.click()
    draft.pick("template")
    draft.heard(re.compile("Inserted Template between User message and Recall"))

    canvas = box_of(page.locator("[data-canvas]"))
    page.mouse.dblclick(canvas["x"] + 150, canvas["y"] + 120)
    draft.pick("aggregator")
    draft.heard("Added Variable aggregator")


def check_menu_by_the_right_button_does_what_it_says(draft: Draft):
    page = draft.page
    draft.node("Remember").click(button="right")
    page.get_by_role("menuitem", name="Delete Del", exact=True).click()

    draft.heard(re.compile("Deleted Remember"))
    assert "Remember" not in draft.titles.values()


def check_note_is_written_in_place_and_shown_rendered(draft: Draft):
    page = draft.page
    page.locator("[data-canvas]").focus()
    page.keyboard.press("n")
    field = page.get_by_label("Note text (Markdown)")
    field.fill("## Why\n\n- **because** <b>not</b>")
    page.get_by_label("Pink").check(force=True)
    page.get_by_role("button", name="Done", exact=True).click()

    note = page.locator(".wf-note")
    expect(note.locator("h2")).to_have_text("Why")
    expect(note.locator("strong")).to_have_text("because")
    expect(note).to_have_class(re.compile("wf-note-pink"))
    expect(note).to_contain_text("<b>not</b>")
    draft.saved()
    [kept] = draft.document.notes
    assert (kept.data["text"], kept.data["theme"]) == ("## Why\n\n- **because** <b>not</b>", "pink")


def check_frame_is_put_around_the_selection(draft: Draft):
    page = draft.page
    draft.node("Recall").click()
    draft.node("Generate answer").click(modifiers=["Shift"])
    page.keyboard.press("Control+g")
    page.get_by_label("Group name").fill("Thinking")
    page.keyboard.press("Enter")

    draft.heard("Grouped nodes: 2")
    [group] = draft.document.notes
    inside = [n for n in draft.document.nodes if n.title in {"Recall", "Generate answer"}]
    assert group.data["group"] is True
    for node in inside:
        assert group.position.x < node.position.x < group.position.x + (group.width or 0)
        assert group.position.y < node.position.y < group.position.y + (group.height or 0)


FILE = """nodes:
  - {id: one, data: {type: llm, title: From a file}}
  - {id: two, data: {type: answer, title: And another, answer: hi}}
edges: [{source: one, target: two}]
"""


def drop(page: Page, name: str, text: str) -> None:
    files = page.evaluate_handle(
        """([name, text]) => {
          const data = new DataTransfer();
          data.items.add(new File([text], name, { type: "text/yaml" }));
          return data;
        }""",
        [name, text],
    )
    for event in ("dragenter", "dragover", "drop"):
        page.dispatch_event(
            "[data-canvas]", event, {"dataTransfer": files, "clientX": 600, "clientY": 400}
        )


def check_dropped_file_joins_the_draft_or_becomes_it(draft: Draft):
    page = draft.page
    before = len(draft.titles)
    drop(page, "part.yml", FILE)
    page.get_by_role("button", name="Add nodes to this draft").click()
    draft.heard("Import part.yml")
    assert len(draft.titles) == before + 2
    assert ("From a file", "source", "And another") in draft.ends

    whole = page.request.get(f"/workflows/{draft.id}/export/").text()
    page.keyboard.press("Control+z")
    draft.heard("Undone: Import part.yml")
    assert len(draft.titles) == before
    drop(page, "whole.yml", whole)
    page.get_by_role("button", name="Replace the draft").click()
    expect(draft.node("And another")).to_be_visible()
    ready(page)
    assert len(draft.titles) == before + 2


def check_dropped_file_that_is_nothing_is_refused(draft: Draft):
    page = draft.page
    before = draft.titles
    drop(page, "list.txt", "milk\neggs\n")

    dialog = page.locator("#other-file")
    expect(dialog).to_contain_text("list.txt is a text document, not a workflow.")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert draft.titles == before


def test_outline_palette_and_selection_add_and_group_nodes(draft: Draft):
    check_outline_follows_the_draft_and_its_tree_edits_by_keyboard(draft)
    check_port_is_lit_no_longer_than_the_mouse_is_on_it(draft)
    check_frame_is_put_around_the_selection(draft)
    check_kind_dragged_from_the_palette_lands_where_it_was_let_go(draft)


def check_outline_follows_the_draft_and_its_tree_edits_by_keyboard(draft: Draft):
    page = draft.page
    page.get_by_role("button", name="Toggle left panel").click()
    tree = page.get_by_role("tree", name="Outline of the workflow")
    expect(tree.get_by_role("treeitem")).to_have_count(5)
    tree.get_by_role("treeitem").first.focus()
    page.keyboard.press("ArrowDown")
    expect(draft.node("Recall")).to_have_class(re.compile("selected"))

    page.keyboard.press("a")
    draft.pick("template")

    draft.heard("Added Template after Recall")
    expect(tree.get_by_role("treeitem")).to_have_count(6)
    assert ("Recall", "source", "Template") in draft.ends


def test_workflow_is_opened_at_a_node_embedded_and_without_javascript(signed_in: Page):
    address = copy_sample(signed_in.context, "chatbot")
    draft = Draft(signed_in, address.split("/")[2])
    check_address_with_a_node_opens_it(draft)
    check_embedded_editor_is_the_canvas_alone(draft)
    check_outline_works_without_javascript(draft)


def check_outline_works_without_javascript(draft: Draft):
    browser = draft.page.context.browser
    assert browser
    context = browser.new_context(
        java_script_enabled=False,
        storage_state=draft.page.context.storage_state(),
        base_url=draft.page.url.split("/workflows/")[0],
    )
    page = context.new_page()
    page.goto(f"/workflows/{draft.id}/outline/")
    page.get_by_role("link", name=re.compile(r"^\s*Recall\b")).first.click()
    page.get_by_label("Node type").last.select_option("llm")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("heading", name="LLM")).to_be_visible()
    page.get_by_label("Node", exact=True).select_option(label="Answer")
    page.get_by_role("button", name="Connect", exact=True).click()
    context.close()

    assert ("Recall", "source", "LLM") in draft.ends
    assert ("LLM", "source", "Answer") in draft.ends


def check_embedded_editor_is_the_canvas_alone(draft: Draft):
    page = draft.page
    page.goto(f"/workflows/{draft.id}/?embed=1")
    ready(page)

    expect(page.locator("[data-canvas]")).to_be_visible()
    for part in (".ed-top", ".ed-left", ".ed-right", ".ed-dock"):
        expect(page.locator(part)).to_be_hidden()


def check_address_with_a_node_opens_it(draft: Draft):
    page = draft.page
    page.goto(f"/workflows/{draft.id}/?node=llm")
    ready(page)

    expect(draft.node("Generate answer")).to_be_focused()
    expect(page.locator("#panel-node")).to_contain_text("Structured output")


def test_mouse_inserts_connects_and_deletes(draft: Draft):
    check_picture_of_the_workflow_lies_in_the_export_menu(draft)
    check_dropped_file_that_is_nothing_is_refused(draft)
    check_edge_let_go_over_nothing_asks_what_should_stand_there(draft)
    check_kind_dropped_on_an_edge_is_inserted(draft)
    check_note_is_written_in_place_and_shown_rendered(draft)
    check_menu_by_the_right_button_does_what_it_says(draft)


def check_picture_of_the_workflow_lies_in_the_export_menu(draft: Draft):
    page = draft.page
    page.locator("summary[aria-label=More]").click()
    page.locator("summary", has_text="Export").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Image (SVG)").click()

    assert download.value.suggested_filename == "a-chatbot-that-remembers.svg"


def test_click_on_an_output_opens_the_picker_and_a_drag_still_connects(signed_in: Page):
    board = open_board(
        signed_in,
        workflow(
            "Two",
            made("a", "template-transform", "One", 0, 0, template="x"),
            made("b", "template-transform", "Two", 480, 0, template="x"),
        ),
    )

    board.drag(board.port("a"), board.port("b", "target", out=False))
    board.saved()
    assert board.stored_edges() == {("a", "source", "b")}

    signed_in.mouse.click(*board.port("b"))
    expect(signed_in.locator("#picker-query")).to_be_focused()
    signed_in.locator("#picker-query").fill("answer")
    signed_in.locator("#picker-query").press("Enter")

    board.until("return canvas.model.nodes.size === 3;")
    assert len(board.stored_edges() - {("a", "source", "b")}) == 1
    assert {source for source, _, _ in board.stored_edges()} == {"a", "b"}


def test_one_node_is_a_button_away_and_has_a_plus(signed_in: Page):
    board = open_board(
        signed_in, workflow("One", made("a", "template-transform", "One", 0, 0, template="x"))
    )
    check_graph_out_of_sight_is_a_button_away(signed_in, board)
    check_plus_is_shown_at_a_node_under_the_mouse_and_at_one_that_has_the_focus(signed_in, board)


def check_plus_is_shown_at_a_node_under_the_mouse_and_at_one_that_has_the_focus(
    signed_in: Page, board: Board
):
    plus = signed_in.get_by_role("button", name="Add node after")
    expect(plus).to_be_hidden()

    signed_in.mouse.move(*board.inside("a"))
    expect(plus).to_be_visible()
    x, y = board.inside("a")
    signed_in.mouse.move(x, y + 250)
    expect(plus).to_be_hidden()

    signed_in.locator("wf-node[data-id=a]").focus()
    expect(plus).to_be_visible()
    plus.click()

    expect(signed_in.locator("#picker-query")).to_be_focused()


def check_graph_out_of_sight_is_a_button_away(signed_in: Page, board: Board):
    back = signed_in.get_by_role("button", name="Back to the graph")
    expect(back).to_be_hidden()

    board.js(
        "canvas.viewport.set(canvas.viewport.x - 2 * canvas.viewport.width, canvas.viewport.y);"
    )
    back.click()

    expect(signed_in.locator("wf-node[data-id=a]")).to_be_in_viewport(ratio=1)
    expect(back).to_be_hidden()


def test_button_beside_the_zoom_arranges_the_graph(signed_in: Page):
    board = open_board(
        signed_in,
        workflow(
            "Heap",
            made("a", "template-transform", "One", 0, 0, template="x"),
            made("b", "template-transform", "Two", 40, 30, template="x"),
            edges=[edge("a", "b")],
        ),
    )
    button = signed_in.locator(".wf-tools").get_by_role("button", name="Auto-layout")
    expect(button).to_have_attribute("title", "Auto-layout (Shift+T)")

    button.click()

    board.until("return canvas.model.nodes.get('b').x >= canvas.model.nodes.get('a').x + 256;")
