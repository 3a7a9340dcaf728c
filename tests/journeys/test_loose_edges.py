"""An edge that has lost its target isn't drawn, but a problem leads to it, and there it is deleted."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.canvas_document import edge, node
from tests.journeys.editing import import_workflow


pytestmark = pytest.mark.browser

START: dict[str, Any] = node("start", "start", "Start", 0, 0, variables=[])
END: dict[str, Any] = node("end", "end", "End", 320, 0, outputs=[{"variable": "o", "value_selector": ["sys", "user_id"]}])  # fmt: skip
GRAPH = {"nodes": [START, END], "edges": [edge("start", "end"), {"id": "loose", "source": "start"}]}
DOCUMENT = {
    "version": "0.6.0",
    "kind": "app",
    "app": {"name": "Loose", "mode": "workflow"},
    "workflow": {"graph": GRAPH},
}


def test_problem_of_an_edge_without_a_target_leads_to_its_deletion(signed_in: Page):
    page = import_workflow(signed_in, DOCUMENT).page
    button, panel = page.locator("#problems-button"), page.locator("#panel-node")
    expect(button).to_have_text(re.compile("1 problem"))
    expect(page.locator(".wf-edge")).to_have_count(1)

    button.click()
    page.get_by_role("button", name=re.compile("The edge from “Start” has no target")).click()
    expect(panel.locator("dl")).to_contain_text(re.compile(r"Start\s*Target node\s*Missing"))
    panel.get_by_role("button", name="Delete edge").click()

    expect(button).to_have_text(re.compile("No problems"))
    expect(panel.get_by_role("button", name="Delete edge")).to_have_count(0)
    page.keyboard.press("Control+z")
    expect(button).to_have_text(re.compile("1 problem"))
