"""An agent with a browser: choose what it may do, run it, and look at its rounds."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.editing import import_workflow
from tests.journeys.seeing import ready


pytestmark = pytest.mark.browser

SCRIPT = [
    {
        "text": "I store it first.",
        "reasoning": "A person tells me a fact. It is worth keeping.",
        "tool_calls": [
            {"name": "remember", "arguments": {"key": "favorite color", "value": "green"}}
        ],
    },
    {
        "text": "Let me see what else I know.",
        "tool_calls": [
            {"name": "recall", "arguments": {"query": "color"}},
            {"name": "forgett", "arguments": {"key": "x"}},
        ],
    },
    {"text": "I will remember that your favorite color is green."},
]
AGENT = {
    "type": "agent",
    "title": "Assistant",
    "model": {
        "provider": "offline",
        "name": "offline",
        "mode": "chat",
        "completion_params": {"offline_script": SCRIPT},
    },
    "instruction": "You remember what people tell you.",
    "query": "{{#start.q#}}",
    "memory_tools": {"remember": ["user"], "recall": ["user"]},
}
WORKFLOW: dict[str, Any] = {
    "version": "0.1.0",
    "nodes": [
        {"id": "start", "data": {"type": "start", "title": "Start",
                                 "variables": [{"variable": "q", "type": "string"}]}},
        {"id": "agent", "data": AGENT},
        {"id": "end", "data": {"type": "end", "title": "End", "outputs": [
            {"variable": "text", "value_selector": ["agent", "text"]}]}},
    ],
    "edges": [
        {"id": "e1", "source": "start", "target": "agent"},
        {"id": "e2", "source": "agent", "target": "end"},
    ],
}  # fmt: skip


def run(page: Page) -> str:
    """Run the workflow, and return the id of the run when it has ended."""
    page.locator("#tab-run").click()
    page.get_by_label("q", exact=True).fill("My favorite color is green")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#editor[data-run=succeeded]")).to_be_visible()
    page.evaluate("window.mnemoflow.editor.panel('log')")
    return page.locator("#editor").get_attribute("data-run-id") or ""


def test_rounds_are_rows_of_the_log_and_a_picture_on_the_page_of_the_run(signed_in: Page) -> None:
    page = signed_in
    import_workflow(page, WORKFLOW)
    ready(page)

    run_id = run(page)

    expect(page.locator('.log-row[data-node="agent"] [data-title]')).to_have_text(
        [
            "Assistant",
            "↳ 1. Model",
            "↳ 1. remember",
            "↳ 2. Model",
            "↳ 2. recall",
            "↳ 2. forgett",
            "↳ 3. Model",
        ]
    )
    page.locator('.log-row[data-node="agent"] [data-step]').first.click()
    expect(page.locator("#insp-last .round-call")).to_have_count(6)
    page.goto(f"/runs/{run_id}/")
    calls = page.locator("#run-rounds .round-call")
    expect(calls).to_have_count(6)
    expect(calls.nth(0)).to_contain_text("I store it first.")
    expect(calls.nth(1)).to_contain_text("favorite color was stored.")
    expect(calls.nth(2)).to_contain_text("Let me see what else I know.")
    expect(calls.nth(3)).to_contain_text("favorite color (relevance: 1.00): green")
    expect(calls.nth(4)).to_have_attribute("data-state", "failed")
    expect(calls.nth(4)).to_contain_text("There is no tool named")


def test_tools_are_picked_and_ticked_in_the_form(signed_in: Page) -> None:
    page = signed_in
    draft = import_workflow(page, WORKFLOW)
    ready(page)
    draft.node("Assistant").first.click()
    picker = page.locator("[data-tool-picker]")
    title = picker.locator("optgroup option").first.text_content() or ""

    picker.click()
    search = page.locator(".option-list input")
    search.fill("nothing like this")
    expect(page.locator(".option-list [role=option]")).to_have_count(0)
    search.fill(title.strip())
    page.keyboard.press("Enter")
    chip = page.locator(".insp-tool-list [data-tool]").first
    expect(chip).to_contain_text(title.strip())
    chip.locator("summary").first.click()
    page.get_by_label("A person has to allow each call").check()
    memory = page.locator("[data-memory-tools]")
    expect(memory.get_by_role("switch")).to_be_checked()
    memory.locator("summary").click()
    page.get_by_label("Forget: User").check()
    draft.saved()

    data = draft.data("Assistant")
    assert [tool["source"] for tool in data["tools"]] == ["builtin"]
    assert data["tools"][0]["needs_approval"] is True
    assert data["memory_tools"] == {"remember": ["user"], "recall": ["user"], "forget": ["user"]}
