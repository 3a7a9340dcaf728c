"""Small things that make the editor quiet: what is offered, what is said, where the focus and the view are."""

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.building import new_workflow
from tests.journeys.canvas_document import node, workflow
from tests.journeys.drawing import open_board
from tests.journeys.editing import Draft, open_sample
from tests.journeys.seeing import Gate, ready, steady, until


pytestmark = pytest.mark.browser


@pytest.fixture
def draft(signed_in: Page) -> Draft:
    return open_sample(signed_in)


def check_kinds_that_can_stand_nowhere_are_dimmed_and_say_why(draft: Draft):
    page = draft.page
    page.get_by_role("banner").get_by_role("button", name="Add node").click()
    start = page.locator("[data-add-kind=start]")
    leave = page.locator("[data-add-kind=loop-end]")
    before = draft.titles

    expect(start).to_have_attribute("aria-disabled", "true")
    expect(start).to_contain_text("There is already a Start node")
    expect(leave).to_contain_text("Only inside: Loop")
    start.click(force=True)  # a dimmed one is no button for who waits until it can be pressed
    draft.heard("There is already a Start node")
    draft.saved()
    assert draft.titles == before

    page.locator("[data-add-kind=loop]").click()
    draft.saved()
    expect(leave).not_to_have_attribute("aria-disabled", "true")


REASON = "There is already a Start node"
NOTE_MESSAGES = """() => {
  window.said = [];
  const message = document.getElementById("canvas-message");
  new MutationObserver(() => said.push(message.textContent)).observe(message, { childList: true });
}"""


def test_refused_edit_is_said_once_and_its_badge_goes_when_looked_at(unwatched: Page):
    page = open_sample(unwatched).page
    refuse = (
        "() => mnemoflow.editor.edits.send([{ op: 'add', node: "
        "{ id: 'again', kind: 'start', title: 'Again', x: 0, y: 900 } }], { label: 'Add it' })"
    )
    # Noted as it comes: a hint for newcomers may take its place.
    page.evaluate(NOTE_MESSAGES)
    assert page.evaluate(refuse) is None
    messages = until(page, lambda: [text for text in page.evaluate("said") if REASON in text])

    assert [text.count(REASON) for text in messages] == [1]
    expect(page.locator("[data-toast]", has_text="start node")).to_have_count(0)
    expect(page.locator("#saved")).to_have_text("Saved")
    badge = page.locator("#reported")
    expect(badge).to_have_text("Rejected edits: 1")

    badge.click()
    expect(page.locator("#conflicts .tg-refused")).to_contain_text("Add it")
    page.keyboard.press("Escape")
    expect(badge).to_be_hidden()

    assert page.evaluate(refuse) is None
    page.locator("#reported-away").click()
    expect(badge).to_be_hidden()
    page.reload()
    ready(page)
    expect(badge).to_be_hidden()


def test_keys_and_focus_are_where_somebody_types(draft: Draft):
    check_letters_of_a_note_to_publish_are_no_shortcuts(draft)
    check_find_gets_what_is_typed_however_quickly_it_follows_the_commands(draft)
    check_open_picker_takes_the_focus_back(draft)
    check_palette_is_one_stop_and_its_items_know_the_key_for_more(draft)
    check_kinds_that_can_stand_nowhere_are_dimmed_and_say_why(draft)
    check_focus_goes_to_what_is_left_and_to_what_comes_back(draft)
    check_picker_that_is_opened_before_the_last_node_has_come_keeps_the_focus(draft)


def check_letters_of_a_note_to_publish_are_no_shortcuts(draft: Draft):
    page = draft.page
    draft.focus("Recall")
    page.locator("[data-tour=publish]").press("Enter")
    expect(page.get_by_label("Version note")).to_be_focused()

    page.keyboard.type("add /")
    expect(page.get_by_label("Version note")).to_have_value("add /")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("a")

    expect(page.locator("#picker")).to_be_hidden()
    expect(draft.node("Recall")).not_to_have_attribute("data-disabled", "")


def test_first_node_goes_on_from_the_start(signed_in: Page):
    draft = new_workflow(signed_in)
    page = draft.page
    page.keyboard.press("Escape")
    expect(page.locator("[data-canvas]")).to_be_focused()

    page.keyboard.press("/")
    draft.pick("template")
    draft.heard("Added Template after Start")
    page.keyboard.press("Escape")
    page.get_by_role("banner").get_by_role("button", name="Add node").click()
    page.locator("[data-add-kind=memory-recall]").click()
    draft.heard("Added Recall after Template")

    assert draft.ends == {("Start", "source", "Template"), ("Template", "source", "Recall")}


def test_connecting_from_where_nothing_can_follow_offers_what_it_could_follow(signed_in: Page):
    nodes = [
        node("start", "start", "Start", 0, 0, variables=[]),
        node("t", "template-transform", "Template", 300, 200, template="x"),
    ]
    board = open_board(signed_in, workflow("Two", *nodes))
    board.js("canvas.focus('t');")

    signed_in.keyboard.press("c")
    expect(signed_in.locator("#picker-title")).to_have_text("Connect from…")
    signed_in.keyboard.press("Enter")

    board.until("return canvas.model.edges.size === 1;")
    assert board.stored_edges() == {("start", "source", "t")}


def check_focus_goes_to_what_is_left_and_to_what_comes_back(draft: Draft):
    page = draft.page
    page.reload()
    ready(page)
    draft.add_template_after("Recall")
    expect(draft.node("Template")).to_be_focused()

    page.keyboard.press("Control+z")
    expect(draft.node("Recall")).to_be_focused()
    expect(page.locator("#panel-node .insp-title")).to_have_value("Recall")
    page.keyboard.press("Control+y")
    expect(draft.node("Template")).to_be_focused()

    page.keyboard.press("Delete")
    expect(draft.node("Template")).to_have_count(0)
    expect(page.locator("wf-node:focus")).to_have_count(1)
    page.keyboard.press("Control+z")
    expect(draft.node("Template")).to_be_focused()


def test_deleting_what_nothing_leads_to_leaves_the_focus_on_the_canvas(signed_in: Page):
    nodes = [
        node(id_, "template-transform", id_, x, 0, template="x")
        for id_, x in [("a", 0), ("b", 400)]
    ]
    board = open_board(signed_in, workflow("Two", *nodes))
    expect(signed_in.locator("[data-canvas]")).to_be_focused()
    board.js("canvas.focus('a');")

    signed_in.keyboard.press("Delete")
    board.until("return canvas.model.nodes.size === 1;")

    expect(signed_in.locator("[data-canvas]")).to_be_focused()


def check_palette_is_one_stop_and_its_items_know_the_key_for_more(draft: Draft):
    page = draft.page
    page.get_by_role("banner").get_by_role("button", name="Add node").click()
    items = page.locator("#palette [data-add-kind]")
    field = page.get_by_role("searchbox", name="Search nodes")
    field.press("ArrowDown")
    expect(items.first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(items.nth(1)).to_be_focused()
    expect(page.locator("#palette [data-add-kind][tabindex='0']")).to_have_count(1)

    page.keyboard.press("/")
    expect(page.locator("#picker-query")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(page.locator("#palette .pal-more button").first).to_be_focused()


def test_phone_begins_where_the_graph_does_and_keeps_its_view_to_itself(draft: Draft):
    page = draft.page
    page.reload()
    ready(page)
    page.evaluate("() => mnemoflow.editor.canvas.viewport.set(-300, -200, 2)")
    page.set_viewport_size({"width": 390, "height": 844})
    page.reload()
    ready(page)
    expect(page.locator("#saved")).to_be_visible()
    page.locator(".ed-bar [data-view=canvas]").click()
    expect(draft.node("User message")).to_be_in_viewport(ratio=1)
    expect(draft.node("Recall")).to_be_in_viewport(ratio=1)
    page.get_by_role("button", name="Whole graph").click()
    expect(page.locator("wf-node").last).to_be_in_viewport(ratio=1)
    for card in page.locator("wf-node").all():
        expect(card).to_be_in_viewport(ratio=1)

    page.locator(".ed-bar [data-view=outline]").click()
    page.locator('#outline [data-row]:has(b:text-is("Recall")) .ol-link').click()
    expect(page.locator("#panel-node .insp-title")).to_have_value("Recall")
    expect(page.locator("#panel-node")).to_be_visible()

    page.set_viewport_size({"width": 1440, "height": 900})
    page.reload()
    ready(page)
    assert page.evaluate("() => mnemoflow.editor.canvas.viewport.k") == 2


VIEW = (
    "() => { const v = mnemoflow.editor.canvas.viewport; return [v.x, v.y, v.k].map(Math.round); }"
)
WIDTH = "() => mnemoflow.editor.canvas.viewport.width"  # as the canvas has noticed it


def test_first_look_leaves_the_room_to_the_canvas_and_stays_the_whole(signed_in: Page):
    new_workflow(signed_in)
    page = signed_in
    page.get_by_role("button", name="Toggle left panel").click()
    expect(page.locator(".ed-left")).to_be_visible()
    draft = new_workflow(page)
    expect(page.locator(".ed-left")).to_be_hidden()
    for _ in range(3):
        page.keyboard.press("Escape")
        page.keyboard.press("/")
        draft.pick("template")
        draft.saved()
    page.get_by_role("button", name="Zoom to fit").click()
    page.get_by_role("button", name="Toggle left panel").click()
    for card in page.locator("wf-node").all():
        expect(card).to_be_in_viewport(ratio=1)

    page.evaluate("() => mnemoflow.editor.canvas.viewport.set(40, 60, 0.8)")
    before, narrow = steady(page, lambda: page.evaluate(VIEW)), page.evaluate(WIDTH)
    page.get_by_role("button", name="Close the left panel").click()
    until(page, lambda: page.evaluate(WIDTH) > narrow, why="the canvas never takes the room")
    assert steady(page, lambda: page.evaluate(VIEW)) == before


def test_node_let_go_on_another_lies_right_beside_it(signed_in: Page):
    nodes = [
        node(f"n{i}", "template-transform", f"N {i}", 0, i * 140, template="x") for i in range(6)
    ]
    board = open_board(signed_in, workflow("Column", *nodes))
    board.js(
        "const [x, y] = canvas.toClient(400, 300); canvas.editor.emit('open-void', { clientX: x, clientY: y, scope: 'root' });"
    )
    signed_in.locator("#picker-query").fill("iteration")
    signed_in.locator("#picker-query").press("Enter")
    board.until("return [...canvas.model.nodes.values()].some((n) => n.kind === 'iteration');")

    found = board.js(
        "const n = [...canvas.model.nodes.values()].find((n) => n.kind === 'iteration'); return [n.x, n.y];"
    )
    assert 240 < found[0] < 300
    assert 250 <= found[1] <= 320


def test_container_looked_into_is_what_the_inspector_shows(signed_in: Page):
    board = open_board(signed_in)
    box = board.js("return [...canvas.model.nodes.values()].find((n) => n.isBox).id;")
    board.js("canvas.editor.panel('node');")
    board.frame()
    x, y = steady(signed_in, lambda: board.port(box))
    signed_in.mouse.move(x, y)
    signed_in.mouse.move(x - 2, y)
    board.js("canvas.containers.enter(args[0]);", box)

    expect(signed_in.locator(".plus")).to_be_hidden()
    expect(signed_in.locator("#panel-node [data-inspector=node]")).to_have_attribute(
        "data-node", box
    )


def check_find_gets_what_is_typed_however_quickly_it_follows_the_commands(draft: Draft):
    page = draft.page
    for keys in (["Control+k", "Escape", "Control+f"], ["Control+k", "Control+f"]):
        draft.focus("Recall")
        for key in keys:
            page.keyboard.press(key)
        page.keyboard.type("answer")
        expect(page.locator("#find-query")).to_have_value("answer")
        expect(page.locator("#picker")).to_be_hidden()
        page.keyboard.press("Escape")


def check_picker_that_is_opened_before_the_last_node_has_come_keeps_the_focus(draft: Draft):
    page, gate = draft.page, Gate(draft.page, "**/draft/")
    before = len(draft.titles)
    draft.focus("Recall")
    page.keyboard.press("a")
    draft.pick("llm")
    until(page, lambda: gate.waiting)

    page.keyboard.press("a")
    field = page.locator("#picker-query")
    expect(field).to_be_focused()
    gate.open()
    draft.heard("Added LLM after Recall")  # said when the node has come

    expect(field).to_be_focused()
    assert len(draft.titles) == before + 1
    page.unroute_all()


def check_open_picker_takes_the_focus_back(draft: Draft):
    page = draft.page
    page.keyboard.press("/")
    field = page.locator("#picker-query")
    expect(field).to_be_focused()

    page.evaluate("document.querySelector('wf-node').focus()")  # as a late answer may do

    expect(field).to_be_focused()
    page.keyboard.type("template")
    expect(field).to_have_value("template")
