"""On a phone, what needs somebody is the first thing on the home page."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.canvas_document import edge, node
from tests.journeys.editing import change, store_workflow
from tests.journeys.seeing import until


pytestmark = pytest.mark.browser

ASK: dict[str, Any] = node("ask", "human-input", "Ask", 320, 0, form_content="Fine?", timeout=1, timeout_unit="day",
                           user_actions=[{"id": "ok", "title": "OK", "button_style": "primary"}])  # fmt: skip
NAME = "Holiday requests of everybody in the sales team"
NODES = [
    node("start", "start", "Start", 0, 0, variables=[]),
    ASK,
    node("end", "end", "End", 640, 0, outputs=[{"variable": "o", "value_selector": ["ask", "__action_id"]}]),
]  # fmt: skip
DOCUMENT = {
    "version": "0.6.0",
    "kind": "app",
    "app": {"name": NAME, "mode": "workflow"},
    "workflow": {"graph": {"nodes": NODES, "edges": [edge("start", "ask"), edge("ask", "end", "ok")]}},
}  # fmt: skip
TOPS = """() => [...document.querySelectorAll(".home section")].filter((part) => part.checkVisibility())
  .sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top).map((part) => part.getAttribute("aria-labelledby"))"""


def test_what_needs_attention_comes_first_on_a_phone(signed_in: Page):
    page = signed_in
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/")
    assert page.evaluate(TOPS)[0] != "attention-title"

    workflow = store_workflow(page, DOCUMENT)
    change(page, f"workflows/{workflow}/runs", {"version": "draft", "inputs": {}})

    question = page.get_by_role("link", name=f"{NAME} Waiting for you")

    def is_asked() -> bool:
        page.goto("/")
        return question.is_visible()

    until(page, is_asked)
    assert page.evaluate(TOPS)[:2] == ["attention-title", "usage-title"]
    expect(question).to_be_in_viewport()
    name = question.get_by_text(NAME)
    assert name.evaluate("name => name.scrollWidth <= name.clientWidth")  # it isn't cut
