"""A node whose type is missing: pinned from a template, asked about before publishing, and replaced in one step."""

import os
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.editing import paste_workflow


pytestmark = pytest.mark.browser


def place(id_: str, x: int, **data: Any) -> dict[str, Any]:
    return {"id": id_, "position": {"x": x, "y": 0}, "data": {"title": id_.title(), **data}}


NODES = [
    place("start", 0, type="start", variables=[{"variable": "q", "type": "paragraph"}]),
    place("leap", 300, type="quantum-leap", plugin_unique_identifier="acme/physics:1.0.2@ab",
          provider_name="acme/physics", tool_name="leap", url="https://example.test",
          dimensions={"depth": 3}),
    place("end", 600, type="end", outputs=[
        {"variable": "o", "value_selector": ["leap", "landing"], "value_type": "object"},
        {"variable": "n", "value_selector": ["leap", "count"], "value_type": "number"}]),
]  # fmt: skip
EDGES = [
    {"id": f"e{number}", "source": source["id"], "target": target["id"]}
    for number, (source, target) in enumerate(pairwise(NODES))
]
DOCUMENT = {
    "version": "0.6.0",
    "kind": "app",
    "app": {"name": "Leaps", "mode": "workflow"},
    "workflow": {"graph": {"nodes": NODES, "edges": EDGES}},
}


def look(page: Page, name: str) -> None:
    if folder := os.environ.get("LOOK_AT"):
        page.screenshot(path=f"{folder}/{name}.png")


def test_missing_type_is_pinned_from_a_template_published_knowingly_and_replaced(
    signed_in: Page,
) -> None:
    draft = paste_workflow(signed_in, DOCUMENT)
    page, panel = draft.page, signed_in.locator("#panel-node")
    draft.node("Leap").click()
    expect(panel).to_contain_text("This node comes from a plug-in that isn't installed here.")
    look(page, "panel")

    panel.get_by_role("button", name="Pin output").click()
    expect(page.locator("#pin-outputs")).to_have_value('{\n  "landing": {},\n  "count": 0\n}')
    look(page, "pin")
    page.get_by_role("button", name="Pin", exact=True).click()
    expect(page.locator('wf-node[data-title="Leap"] .wf-pin')).to_be_visible()

    page.locator("summary[data-tour=publish]").click()
    page.get_by_role("button", name="Publish draft").click()
    question = page.locator("[data-publish-refused]")
    expect(question).to_contain_text(
        "A run of the published version fails if it reaches this node:"
    )
    # The question's own button goes on; the other one would only ask again.
    expect(page.get_by_role("button", name="Publish draft")).to_be_hidden()
    look(page, "question")
    question.get_by_role("button", name="Publish anyway").click()
    dialog = page.locator("[data-published]")
    expect(dialog.get_by_role("link", name="Leap")).to_be_visible()
    look(page, "published")
    dialog.get_by_role("link", name="Close").click()

    panel.get_by_role("tab", name="Settings").click()
    panel.get_by_label("Replace with").select_option(label="HTTP request")
    expect(panel).to_contain_text("settings: URL")
    expect(panel).to_contain_text("HTTP request has no output landing, count")
    look(page, "replacement")
    panel.get_by_role("button", name="Replace", exact=True).click()
    expect(panel.locator("[data-field='url']")).to_contain_text("https://example.test")

    page.keyboard.press("Escape")
    page.locator("#editor").focus()
    page.keyboard.press("Control+z")
    draft.node("Leap").click()
    expect(panel.locator(".insp-placeholder")).to_contain_text("quantum-leap")
