"""How the panel of a node marks what is missing, and what the pills of its texts say."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.journeys.canvas_document import LLM, edge, node, workflow
from tests.journeys.editing import import_workflow


pytestmark = pytest.mark.browser

START = node("start", "start", "Start", 0, 0, variables=[])
SHARE_OF_NAME = """label => parseFloat(getComputedStyle(label, "::after").width)
  / (label.clientWidth - parseFloat(getComputedStyle(label).paddingLeft) * 2)"""


@pytest.mark.parametrize("connected", [True, False])
def test_missing_text_has_a_border_in_the_colour_of_its_problem(
    signed_in: Page, connected: bool
) -> None:
    request = node("get", "http-request", "Get", 320, 0, method="get", url="")
    edges = [edge("start", "get")] if connected else []
    page = import_workflow(signed_in, workflow("Asks", START, request, edges=edges)).page
    page.locator('wf-node[data-id="get"]').click()
    field = page.locator("#panel-node [data-field=url]")
    problem = field.locator(".insp-problems > li")
    expect(problem).to_have_class("is-error" if connected else "is-warning")

    colour = problem.evaluate("line => getComputedStyle(line).color")
    expect(field.locator(".insp-paper")).to_have_css("border-top-color", colour)


def fill_prompt(signed_in: Page, text: str) -> Locator:
    """Return the pills of a prompt with this text."""
    later = node("count", "template-transform", "Count", 640, 0, template="1", variables=[])
    edges = [edge("start", "llm"), edge("llm", "count")]
    nodes = (START, node("llm", "llm", "Think", 320, 0, **LLM), later)
    page = import_workflow(signed_in, workflow("Thinks", *nodes, edges=edges)).page
    page.locator('wf-node[data-id="llm"]').click()
    page.locator("#panel-node [data-field=prompt_template] textarea").first.fill(text)
    return page.locator("#panel-node .pill-label")


def test_variable_of_a_node_that_comes_later_is_named_by_its_title(signed_in: Page) -> None:
    pill = fill_prompt(signed_in, "{{#count.output#}}")

    expect(pill).to_have_attribute("data-title", "Count")


def test_name_alone_at_the_end_of_a_line_has_its_pill_to_itself(signed_in: Page) -> None:
    pill = fill_prompt(signed_in, "{{#query#}}")

    expect(pill).to_have_attribute("data-name", "query")
    assert pill.evaluate(SHARE_OF_NAME) == pytest.approx(1, abs=0.02)
