"""A step whose outcome nobody knows, in the browser: the page of the run asks, and the list of runs finds it."""

import json

import pytest
from playwright.sync_api import Page, expect

from config.ids import uuid7
from tests.support.stack import LiveStack


pytestmark = pytest.mark.browser

FORM = {
    "type": "uncertain",
    "node": "Order",
    "inputs": [{"name": "outputs", "type": "json_object", "required": False}],
    "actions": [
        {"id": "happened", "title": "It happened", "style": "primary"},
        {"id": "again", "title": "Call again", "style": "default"},
        {"id": "stop", "title": "Stop the run", "style": "ghost"},
    ],
    "arguments": {"method": "POST", "url": "https://shop.example/orders"},
}


def start_uncertain_run(page: Page, stack: LiveStack) -> str:
    """Start a run in the browser, and make it wait as if its worker had been lost during a call."""
    page.goto(f"{stack.url}/runs/")
    run = page.evaluate(
        """async () => {
          const inherited = document.body.getAttribute("hx-headers:inherited");
          const headers = { "Content-Type": "application/json", ...JSON.parse(inherited) };
          const post = async (path, body) =>
            (await fetch(`/api/v1/${path}`, { method: "POST", headers, body: JSON.stringify(body) })).json();
          const workflow = await post("workflows/samples/chatbot/copy", {});
          const run = await post(`workflows/${workflow.id}/runs`, { query: "Order tea", offline: true, version: "draft" });
          return run.id;
        }"""
    )
    page.goto(f"{stack.url}/runs/{run}/")
    expect(page.get_by_text("Succeeded").first).to_be_visible()
    pause = {"nodes": ["order"], "reason": "input", "uncertain": True, "at": 0, "settled": 1}
    stack.sql(
        "update workflows_run set status = 'paused', finished_at = null, pause = %s where id = %s returning 1",
        (json.dumps(pause), run),
    )
    stack.sql(
        "insert into workflows_runwait (id, team_id, run_id, node_key, rounds, part, form, created_at)"
        " select %s, team_id, id, 'order', '{}', 'uncertain.1', %s, now() from workflows_run where id = %s returning 1",
        (uuid7(), json.dumps(FORM), run),
    )
    return str(run)


def test_decision_during_an_outage_keeps_what_was_entered(
    unwatched: Page, live_stack: LiveStack
) -> None:
    page = unwatched
    run = start_uncertain_run(page, live_stack)
    page.goto(f"{live_stack.url}/runs/{run}/")
    text = "The database can't be reached at the moment."
    headers = {"HX-Reswap": "none", "HX-Trigger": json.dumps({"show-toast": text})}
    page.route("**/waits/**", lambda route: route.fulfill(status=503, headers=headers))
    outputs = page.get_by_label("If it happened: its outputs as JSON (optional)")

    outputs.fill('{"status_code": 201}')
    page.get_by_role("button", name="It happened").click()

    expect(page.get_by_text(text)).to_be_visible()
    expect(outputs).to_have_value('{"status_code": 201}')


def test_uncertain_run_is_found_and_stopped(signed_in: Page, live_stack: LiveStack) -> None:
    page = signed_in
    run = start_uncertain_run(page, live_stack)

    page.goto(f"{live_stack.url}/runs/?status=uncertain")
    expect(page.get_by_text("Uncertain: decide").first).to_be_visible()
    page.goto(f"{live_stack.url}/runs/{run}/")
    expect(page.get_by_role("heading", name="Did “Order” happen?")).to_be_visible()
    expect(page.get_by_text("https://shop.example/orders")).to_be_visible()
    expect(page.get_by_label("If it happened: its outputs as JSON (optional)")).to_be_visible()
    page.get_by_role("button", name="Stop the run").click()

    expect(page.get_by_text("Answered by Demo user.")).to_be_visible()
    page.reload()
    expect(page.get_by_text("Stopped").first).to_be_visible()
