"""Branches by keyboard alone: walk along them and connect them."""

import pytest
from playwright.sync_api import Page

from tests.journeys.canvas_document import LLM, edge, node, workflow
from tests.journeys.editing import Draft, import_workflow


pytestmark = pytest.mark.browser

QUESTION = {
    "case_id": "true",
    "logical_operator": "and",
    "conditions": [
        {
            "variable_selector": ["sys", "query"],
            "comparison_operator": "end with",
            "value": "?",
        }
    ],
}


@pytest.fixture
def branched(signed_in: Page) -> Draft:
    """Two nodes side by side, twice, and one of them with two ways out."""
    nodes = [
        node("start", "start", "User message", 40, 88, variables=[]),
        node("one", "template-transform", "Above", 360, 40, template="x", variables=[]),
        node("two", "template-transform", "Below", 360, 168, template="x", variables=[]),
        node("llm", "llm", "Generate answer", 680, 88, **LLM),
        node("answer", "answer", "Answer", 1000, 40, answer="{{#llm.text#}}"),
        node("question", "if-else", "Is it a question?", 1000, 168, cases=[QUESTION]),
        node("remember", "memory-store", "Remember", 1320, 260, value_selector=["sys", "query"]),
    ]
    ends = ["start one", "start two", "one llm", "two llm", "llm answer", "llm question"]
    edges = [edge(*each.split()) for each in ends]
    made = workflow("Branched", *nodes, edges=[*edges, edge("question", "remember", "false")])
    made["app"]["mode"] = "advanced-chat"
    return import_workflow(signed_in, made)


def test_branches_are_walked_along_and_connected(branched: Draft):
    check_walking_follows_edges_and_branches(branched)
    check_connecting_asks_for_the_way_out_and_the_target(branched)


def check_walking_follows_edges_and_branches(branched: Draft):
    draft = branched
    page = draft.page
    draft.focus("User message")
    right, down, up, left = (f"Arrow{way}" for way in ("Right", "Down", "Up", "Left"))
    steps = [right, down, right, right, down, up, left]
    titles = []

    for step in steps:
        page.keyboard.press(step)
        titles.append(page.evaluate("document.activeElement.dataset.title"))

    assert titles == [
        "Above",
        "Below",
        "Generate answer",
        "Answer",
        "Is it a question?",
        "Answer",
        "Generate answer",
    ]


def check_connecting_asks_for_the_way_out_and_the_target(branched: Draft):
    draft = branched
    page = draft.page
    draft.focus("Is it a question?")

    page.keyboard.press("c")
    draft.pick("if")
    draft.pick("Remember")

    draft.heard("Connected Is it a question? to Remember")
    assert ("Is it a question?", "true", "Remember") in draft.ends

    page.keyboard.press("Shift+C")
    draft.pick("Generate")
    draft.heard("Disconnected Generate answer from Is it a question?")
    assert ("Generate answer", "source", "Is it a question?") not in draft.ends
