"""The panel of a node in a real browser: what is typed is kept, completed, checked, previewed, and undone."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.journeys.editing import Draft, edit_elsewhere, id_in, import_workflow, open_sample
from tests.journeys.seeing import Gate, ready, until


pytestmark = pytest.mark.browser

CHANGES = re.compile(
    r"/changes/\?after="
)  # the address at which a page gets the edits that it lacks
DOCUMENT = {
    "version": "0.6.0",
    "kind": "app",
    "app": {"name": "Inspected", "mode": "workflow"},
    "workflow": {
        "graph": {
            "nodes": [
                {
                    "id": "start",
                    "position": {"x": 0, "y": 0},
                    "data": {
                        "type": "start",
                        "title": "Begin",
                        "variables": [
                            {"variable": "topic", "type": "text-input", "required": False}
                        ],
                    },
                },
                {
                    "id": "llm",
                    "position": {"x": 320, "y": 0},
                    "data": {
                        "type": "llm",
                        "title": "Think",
                        "model": {"provider": "offline", "name": "offline", "mode": "chat"},
                        "prompt_template": [{"role": "user", "text": ""}],
                        "enhanced_memory": {"enabled": False, "scope": "user"},
                    },
                },
                {
                    "id": "code",
                    "position": {"x": 640, "y": 0},
                    "data": {
                        "type": "code",
                        "title": "Count",
                        "code_language": "python3",
                        "code": "def main():\n    return {}\n",
                        "variables": [],
                        "outputs": {},
                    },
                },
                {
                    "id": "if",
                    "position": {"x": 960, "y": 0},
                    "data": {"type": "if-else", "title": "Long?", "cases": []},
                },
                {
                    "id": "end",
                    "position": {"x": 1280, "y": 0},
                    "data": {"type": "end", "title": "Done", "outputs": []},
                },
            ],
            "edges": [
                {"id": "a", "source": "start", "target": "llm"},
                {"id": "b", "source": "llm", "target": "code"},
                {"id": "c", "source": "code", "target": "if"},
                {"id": "d", "source": "if", "sourceHandle": "false", "target": "end"},
            ],
        }
    },
}


@pytest.fixture
def editor(signed_in: Page) -> Page:
    return import_workflow(signed_in, DOCUMENT).page


def choose(page: Page, node: str) -> None:
    page.evaluate(
        "id => { mnemoflow.editor.canvas.pick([id]); mnemoflow.editor.emit('open', { id }); }", node
    )
    page.wait_for_selector(f"[data-inspector=node][data-node='{node}']")


def saved(page: Page) -> None:
    until(page, lambda: page.evaluate("mnemoflow.editor.edits.state === 'saved'"))


def data_of(page: Page, node: str) -> dict[str, Any]:
    """As the server has it."""
    url = page.evaluate("mnemoflow.editor.inspector.page")
    html = page.request.get(f"{url}nodes/{node}/").text()
    held = html.split('<script id="insp-data" type="application/json">')[1].split("</script>")[0]
    data: dict[str, Any] = json.loads(held)["data"]
    return data


def test_prompt_is_typed_beside_the_edits_of_somebody_else_completed_and_undone(editor: Page):
    check_text_that_comes_back_together_with_the_edit_of_somebody_else_is_no_conflict(editor)
    check_typing_goes_on_while_somebody_else_edits_another_field(editor)
    check_prompt_is_completed_checked_previewed_and_undone(editor)


def begin_prompt(page: Page) -> Locator:
    """Empty, with the cursor in it."""
    choose(page, "llm")
    text = page.locator("[data-field=prompt_template] textarea").first
    text.fill("")
    saved(page)
    text.click()
    return text


def check_prompt_is_completed_checked_previewed_and_undone(editor: Page) -> None:
    text = begin_prompt(editor)
    editor.keyboard.type("About {{#top")
    expect(editor.get_by_role("option", name="topic")).to_be_visible()
    editor.keyboard.press("Enter")
    expect(text).to_have_value("About {{#start.topic#}}")
    expect(editor.locator(".insp-paper mark.is-resolved")).to_have_count(1)
    expect(editor.locator(".pill-label")).to_have_attribute("data-title", "Begin")
    expect(text).to_have_accessible_description(re.compile("Variables: Begin › topic"))

    editor.keyboard.type(" and/or /top")
    editor.keyboard.press("Tab")
    expect(text).to_have_value("About {{#start.topic#}} and/or {{#start.topic#}}")
    editor.keyboard.press("Backspace")  # a pill is one character
    expect(text).to_have_value("About {{#start.topic#}} and/or ")
    editor.keyboard.press("Control+z")
    expect(text).to_have_value("About {{#start.topic#}} and/or {{#start.topic#}}")
    editor.keyboard.type(" {{#to")
    editor.keyboard.press("Escape")
    expect(editor.get_by_role("option", name="topic")).to_be_hidden()
    expect(editor.locator("[data-problems='prompt_template'] li")).to_contain_text("not closed")
    text.fill("About {{#start.topic#}}")
    text.press("End")

    editor.keyboard.type(" and {{#ghost.x#}}")
    expect(editor.locator(".insp-paper mark.is-unknown")).to_have_count(1)
    problem = editor.locator("[data-problems='prompt_template'] li")
    expect(problem).to_have_text("Reads x of a node that doesn't exist")
    until(editor, lambda: "ghost" in data_of(editor, "llm")["prompt_template"][0]["text"])

    editor.locator("[data-field=prompt_template] [data-preview]").click()
    expect(editor.locator("[data-preview-place]").first).to_contain_text(
        "About start.topic and ghost.x"
    )

    editor.evaluate("mnemoflow.editor.edits.undo()")
    until(editor, lambda: "ghost" not in data_of(editor, "llm")["prompt_template"][0]["text"])


def check_text_that_comes_back_together_with_the_edit_of_somebody_else_is_no_conflict(
    editor: Page,
) -> None:
    """The page asks for the other edit; when it is answered late, the answer has what was saved here meanwhile."""
    begin_prompt(editor)
    editor.keyboard.type("one ")
    saved(editor)
    changes = Gate(editor, CHANGES)
    edit_elsewhere(editor, id_in(editor), {"op": "rename", "id": "llm", "title": "Ponder"})
    until(editor, lambda: changes.waiting)
    with editor.expect_response(lambda response: response.request.method == "PATCH"):
        editor.keyboard.type("two ")
    editor.keyboard.type("three")

    changes.open()

    expect(editor.locator(".insp-title")).to_have_value("Ponder")
    until(editor, lambda: data_of(editor, "llm")["prompt_template"][0]["text"] == "one two three")
    assert editor.evaluate("mnemoflow.editor.edits.unsavedChanges.all") == []
    editor.unroute_all()


def check_typing_goes_on_while_somebody_else_edits_another_field(editor: Page) -> None:
    text = begin_prompt(editor)
    editor.keyboard.type("one ")
    edit_elsewhere(
        editor,
        id_in(editor),
        {"op": "rename", "id": "llm", "title": "Wonder"},
        {"op": "set", "id": "llm", "path": ["desc"], "value": "thinks"},
    )
    editor.keyboard.type("two ")
    expect(editor.locator(".insp-title")).to_have_value("Wonder")
    editor.keyboard.type("three")

    expect(text).to_be_focused()
    expect(text).to_have_value("one two three")
    until(editor, lambda: data_of(editor, "llm")["prompt_template"][0]["text"] == "one two three")
    assert data_of(editor, "llm")["desc"] == "thinks"


def check_title_that_is_typed_survives_the_late_answer_to_adding_the_node(editor: Page) -> None:
    choose(editor, "llm")
    title = editor.locator(".insp-title")
    title.click(click_count=3)
    editor.keyboard.type("Think ")
    editor.evaluate(
        "window.former = mnemoflow.editor.inspector.current;"
        " mnemoflow.editor.emit('change', { ops: [{ op: 'add', node: { id: 'llm', kind: 'llm' } }],"
        " client: mnemoflow.editor.edits.client })"
    )
    until(editor, lambda: editor.evaluate("former !== mnemoflow.editor.inspector.current"))
    editor.keyboard.type("twice")

    expect(title).to_be_focused()
    expect(title).to_have_value("Think twice")


def check_code_is_checked_at_its_line_and_tab_indents(editor: Page) -> None:
    choose(editor, "code")
    code = editor.locator("[data-field=code] textarea")
    code.click()
    code.press("Control+a")
    editor.keyboard.type("def main():")
    editor.keyboard.press("Enter")
    editor.keyboard.type("return {")
    expect(code).to_have_value("def main():\n    return {")
    expect(editor.locator("[data-code-problems] li")).to_contain_text("2")

    editor.keyboard.type("}")
    expect(editor.locator("[data-code-problems] li")).to_have_count(0)
    editor.keyboard.press("Escape")
    editor.keyboard.press("Tab")
    expect(code).not_to_be_focused()
    until(editor, lambda: data_of(editor, "code")["code"].endswith("return {}"))


def test_settings_of_each_node_are_typed_checked_and_kept(editor: Page):
    check_condition_offers_the_operators_of_its_variables_type(editor)
    check_code_is_checked_at_its_line_and_tab_indents(editor)
    check_images_are_switched_on_and_their_detail_is_kept(editor)
    check_memory_is_switched_on_and_looked_at(editor)
    check_input_is_named_after_its_label_until_it_has_a_name(editor)
    check_problem_leads_to_its_field(editor)
    check_variable_of_the_workflow_is_added_and_its_secret_masked(editor)


def check_condition_offers_the_operators_of_its_variables_type(editor: Page) -> None:
    choose(editor, "if")
    editor.locator("[data-field=cases] .insp-cases > .insp-add").click()
    card = editor.locator("[data-field=cases] .insp-cases > .insp-card")
    card.locator(".insp-variable").click()
    editor.keyboard.type("topic")
    editor.keyboard.press("Enter")
    operators = card.locator(".insp-operator").first
    expect(operators.locator("option", has_text="starts with")).to_have_count(1)
    expect(operators.locator("option", has_text="≥")).to_have_count(0)
    operators.select_option("start with")
    card.locator("[data-expected] input").fill("a")
    card.locator("[data-expected] input").press("Tab")

    until(
        editor,
        lambda: (
            data_of(editor, "if")["cases"][0]["conditions"]
            == [
                {
                    "variable_selector": ["start", "topic"],
                    "comparison_operator": "start with",
                    "value": "a",
                }
            ]
        ),
    )
    assert data_of(editor, "if")["cases"][0]["case_id"] == "true"


def check_memory_is_switched_on_and_looked_at(editor: Page) -> None:
    choose(editor, "llm")
    editor.locator("[data-section=enhanced_memory] [data-key=enabled]").check()
    until(editor, lambda: data_of(editor, "llm")["enhanced_memory"]["enabled"])
    memory = data_of(editor, "llm")["enhanced_memory"]
    assert (memory["scope"], memory["top_k"]) == ("user", 10)

    editor.get_by_role("button", name="Preview recall").click()
    expect(editor.locator("[data-recall]")).to_contain_text("user:")
    editor.locator("[data-recall-form] [name=person]").fill("nobody-knows")
    editor.keyboard.press("Tab")
    expect(editor.locator("[data-recall]")).to_contain_text("nobody-knows")


def check_variable_of_the_workflow_is_added_and_its_secret_masked(editor: Page) -> None:
    editor.evaluate("mnemoflow.editor.canvas.pick([])")
    editor.evaluate("mnemoflow.editor.panel('node')")
    area = editor.locator("[data-area=environment]")
    area.locator("[data-add-variable]").click()
    area.locator("[name=name]").fill("TOKEN")
    area.locator("[name=type]").select_option("secret")
    area.locator("[name=value]").fill("very-secret")
    area.locator("[type=submit]").click()
    expect(area.locator("[data-variable=TOKEN]")).to_contain_text("••••••")
    saved(editor)
    editor.reload()
    ready(editor)

    assert "very-secret" not in editor.content()
    choose(editor, "llm")
    editor.get_by_role("tab", name="Last run", exact=True).click()
    editor.locator("summary", has_text="Available variables").click()
    editor.locator(".insp-source summary", has_text="Environment").click()
    expect(editor.locator("[data-reference='{{#env.TOKEN#}}']")).to_be_visible()


def check_problem_leads_to_its_field(editor: Page) -> None:
    choose(editor, "end")
    editor.locator("[data-field=outputs] .insp-add").click()
    editor.locator("[data-field=outputs] [data-key=variable]").fill("out")
    saved(editor)
    choose(editor, "start")

    editor.evaluate("mnemoflow.editor.emit('open', {id: 'end', field: 'outputs.0.value_selector'})")

    expect(editor.locator("[data-field=outputs] .insp-variable")).to_be_focused()
    # The field is highlighted as long as somebody is in it.
    pointed_at = editor.locator(".is-pointed-at")
    expect(pointed_at).to_have_attribute("data-field", "outputs")
    editor.keyboard.press("Tab")
    expect(pointed_at).to_have_count(0)


def test_problems_and_titles_leave_the_focus_to_who_types(editor: Page):
    check_slash_after_a_problem_that_is_pressed_twice_is_typed(editor)
    check_rows_without_a_name_are_marked_once_they_are_left(editor)
    check_title_that_is_typed_survives_the_late_answer_to_adding_the_node(editor)
    check_new_node_opens_at_its_settings_whatever_was_open_before(editor)


def check_slash_after_a_problem_that_is_pressed_twice_is_typed(editor: Page) -> None:
    editor.locator("#problems-button").click()
    problem = editor.locator("#panel-problems [data-jump=llm][data-field^=prompt_template]").first
    text = editor.locator("[data-field=prompt_template] textarea").first
    problem.click()
    expect(text).to_be_focused()

    problem.click()
    editor.keyboard.press("/")

    expect(text).to_have_value("/")
    expect(editor.locator("#picker")).to_be_hidden()


def check_images_are_switched_on_and_their_detail_is_kept(editor: Page) -> None:
    choose(editor, "llm")
    section = editor.locator("[data-key=vision]")
    section.locator("input[role=switch]").first.check()
    section.locator("summary").click()

    section.locator("select").last.select_option("low")

    until(
        editor,
        lambda: (
            data_of(editor, "llm").get("vision") == {"enabled": True, "configs": {"detail": "low"}}
        ),
    )


# As the undo of this page or another tab of this person does it, while the form is on its way.
REMOVE_VARIABLE = """(id) => mnemoflow.editor.edits.send([{ op: "set", id, path: ["variables", 0], remove: true }])"""


def test_name_comes_at_once_and_the_focus_stays_where_somebody_types(signed_in: Page):
    page = signed_in
    draft = open_sample(page)
    draft.focus("Generate answer")
    expect(page.locator("#panel-node .insp-title")).to_have_value("Generate answer")
    gate = Gate(page, "**/nodes/**")
    draft.focus("Recall")
    page.keyboard.press("Enter")  # opens the settings and would go into them

    panel = page.locator("#panel-node")
    expect(panel.locator("[data-skeleton-title]")).to_have_text("Recall")
    expect(panel.locator("[data-skeleton] .skeleton")).to_be_visible()
    expect(panel.locator("form")).to_have_count(0)
    page.locator(".ed-top [data-command=search-palette]").click()
    search = page.locator("#palette-search")
    search.fill("Template")
    gate.open()

    expect(panel.locator(".insp-title")).to_have_value("Recall")
    expect(search).to_be_focused()
    before = len(draft.document.nodes)
    for number, title in enumerate(("Template", "Template 2"), 1):
        search.fill("Template")
        search.press("Enter")
        expect(draft.node(title)).to_have_count(1)
        expect(panel.locator(".insp-title")).to_have_value(title)
        expect(search).to_be_focused()
        assert len(draft.document.nodes) == before + number


def test_settings_fetched_before_an_edit_bring_back_nothing(signed_in: Page):
    """Two quick steps and a removal: the settings from before it arrive when it is stored already."""
    page = signed_in
    draft = open_sample(page)
    draft.add_template_after("Recall")
    expect(page.locator("#panel-node .insp-title")).to_have_value("Template")
    early = []
    page.route("**/nodes/**", lambda route: early.append((route, route.fetch())), times=2)
    draft.focus("Recall")
    draft.focus("Template")
    until(page, lambda: len(early) == 2, why="the settings were not fetched")

    expect(page.locator("#panel-node [data-row=remove]")).to_have_count(0)  # it can't be edited
    page.evaluate(REMOVE_VARIABLE, draft.node("Template").get_attribute("data-id"))
    until(page, lambda: draft.data("Template")["variables"] == [], why="the removal was not stored")
    draft.saved()
    for route, answer in early:
        route.fulfill(response=answer)
    until(
        page,
        lambda: page.evaluate(
            "mnemoflow.editor.inspector.current.revision === mnemoflow.editor.edits.revision"
        ),
    )

    assert draft.data("Template")["variables"] == []
    expect(page.locator("#panel-node [data-row=remove]")).to_have_count(0)


def check_input_is_named_after_its_label_until_it_has_a_name(editor: Page) -> None:
    choose(editor, "start")
    inputs = editor.locator("#panel-node [data-field=variables]")
    inputs.locator(".insp-add").click()
    row = inputs.locator("[data-item]").nth(1)
    label, name = row.get_by_label("Label"), row.get_by_label("Name")

    label.press_sequentially("Größe, Q")
    expect(name).to_have_value("gro_e_q")
    label.fill("topic")
    expect(name).to_have_value("topic_2")
    name.focus()
    label.fill("Another label")
    expect(name).to_have_value("topic_2")

    until(
        editor,
        lambda: (
            [each["variable"] for each in data_of(editor, "start")["variables"]]
            == ["topic", "topic_2"]
        ),
    )


def check_rows_without_a_name_are_marked_once_they_are_left(editor: Page) -> None:
    """Rows of tables that the server never sees say themselves what they lack, others at the control that lacks it."""
    choose(editor, "code")
    field = editor.locator("[data-field=outputs]")
    field.locator(".insp-add").first.click()
    name = field.locator("[data-entry-name]")
    expect(name).to_be_focused()
    expect(name).not_to_have_attribute("aria-invalid", "true")

    editor.locator(".insp-title").focus()
    expect(name).to_have_attribute("aria-invalid", "true")
    expect(field.locator("[data-problems] li", has_text="Row 1")).to_have_text(
        "Row 1: enter a name, or remove the row"
    )
    name.fill("total")
    expect(name).not_to_have_attribute("aria-invalid", "true")
    expect(field.locator("[data-problems] li", has_text="Row 1")).to_have_count(0)

    choose(editor, "if")
    cases = editor.locator("[data-field=cases]")
    cases.locator(".insp-add").last.click()
    expect(cases.locator(".insp-condition .insp-variable")).to_have_attribute(
        "aria-invalid", "true"
    )
    expect(cases.locator("[data-problems] li")).to_have_text(
        "Case 1 › Condition 1: choose a variable"
    )


def check_new_node_opens_at_its_settings_whatever_was_open_before(editor: Page) -> None:
    draft = Draft(editor, id_in(editor))
    draft.focus("Count")
    panel = editor.locator("#panel-node")
    expect(panel.locator(".insp-title")).to_have_value("Count")
    panel.get_by_role("tab", name="Last run").click()
    expect(panel.locator("[data-tab-body=last]")).to_be_visible()

    editor.keyboard.press("Escape")
    draft.add_template_after("Count")

    expect(panel.locator(".insp-title")).to_have_value("Template")
    expect(panel.get_by_role("tab", name="Settings")).to_have_attribute("aria-selected", "true")
    expect(panel.locator("[data-tab-body=last]")).to_be_hidden()
