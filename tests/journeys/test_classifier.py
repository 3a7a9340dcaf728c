"""A question classifier in a real browser: it is added, gets a third class, is connected, and shows its branches."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.drawing import open_board
from tests.journeys.editing import Draft
from tests.journeys.seeing import until


pytestmark = pytest.mark.browser


def place(id_: str, x: int, y: int, **data: Any) -> dict[str, Any]:
    return {"id": id_, "position": {"x": x, "y": y}, "data": {"title": id_.title(), **data}}


DOCUMENT = {
    "version": "0.6.0",
    "kind": "app",
    "app": {"name": "Sorted", "mode": "workflow"},
    "workflow": {
        "graph": {
            "nodes": [
                place("start", 0, 0, type="start",
                      variables=[{"variable": "q", "type": "paragraph", "required": True}]),
                place("refunds", 700, 0, type="end", outputs=[]),
                place("others", 700, 220, type="end", outputs=[]),
            ],
            "edges": [],
        }
    },
}  # fmt: skip


def test_classifier_is_added_gets_a_class_and_is_connected(signed_in: Page) -> None:
    board = open_board(signed_in, DOCUMENT)
    draft = Draft(signed_in, board.workflow)
    draft.focus("Start")
    signed_in.keyboard.press("a")
    draft.pick("classifier")
    until(signed_in, lambda: "question-classifier" in {n.kind for n in draft.document.nodes})
    id_ = draft.id_of_kind("question-classifier")
    signed_in.evaluate(
        "id => { mnemoflow.editor.canvas.pick([id]); mnemoflow.editor.emit('open', { id }); }", id_
    )

    classes = signed_in.locator("#panel-node [data-field=classes]")
    expect(classes.locator("[data-item]")).to_have_count(2)
    classes.locator(".insp-add").click()
    for number, name in enumerate(("Refunds", "Delivery", "Other")):
        classes.locator("textarea[data-key=name]").nth(number).fill(name)
    expect(draft.node("Question classifier")).to_contain_text("Other")
    signed_in.evaluate("mnemoflow.editor.panels.close('right')")
    board.js("canvas.fit();")
    board.frame()
    board.drag(board.port(id_, "1"), board.inside("refunds"))
    board.drag(board.port(id_, "3"), board.inside("others"))

    assert board.stored(id_)["data"]["classes"] == [
        {"id": "1", "name": "Refunds"},
        {"id": "2", "name": "Delivery"},
        {"id": "3", "name": "Other"},
    ]
    assert board.stored_edges() == {
        ("start", "source", id_),
        (id_, "1", "refunds"),
        (id_, "3", "others"),
    }
