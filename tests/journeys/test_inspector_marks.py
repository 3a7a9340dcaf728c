"""How the panel of a node marks what is missing, and what the pills of its texts say."""

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.canvas_document import LLM, edge, node, workflow
from tests.journeys.editing import import_workflow


pytestmark = pytest.mark.browser

START = node("start", "start", "Start", 0, 0, variables=[])
SHARE_OF_NAME = """label => parseFloat(getComputedStyle(label, "::after").width)
  / (label.clientWidth - parseFloat(getComputedStyle(label).paddingLeft) * 2)"""


def test_missing_text_has_a_border_in_the_colour_of_its_problem(signed_in: Page) -> None:
    """What lacks where the workflow goes is an error, and elsewhere a warning."""
    empty = {"method": "get", "url": ""}
    connected = node("get", "http-request", "Get", 320, 0, **empty)
    loose = node("loose", "http-request", "Loose", 320, 240, **empty)
    nodes = (START, connected, loose)
    page = import_workflow(signed_in, workflow("Asks", *nodes, edges=[edge("start", "get")])).page

    for id_, severity in (("get", "is-error"), ("loose", "is-warning")):
        page.locator(f'wf-node[data-id="{id_}"]').click()
        field = page.locator(f"[data-inspector=node][data-node={id_}] [data-field=url]")
        problem = field.locator(".insp-problems > li")
        expect(problem).to_have_class(severity)
        colour = problem.evaluate("line => getComputedStyle(line).color")
        expect(field.locator(".insp-paper")).to_have_css("border-top-color", colour)


def test_pills_of_a_text_are_named_and_have_room(signed_in: Page) -> None:
    later = node("count", "template-transform", "Count", 640, 0, template="1", variables=[])
    edges = [edge("start", "llm"), edge("llm", "count")]
    nodes = (START, node("llm", "llm", "Think", 320, 0, **LLM), later)
    page = import_workflow(signed_in, workflow("Thinks", *nodes, edges=edges)).page
    page.locator('wf-node[data-id="llm"]').click()
    text = page.locator("#panel-node [data-field=prompt_template] textarea").first
    pill = page.locator("#panel-node .pill-label")

    text.fill("{{#count.output#}}")
    expect(pill).to_have_attribute("data-title", "Count")  # of a node that comes later

    text.fill("{{#query#}}")
    expect(pill).to_have_attribute("data-name", "query")
    # Alone at the end of a line, it has its pill to itself.
    assert pill.evaluate(SHARE_OF_NAME) == pytest.approx(1, abs=0.02)


def test_schedule_shows_only_what_its_repetition_needs(signed_in: Page):
    schedule = node("when", "trigger-schedule", "When", 0, 0, mode="visual", frequency="daily")
    page = import_workflow(signed_in, workflow("Nightly", schedule)).page
    page.locator('wf-node[data-id="when"]').click()
    fields = page.locator("#panel-node")

    def expect_only(*names: str) -> None:
        for name in ("time", "weekdays", "monthly_days", "on_minute"):
            field = fields.locator(f'[data-field="visual_config.{name}"]')
            expect(field).to_be_visible() if name in names else expect(field).to_be_hidden()

    expect_only("time")
    fields.get_by_label("Repeat").select_option(label="Every week")
    expect_only("time", "weekdays")
    fields.get_by_label("Repeat").select_option(label="Every hour")
    expect_only("on_minute")
