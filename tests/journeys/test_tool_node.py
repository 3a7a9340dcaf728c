"""A tool node in a real browser: it is added, gets a tool and its arguments, and its run shows the answer."""

import os
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.drawing import open_board
from tests.journeys.editing import Draft
from tests.journeys.seeing import until


pytestmark = pytest.mark.browser


def place(id_: str, x: int, **data: Any) -> dict[str, Any]:
    return {"id": id_, "position": {"x": x, "y": 0}, "data": {"title": id_.title(), **data}}


DOCUMENT = {
    "version": "0.6.0",
    "kind": "app",
    "app": {"name": "Tools", "mode": "workflow"},
    "workflow": {
        "graph": {
            "nodes": [
                place("start", 0, type="start",
                      variables=[{"variable": "sum", "type": "paragraph", "required": True}]),
                place("search", 700, type="tool", provider_type="builtin", provider_id="acme",
                      provider_name="acme", tool_name="acme_search", tool_label="Acme",
                      tool_configurations={"max": 5},
                      tool_parameters={"query": {"type": "mixed", "value": "{{#start.sum#}}"}}),
            ],
            "edges": [],
        }
    },
}  # fmt: skip


def look(page: Page, name: str) -> None:
    if folder := os.environ.get("LOOK_AT"):
        page.screenshot(path=f"{folder}/{name}.png")


def show(page: Page, id_: str) -> None:
    page.evaluate(
        "id => { mnemoflow.editor.canvas.pick([id]); mnemoflow.editor.emit('open', { id }); }", id_
    )


def test_tool_node_is_added_and_gets_a_tool_and_its_arguments(signed_in: Page) -> None:
    board = open_board(signed_in, DOCUMENT)
    draft = Draft(signed_in, board.workflow)
    draft.focus("Start")
    signed_in.keyboard.press("a")
    draft.pick("Tool")
    until(signed_in, lambda: sum(n.kind == "tool" for n in draft.document.nodes) == 2)
    id_ = next(n.id for n in draft.document.nodes if n.kind == "tool" and n.id != "search")
    show(signed_in, id_)

    picker = signed_in.locator("#panel-node [data-tool-choice]")
    picker.select_option(label="Calculator")
    argument = signed_in.locator("#panel-node [data-field='tool_parameters.expression'] textarea")
    expect(argument).to_be_visible()
    argument.fill("{{#start.sum#}} * 2")
    argument.blur()
    until(signed_in, lambda: "value" in str(board.stored(id_)["data"].get("tool_parameters")))
    look(signed_in, "tool-node")

    data = board.stored(id_)["data"]
    assert (data["provider_type"], data["tool_name"]) == ("builtin", "calculator")
    assert data["tool_parameters"] == {
        "expression": {"type": "mixed", "value": "{{#start.sum#}} * 2"}
    }
    expect(draft.node("Tool")).to_contain_text("Calculator")

    argument.fill("{{#start.sum#}}")
    argument.blur()
    variable = {"expression": {"type": "variable", "value": ["start", "sum"]}}
    until(signed_in, lambda: board.stored(id_)["data"]["tool_parameters"] == variable)


def test_tool_of_another_product_is_shown_as_not_connected_and_kept(signed_in: Page) -> None:
    board = open_board(signed_in, DOCUMENT)
    show(signed_in, "search")

    panel = signed_in.locator("#panel-node")
    expect(panel.locator("[data-tool-choice]")).to_contain_text("acme_search of acme")
    expect(panel.locator("[data-field='tool_parameters.query'] textarea")).to_have_value(
        "{{#start.sum#}}"
    )
    expect(panel).to_contain_text("isn't connected")
    look(signed_in, "tool-node-foreign")

    assert board.stored("search")["data"]["tool_configurations"] == {"max": 5}
