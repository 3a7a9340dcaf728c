"""The to-dos of an agent on the page of its run: while it works, while it waits for a person, and afterwards."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.editing import import_workflow
from tests.journeys.seeing import Gate, ready, until


pytestmark = pytest.mark.browser

SCRIPT = [
    {"text": "Todos:\n1. Ask for the rows of the table\n2. Compute its size\n3. Check the result"},
    {
        "when": "[Current step]\ncompute it again",
        "text": "Completion: 1\nAction: [calculator:3 * 4]\nNote: the table has 12 cells",
    },
    {
        "when": "[Current task]\nAsk for the rows",
        "text": "Completion: 0.9\nAction: [ask the person:How many rows?]\nNote: four columns",
    },
    {
        "when": "[Current task]\nCompute its size",
        "text": "Completion: 0.5\nAction: [calculator:3 * ]\nNext step: compute it again",
    },
    {"when": "[Current task]\nCheck the result", "text": "Completion: 1"},
    {"when": "1. Ask for the rows of the table: completed", "text": "The table has 12 cells."},
]
AGENT = {
    "type": "agent",
    "title": "Planner",
    "strategy": "todo",
    "max_rounds": 20,
    "model": {
        "provider": "offline",
        "name": "offline",
        "mode": "chat",
        "completion_params": {"offline_script": SCRIPT},
    },
    "query": "{{#start.q#}}",
    "tools": [{"source": "builtin", "name": "calculator"}],
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


# Where answers came from that the page has swapped in, or has left for nothing.
NOTE_ANSWERS = """() => {
  window.dealtWith = [];
  document.addEventListener("htmx:finally:request", ({ detail }) => dealtWith.push(detail.ctx.request.action));
}"""


def start_run(page: Page) -> str:
    """Run the workflow until it asks its question, and return the id of the run."""
    page.locator("#tab-run").click()
    page.get_by_label("q", exact=True).fill("Make a table of my friends")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#editor[data-run=paused]")).to_be_visible()
    return page.locator("#editor").get_attribute("data-run-id") or ""


def test_todos_of_a_run_are_shown_live_and_after_a_reload(signed_in: Page) -> None:
    page = signed_in
    import_workflow(page, WORKFLOW)
    ready(page)
    run_id = start_run(page)
    card = page.locator('wf-node[data-id="agent"] .wf-state')
    expect(card).to_contain_text("Waits for an answer")

    page.goto(f"/runs/{run_id}/")
    todos = page.locator(".todo")
    expect(todos).to_have_count(3)
    expect(page.locator('wf-node[data-id="agent"] .wf-state')).to_contain_text(
        "Waits for an answer"
    )
    expect(todos.nth(0)).to_have_attribute("data-state", "waiting")
    expect(todos.nth(1)).to_have_attribute("data-state", "pending")
    expect(page.locator("#run-metadata")).to_contain_text("Make a table of my friends")
    plan = page.locator(".todo-part").first  # closed, until somebody opens it
    plan.locator("summary").click()
    page.locator(".question textarea").fill("Three")
    page.get_by_role("button", name="Send").click()
    expect(todos.nth(2)).to_have_attribute("data-state", "done")
    expect(plan).to_have_attribute("open", "")  # although the to-dos were loaded again

    for _visit in ("live", "after a reload"):
        expect(todos.nth(2)).to_have_attribute("data-state", "done")
        expect(todos.nth(1)).to_contain_text("retried once")
        expect(todos.nth(0).locator(".round-call")).to_have_count(2)
        expect(page.locator(".todo-note").first).to_contain_text("the table has 12 cells")
        expect(page.locator(".todo-list")).to_contain_text("3 of 3 done")
        expect(page.locator("#run-metadata")).to_contain_text(f"ai:workflow:{run_id}")
        page.reload()


def test_late_rounds_leave_the_metadata_of_an_ended_run(signed_in: Page) -> None:
    page = signed_in
    import_workflow(page, WORKFLOW)
    ready(page)
    run_id = start_run(page)
    page.goto(f"/runs/{run_id}/")
    expect(page.locator("#run-metadata")).to_contain_text("Make a table of my friends")
    rounds = Gate(page, "**/rounds/")

    page.locator(".question textarea").fill("Three")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#run-body .todo-list")).to_contain_text("3 of 3 done")
    assert rounds.waiting
    page.evaluate(NOTE_ANSWERS)
    rounds.open()
    until(page, lambda: page.evaluate("dealtWith.some((address) => address.endsWith('/rounds/'))"))

    expect(page.locator("#run-metadata")).to_contain_text(f"ai:workflow:{run_id}")
