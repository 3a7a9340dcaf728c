"""The to-dos of an agent on the page of its run: while it works, while it waits for a person, and afterwards."""

import copy
import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.editing import import_workflow
from tests.journeys.seeing import Gate, ready, until


pytestmark = pytest.mark.browser

CHECKED = {"when": "[Current task]\nCheck the result", "text": "Completion: 1"}
CHECKED_BY_PERSON = {
    **CHECKED,
    "text": "Completion: 1\nAction: [ask the person:Are 12 cells enough?]",
}
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
    CHECKED,
    {"when": "1. Ask for the rows of the table: completed", "text": "The table has 12 cells."},
]
AGENT: dict[str, Any] = {
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

# The same, but the last step asks a second question.
ASKING_TWICE = copy.deepcopy(WORKFLOW)
ASKING_TWICE["nodes"][1]["data"]["model"]["completion_params"]["offline_script"] = [
    *SCRIPT[:4],
    CHECKED_BY_PERSON,
    *SCRIPT[5:],
]

# Where answers came from that the page has swapped in, or has left for nothing.
NOTE_ANSWERS = """() => {
  window.dealtWith = [];
  document.addEventListener("htmx:finally:request", ({ detail }) => dealtWith.push(detail.ctx.request.action));
}"""


COUNT_ROUNDS = "dealtWith.filter((address) => address.endsWith('/rounds/')).length"
LOAD_ROUNDS_TWICE = """() => {
  const rounds = document.getElementById("run-rounds");
  for (const _time of ["first", "second"]) htmx.trigger(rounds, "rounds-changed");
}"""


def start_run(page: Page) -> str:
    """Run the workflow until it asks its question, and return the id of the run."""
    page.locator("#tab-run").click()
    page.get_by_label("q", exact=True).fill("Make a table of my friends")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#editor[data-run=paused]")).to_be_visible()
    return page.locator("#editor").get_attribute("data-run-id") or ""


def give_answer(page: Page, text: str, answer: str) -> None:
    question = page.locator(".question", has_text=text)
    question.locator("textarea").fill(answer)
    question.get_by_role("button", name="Send").click()


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
    page.evaluate(NOTE_ANSWERS)
    page.evaluate(LOAD_ROUNDS_TWICE)
    # The answer, the request that waited for it, and the one that the new element makes in its place.
    until(page, lambda: page.evaluate(COUNT_ROUNDS) >= 3, why="the rounds were not loaded")
    expect(plan).to_have_attribute("open", "")
    page.locator(".question textarea").fill("Three")
    with page.expect_response(re.compile("/waits/")):
        page.evaluate("htmx.trigger(document.querySelector('[id^=questions-]'), 'run-waiting')")
    until(page, lambda: not page.locator("[id^=questions-].htmx-request").count())
    expect(page.locator(".question textarea")).to_have_value("Three")  # what was typed stays
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
    import_workflow(page, ASKING_TWICE)
    ready(page)
    run_id = start_run(page)
    page.goto(f"/runs/{run_id}/")
    expect(page.locator("#run-metadata")).to_contain_text("Make a table of my friends")
    rounds = Gate(page, "**/rounds/")

    give_answer(page, "How many rows?", "Three")
    # The run waits again, so that its rounds are asked for before it ends, however quick it is.
    question = page.locator(".question", has_text="Are 12 cells enough?")
    until(page, lambda: question.is_visible() and rounds.waiting, why="no rounds were asked for")
    give_answer(page, "Are 12 cells enough?", "Yes")
    expect(page.locator("#run-body .todo-list")).to_contain_text("3 of 3 done")
    assert rounds.waiting
    page.evaluate(NOTE_ANSWERS)
    rounds.open()
    until(page, lambda: page.evaluate("dealtWith.some((address) => address.endsWith('/rounds/'))"))

    expect(page.locator("#run-metadata")).to_contain_text(f"ai:workflow:{run_id}")
