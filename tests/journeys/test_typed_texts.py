"""What somebody is typing stays when the part of the page around it is loaded again."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.journeys.editing import Draft, edit_elsewhere, import_workflow


pytestmark = pytest.mark.browser

NAME = {"variable": "name", "label": "Name", "type": "text-input", "required": True}
TOWN = {"variable": "town", "label": "Town", "type": "text-input", "required": False}
NODES = {
    "start": {"type": "start", "title": "Start", "variables": [NAME]},
    "greet": {
        "type": "template-transform",
        "title": "Greet",
        "template": "Hello {{ name }}",
        "variables": [{"variable": "name", "value_selector": ["start", "name"]}],
    },
    "end": {
        "type": "end",
        "title": "End",
        "outputs": [{"variable": "said", "value_selector": ["greet", "output"]}],
    },
}
WORKFLOW: dict[str, Any] = {
    "version": "0.1.0",
    "nodes": [{"id": id_, "data": data} for id_, data in NODES.items()],
    "edges": [
        {"id": "e1", "source": "start", "target": "greet"},
        {"id": "e2", "source": "greet", "target": "end"},
    ],
}


@pytest.fixture
def draft(signed_in: Page) -> Draft:
    return import_workflow(signed_in, WORKFLOW)


def expect_typing_to_go_on(field: Locator, text: str) -> None:
    """The text is there, and the next key goes where the last one went."""
    expect(field).to_have_value(text)
    expect(field).to_be_focused()
    field.page.keyboard.type("!")
    expect(field).to_have_value(f"{text}!")


def test_version_note_stays_when_somebody_edits_meanwhile(draft: Draft) -> None:
    page = draft.page
    page.locator("#tab-history").click()
    note = page.locator("#panel-history").get_by_label("Version note", exact=True)
    note.click()
    page.keyboard.type("The one with a gr")

    edit_elsewhere(page, draft.id, {"op": "rename", "id": "greet", "title": "Welcome"})
    expect(page.locator("[aria-labelledby=history-edits] li")).to_have_count(1)

    expect_typing_to_go_on(note, "The one with a gr")
    page.get_by_role("button", name="Save version").click()
    expect(page.locator("#panel-history")).to_contain_text("The one with a gr!")
    expect(note).to_have_value("")


# While the history is on its way, the draft is edited: the answer was made before it, and is read after it.
EDIT_MEANWHILE = """() => {
  const { fetch } = window, { edits, urls } = mnemoflow.editor;
  window.fetch = async (address, ...options) => {
    const answer = await fetch(address, ...options);
    if (address !== urls.history) return answer;
    window.fetch = fetch;
    await edits.send([{ op: "rename", id: "greet", title: "Welcome" }], { label: "Rename it" });
    return answer;
  };
}"""


def test_history_that_was_fetched_before_an_edit_is_fetched_again(draft: Draft) -> None:
    page = draft.page
    page.evaluate(EDIT_MEANWHILE)

    page.locator("#tab-history").click()

    expect(page.locator("[aria-labelledby=history-edits] li")).to_have_count(1)


def test_input_of_a_run_stays_when_somebody_adds_another_one(draft: Draft) -> None:
    page, card = draft.page, draft.page.locator("#run-card")
    page.locator("#tab-run").click()
    card.get_by_label("Name").click()
    page.keyboard.type("Ad")

    edit_elsewhere(
        page,
        draft.id,
        {"op": "set", "id": "start", "path": ["variables"], "value": [NAME, TOWN]},
    )
    expect(card.get_by_label("Town")).to_be_visible()

    expect_typing_to_go_on(card.get_by_label("Name"), "Ad")


def test_outputs_to_be_pinned_stay_when_a_run_goes_on(draft: Draft) -> None:
    page = draft.page
    page.locator("#tab-run").click()
    page.locator("#run-card").get_by_label("Name").fill("Ada")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#editor[data-run=succeeded]")).to_be_visible()
    draft.focus("Greet")
    page.keyboard.press("p")
    outputs = page.locator("#pin-outputs")
    expect(outputs).to_be_focused()
    page.keyboard.press("Control+A")
    page.keyboard.type('{"output"')

    form = page.locator(".run-pin").element_handle()
    with page.expect_response(re.compile("/last/")):
        page.evaluate("() => mnemoflow.editor.emit('run', { id: mnemoflow.editor.runs.run })")
    page.wait_for_function("form => !form.isConnected", arg=form)

    expect_typing_to_go_on(outputs, '{"output"')
