"""An input of the Start node in a real browser gets its name from its label."""

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.drawing import open_board
from tests.journeys.editing import Draft
from tests.journeys.seeing import until


pytestmark = pytest.mark.browser

DOCUMENT = {
    "version": "0.6.0",
    "kind": "app",
    "app": {"name": "Asks", "mode": "workflow"},
    "workflow": {
        "graph": {
            "nodes": [
                {
                    "id": "start",
                    "position": {"x": 0, "y": 0},
                    "data": {
                        "type": "start",
                        "title": "Start",
                        "variables": [{"variable": "q", "type": "paragraph", "required": True}],
                    },
                }
            ],
            "edges": [],
        }
    },
}


def test_input_is_named_after_its_label_until_it_has_a_name(signed_in: Page) -> None:
    board = open_board(signed_in, DOCUMENT)
    draft = Draft(signed_in, board.workflow)
    signed_in.evaluate(
        "() => { mnemoflow.editor.canvas.pick(['start']); mnemoflow.editor.emit('open', { id: 'start' }); }"
    )
    inputs = signed_in.locator("#panel-node [data-field=variables]")
    inputs.locator(".insp-add").click()
    row = inputs.locator("[data-item]").nth(1)
    label, name = row.get_by_label("Label"), row.get_by_label("Name")

    label.press_sequentially("Größe, Q")
    expect(name).to_have_value("gro_e_q")
    label.fill("q")
    expect(name).to_have_value("q_2")
    name.focus()
    label.fill("Another label")
    expect(name).to_have_value("q_2")

    def list_names() -> list[str]:
        (start,) = (node for node in draft.document.nodes if node.kind == "start")
        return [variable["variable"] for variable in start.data["variables"]]

    until(signed_in, lambda: list_names() == ["q", "q_2"])
