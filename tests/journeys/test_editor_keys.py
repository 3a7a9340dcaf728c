"""The editor by keyboard alone: add, insert, connect, rename, switch off, move, delete, undo, copy, find."""

import re

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.journeys.canvas_document import node, workflow
from tests.journeys.drawing import open_board
from tests.journeys.editing import Draft, open_sample
from tests.journeys.seeing import ready


pytestmark = pytest.mark.browser


@pytest.fixture
def draft(signed_in: Page) -> Draft:
    return open_sample(signed_in)


def test_nodes_are_added_inserted_and_deleted_with_their_neighbours_joined(draft: Draft):
    page = draft.page
    draft.add_template_after("Recall")
    assert ("Recall", "source", "Template") in draft.ends

    draft.focus("Recall")
    page.keyboard.press("i")
    draft.pick("generate")  # two ways lead on from there
    draft.pick("aggreg")
    draft.heard(re.compile("Inserted Variable aggregator between Recall and Generate answer"))
    inserted = draft.ends
    assert ("Recall", "source", "Variable aggregator") in inserted
    assert ("Variable aggregator", "source", "Generate answer") in inserted
    assert ("Recall", "source", "Generate answer") not in inserted

    page.keyboard.press("Delete")
    draft.heard("Deleted Variable aggregator. Neighbors reconnected.")
    assert ("Recall", "source", "Generate answer") in draft.ends
    # the keyboard is where it can go on
    expect(draft.node("Recall")).to_be_focused()

    page.keyboard.press("Control+z")
    draft.heard("Undone: Deleted Variable aggregator")
    assert draft.ends == inserted
    page.reload()
    ready(page)
    draft.focus("User message")
    page.keyboard.press("Control+Shift+Z")
    draft.heard("Redone: Deleted Variable aggregator")
    assert "Variable aggregator" not in draft.titles.values()


# In one task: keys that come one by one are one step only if each follows the last one soon enough.
HOLD_ALT_AND_PRESS = """keys => {
  const options = { altKey: true, bubbles: true, cancelable: true };
  for (const key of keys) document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { ...options, ...key }));
}"""


def check_rename_switch_off_and_nudge_are_one_step_each(draft: Draft):
    page = draft.page
    draft.focus("Recall")

    page.keyboard.press("F2")
    page.get_by_label("Name", exact=True).fill("Look it up")
    page.keyboard.press("Enter")
    draft.heard("Renamed Recall to Look it up")
    expect(draft.node("Look it up")).to_be_focused()
    page.locator("#workflow-name").press("F2")
    page.get_by_label("Workflow name").fill("Mine")
    page.keyboard.press("Enter")
    draft.heard("Renamed the workflow to Mine")
    expect(page.locator("#workflow-name")).to_have_text("Mine")
    draft.focus("Look it up")
    page.keyboard.press("d")
    draft.heard("Disabled Look it up. Runs skip it.")
    assert draft.data("Look it up")["disabled"] is True
    page.keyboard.press("d")
    draft.heard("Enabled Look it up")
    assert "disabled" not in draft.data("Look it up")

    before = next(n.position for n in draft.document.nodes if n.title == "Look it up")
    keys = [*3 * [{"key": "ArrowDown"}], {"key": "ArrowRight", "shiftKey": True}]
    page.evaluate(HOLD_ALT_AND_PRESS, keys)
    draft.heard("Moved Look it up")
    after = next(n.position for n in draft.document.nodes if n.title == "Look it up")
    assert (after.x - before.x, after.y - before.y) == (1, 24)
    page.keyboard.press("Control+z")
    draft.heard("Undone: Moved Look it up")
    assert next(n.position for n in draft.document.nodes if n.title == "Look it up") == before


def test_copied_nodes_are_text_and_paste_into_another_workflow(
    draft: Draft, context: BrowserContext
):
    page = draft.page
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    draft.focus("Recall")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Control+c")
    draft.heard("Copied nodes: 2")
    text = page.evaluate("navigator.clipboard.readText()")
    assert "type: memory-recall" in text

    other = open_sample(page, "A workflow with conversation memory")
    before = len(other.titles)
    page.locator("[data-canvas]").focus()
    page.keyboard.press("Control+v")
    other.heard("Pasted nodes: 2")

    assert len(other.titles) == before + 2
    assert ("Recall", "source", "Generate answer") in other.ends
    page.evaluate("navigator.clipboard.writeText('Milk, eggs and bread')")
    page.keyboard.press("Control+v")
    other.heard("No nodes in the clipboard: “Milk, eggs and bread”")
    assert len(other.titles) == before + 2


def test_keys_and_menus_change_nodes(draft: Draft, context: BrowserContext):
    check_align_and_tidy_change_positions_as_one_step(draft)
    check_duplicate_and_cut_take_the_selection(draft, context)
    check_palette_of_commands_goes_to_nodes_and_does_things(draft)
    check_selection_becomes_a_loop_and_is_unpacked_again(draft)
    check_rare_rows_of_a_menu_are_one_level_deeper(draft)
    check_mouse_that_rests_on_a_row_opens_its_level_and_elsewhere_closes_it(draft)
    check_tab_on_a_node_offers_what_to_add_and_pressed_again_goes_on(draft)
    check_rename_switch_off_and_nudge_are_one_step_each(draft)


def check_duplicate_and_cut_take_the_selection(draft: Draft, context: BrowserContext):
    page = draft.page
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    draft.focus("Remember")

    page.keyboard.press("Control+d")
    draft.heard("Duplicated nodes: 1")
    assert list(draft.titles.values()).count("Remember") == 2
    page.keyboard.press("Control+x")
    draft.heard("Deleted Remember")
    assert list(draft.titles.values()).count("Remember") == 1


def check_find_leads_to_the_node_and_its_field(draft: Draft):
    page = draft.page
    page.keyboard.press("Control+f")
    search = page.get_by_role("searchbox", name="Find by name, type, value or problem")
    search.fill("friendly")
    expect(page.locator(".find-hit")).to_have_count(1)
    expect(page.locator(".find-hit mark")).to_have_text("friendly")

    page.keyboard.press("Enter")

    expect(page.locator("#find-count")).to_have_text("1 of 1")
    expect(draft.node("Generate answer")).to_have_class(re.compile("selected"))
    expect(page.locator(".insp-title")).to_have_value("Generate answer")
    expect(search).to_be_focused()  # the next hit is one Enter away
    page.keyboard.press("Escape")
    expect(page.locator("#find")).to_be_hidden()


def check_palette_of_commands_goes_to_nodes_and_does_things(draft: Draft):
    page = draft.page
    page.keyboard.press("Control+k")
    draft.pick("go to remember")
    expect(draft.node("Remember")).to_be_focused()

    page.keyboard.press("Control+k")
    draft.pick("disable")
    draft.heard(re.compile("Disabled Remember"))
    assert draft.data("Remember")["disabled"] is True


def test_keys_and_menus_lead_through_the_editor_and_change_nothing(draft: Draft):
    check_sheet_of_keys_lists_what_the_keys_do_and_escape_closes_it(draft)
    check_menu_of_a_node_opens_by_keyboard_and_gives_the_focus_back(draft)
    check_selecting_tells_how_much_and_reaches_downstream(draft)
    check_find_leads_to_the_node_and_its_field(draft)
    check_tab_from_the_page_goes_to_the_skip_link_and_over_the_canvas(draft)
    check_tab_alone_goes_through_the_page_with_a_node_focused_at_first(draft)
    check_enter_on_a_button_presses_it_while_a_node_is_chosen(draft)
    check_f6_goes_round_the_panels(draft)
    check_settings_are_the_tab_that_is_marked_on_a_phone(draft)


def check_sheet_of_keys_lists_what_the_keys_do_and_escape_closes_it(draft: Draft):
    page = draft.page
    page.locator("[data-canvas]").focus()
    page.keyboard.press("?")

    sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(sheet).to_contain_text("Connect to…")
    expect(sheet.locator("kbd", has_text="Ctrl+K")).to_be_visible()
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()


def check_menu_of_a_node_opens_by_keyboard_and_gives_the_focus_back(draft: Draft):
    page = draft.page
    draft.focus("Generate answer")
    page.keyboard.press("Shift+F10")

    menu = page.get_by_role("menu")
    expect(menu.get_by_role("menuitem", name="Rename…")).to_be_visible()
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(draft.node("Generate answer")).to_be_focused()


def check_rare_rows_of_a_menu_are_one_level_deeper(draft: Draft):
    page = draft.page
    draft.focus("Generate answer")
    page.keyboard.press("Shift+F10")
    menu = page.locator("#context-menu")
    assert menu.locator("[role=menuitem]:visible").count() <= 10

    page.keyboard.press("m")
    more = menu.get_by_role("menuitem", name="More")
    expect(more).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(more).to_have_attribute("aria-expanded", "true")
    rows = page.get_by_role("menu", name="More").get_by_role("menuitem")
    expect(rows.first).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(rows.last).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(more).to_be_focused()
    expect(more).to_have_attribute("aria-expanded", "false")

    page.keyboard.press("Enter")
    expect(rows.first).to_be_focused()
    page.keyboard.press("Escape")
    expect(more).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("d")
    expect(rows.filter(has_text="Disable")).to_be_focused()
    page.keyboard.press("Enter")

    expect(menu).to_be_hidden()
    expect(draft.node("Generate answer")).to_have_attribute("data-disabled", "")


def check_mouse_that_rests_on_a_row_opens_its_level_and_elsewhere_closes_it(draft: Draft):
    page = draft.page
    draft.node("Recall").click(button="right")
    level = page.get_by_role("menu", name="Connections")

    page.get_by_role("menuitem", name="Connections").hover()
    expect(level).to_be_visible()
    page.get_by_role("menuitem", name="Duplicate").hover()
    expect(level).to_be_hidden()

    page.get_by_role("menuitem", name="Connections").click()
    page.get_by_role("menuitem", name="Insert node before the next one").click()
    draft.pick("template")
    draft.heard(re.compile("Inserted Template between Recall"))


def check_selection_becomes_a_loop_and_is_unpacked_again(draft: Draft):
    page = draft.page
    before = draft.ends
    draft.focus("Generate answer")
    page.keyboard.press("Control+k")
    draft.pick("convert to loop")
    draft.heard("Nodes moved into Loop: 1")

    document = draft.document
    loop = next(node.id for node in document.nodes if node.kind == "loop")
    inner = next(node for node in document.nodes if node.title == "Generate answer")
    assert inner.parent == loop
    assert ("Recall", "source", "Loop") in draft.ends
    assert ("Loop", "source", "Answer") in draft.ends

    expect(draft.node("Loop")).to_be_focused()
    page.keyboard.press("Control+Shift+G")
    draft.heard("Unpacked Loop")
    assert draft.ends == before


def check_selecting_tells_how_much_and_reaches_downstream(draft: Draft):
    page = draft.page
    draft.focus("Generate answer")
    page.keyboard.press("Shift+End")
    draft.heard("3 selected")
    page.keyboard.press("Control+a")
    draft.heard("5 selected")
    page.keyboard.press("Escape")
    draft.heard("No selection")


def check_align_and_tidy_change_positions_as_one_step(draft: Draft):
    page = draft.page
    draft.focus("Recall")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Alt+Shift+L")
    draft.heard("Align left edges")
    places = {n.title: n.position for n in draft.document.nodes}
    assert places["Recall"].x == places["Generate answer"].x

    page.keyboard.press("Escape")
    page.keyboard.press("Shift+T")
    draft.heard("Auto-layout applied")
    tidy = {n.title: n.position for n in draft.document.nodes}
    assert tidy["Recall"].x < tidy["Generate answer"].x < tidy["Answer"].x


def check_f6_goes_round_the_panels(draft: Draft):
    page = draft.page
    page.get_by_role("button", name="Toggle left panel").click()
    page.locator("[data-canvas]").focus()
    seen = []
    for _ in range(5):
        page.keyboard.press("F6")
        seen.append(
            page.evaluate(
                "document.activeElement.closest('.ed-top, .ed-left, .wf-canvas, .ed-right, .ed-dock')?.className.match(/ed-(?!place)\\w+|wf-canvas/)?.[0]"
            )
        )

    assert seen == ["ed-right", "ed-dock", "ed-top", "ed-left", "wf-canvas"]


def check_tab_from_the_page_goes_to_the_skip_link_and_over_the_canvas(draft: Draft):
    page = draft.page
    page.locator(".ed-top a").first.focus()
    page.keyboard.press("Shift+Tab")
    expect(page.locator(".skip")).to_be_focused()

    page.locator(".wf-pane").focus()
    page.keyboard.press("Tab")

    expect(page.locator("#picker")).to_be_hidden()
    expect(page.locator(".wf-pane")).not_to_be_focused()
    assert page.evaluate("document.activeElement !== document.body")


def check_tab_on_a_node_offers_what_to_add_and_pressed_again_goes_on(draft: Draft):
    page = draft.page
    before = draft.titles
    draft.focus("Recall")

    page.keyboard.press("Tab")
    expect(page.locator("#picker-query")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#picker")).to_be_hidden()
    expect(draft.node("Recall")).to_be_focused()

    page.keyboard.press("Tab")
    expect(page.locator("#picker-query")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator("#picker")).to_be_hidden()
    assert page.evaluate("document.activeElement.closest('button, a') !== null")

    draft.focus("Recall")
    page.keyboard.press("Shift+Tab")
    expect(page.locator("#picker")).to_be_hidden()
    expect(draft.node("Recall")).not_to_be_focused()
    assert draft.titles == before

    draft.focus("Recall")
    page.keyboard.press("Tab")
    draft.pick("aggreg")
    draft.heard("Added Variable aggregator after Recall")


def check_tab_alone_goes_through_the_page_with_a_node_focused_at_first(draft: Draft):
    page = draft.page
    draft.focus("Recall")
    places = (".wf-tools", ".ed-right", ".ed-dock", ".skip", ".ed-top")
    passed = set()
    before = draft.document

    for _ in range(100):
        page.keyboard.press("Tab")
        passed |= {p for p in places if page.locator(p).locator(":scope:focus-within").count()}
        if len(passed) == len(places):
            break

    assert passed == set(places)
    draft.saved()
    assert draft.document == before


def test_enter_leads_into_the_settings_and_adds_nothing(draft: Draft):
    page = draft.page
    draft.add_template_after("Recall")
    page.keyboard.press("ArrowLeft")
    draft.focus("Template")
    expect(page.locator("#panel-node .insp-title")).to_have_value("Template")
    page.locator("#panel-node [data-row=remove]").click()  # the variable that it was added with
    expect(page.locator("#panel-node [data-row=add]")).to_be_visible()
    draft.saved()
    before = draft.data("Template")
    draft.focus("Template")
    settings = page.get_by_role("tab", name="Settings")

    for _ in range(2):  # what is shown already is led into like what is not
        page.keyboard.press("Enter")
        expect(settings).to_be_focused()
        expect(settings).to_have_attribute("aria-selected", "true")
        expect(page.locator("#panel-node [data-row=remove]")).to_have_count(0)
        page.keyboard.press("Escape")
        expect(draft.node("Template")).to_be_focused()
    draft.saved()
    assert draft.data("Template") == before

    draft.focus("Generate answer")
    page.keyboard.press("Enter")
    expect(page.locator("#panel-node .insp-form :focus")).to_be_attached()
    expect(settings).to_have_attribute("aria-selected", "true")


def check_settings_are_the_tab_that_is_marked_on_a_phone(draft: Draft):
    page = draft.page
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator(".ed-bar [data-view=outline]").click()
    row = page.get_by_role("tree", name="Outline of the workflow").get_by_role("treeitem").nth(1)

    for _ in range(2):
        page.locator(".ed-bar [data-view=outline]").click()
        row.focus()
        page.keyboard.press("Enter")
        expect(page.locator("#panel-node .insp-title")).to_have_value("Recall")
        expect(page.get_by_role("tab", name="Settings")).to_have_attribute("aria-selected", "true")
        expect(page.locator("#tab-node")).to_have_attribute("aria-selected", "true")


def check_enter_on_a_button_presses_it_while_a_node_is_chosen(draft: Draft):
    page = draft.page
    draft.focus("Recall")
    page.locator("#problems-button").focus()
    page.keyboard.press("Enter")

    expect(page.locator("#panel-problems")).to_be_visible()
    expect(page.locator("#problems-button")).to_be_focused()


def test_enter_with_control_runs_the_workflow_from_a_node(signed_in: Page):
    start = node("start", "start", "Start", 0, 0, variables=[])
    board = open_board(signed_in, workflow("Short", start))
    board.js("canvas.focus('start');")
    assert not board.js("return canvas.editor.runs.run;")

    signed_in.keyboard.press("Control+Enter")

    board.until("return Boolean(canvas.editor.runs.run) && !canvas.editor.runs.isLive;")
    expect(signed_in.locator("#panel-run")).to_be_visible()
    expect(signed_in.locator("#panel-node")).to_be_hidden()
