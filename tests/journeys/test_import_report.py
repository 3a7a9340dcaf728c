"""A file is dropped on the workflows page: its report says what is missing, and each thing is replaced or shown."""

import json
import os
import re
from typing import Any

import pytest
import yaml
from playwright.sync_api import Page, expect

from tests.journeys.drawing import CANVAS, EXPORT, open_board
from tests.journeys.seeing import Gate, box_of, until


pytestmark = pytest.mark.browser


def place(id_: str, x: int, **data: Any) -> dict[str, Any]:
    return {"id": id_, "position": {"x": x, "y": 0}, "data": {"title": id_.title(), **data}}


MODEL = {"provider": "langgenius/openai/openai", "name": "gpt-4o", "mode": "chat"}
NODES = [
    place("start", 0, type="start", variables=[{"variable": "q", "type": "paragraph"}]),
    place("forecast", 300, type="tool", provider_type="builtin",
          provider_id="acme/weather/weather", provider_name="acme/weather/weather",
          tool_name="forecast",
          tool_parameters={"query": {"type": "mixed", "value": "{{#start.q#}}"}}),
    place("drive", 600, type="drive-reader", plugin_unique_identifier="acme/drive:1.0.2@ab",
          provider_name="acme/drive/drive", folder="/reports", recursive=True,
          filters=[{"ending": ".pdf", "newer_than": "2024-01-01"}]),
    place("writer", 900, type="llm", model=MODEL, reranker="cross",
          prompt_template=[{"role": "user", "text": "{{#drive.text#}}"}]),
    place("end", 1200, type="end",
          outputs=[{"variable": "o", "value_selector": ["writer", "text"]}]),
]  # fmt: skip
EDGES = [
    {"id": f"e{index}", "source": NODES[index]["id"], "target": NODES[index + 1]["id"]}
    for index in range(len(NODES) - 1)
]
DOCUMENT = yaml.safe_dump(
    {
        "version": "0.6.0",
        "kind": "app",
        "app": {"name": "Weather report", "mode": "workflow"},
        "dependencies": [
            {"type": "package", "value": {"plugin_unique_identifier": "acme/weather:0.3.1@cd"}}
        ],
        "workflow": {
            "graph": {"nodes": NODES, "edges": EDGES},
            "features": {"speech_to_text": {"enabled": True}},
        },
    }
)


def look(page: Page, name: str) -> None:
    if folder := os.environ.get("LOOK_AT"):
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


def drop(page: Page, target: str, files: dict[str, str] | None = None) -> None:
    """Drop files, by their names and contents; without any, the document."""
    data = page.evaluate_handle(
        """(files) => {
          const data = new DataTransfer();
          for (const [name, text] of Object.entries(files)) data.items.add(new File([text], name));
          return data;
        }""",
        files or {"weather.yml": DOCUMENT},
    )
    for event in ("dragenter", "dragover", "drop"):
        page.dispatch_event(target, event, {"dataTransfer": data})


def check_columns(page: Page) -> None:
    """What to choose stands beside what to know, so that a wide screen isn't left empty."""
    page.wait_for_load_state("load")  # a heading can be read before the style sheets have come
    left, right = (
        box_of(page.get_by_role("heading", name=name))
        for name in ("What it uses", "What has no effect here")
    )
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] < right["x"]


def test_dropped_file_is_reported_replaced_and_opened(signed_in: Page) -> None:
    page = signed_in
    page.goto("/workflows/")
    drop(page, "body")

    expect(page.get_by_role("heading", name="Requirements")).to_be_visible()
    report = page.locator("#import-report")
    expect(report).to_contain_text("All 5 nodes open · 1 needs a model · 2 can't run yet")
    for text in ("gpt-4o", "forecast", "drive-reader", "acme/weather", "Speech to text"):
        expect(report).to_contain_text(text)
    check_columns(page)
    look(page, "report")

    page.get_by_label("Tool for forecast").select_option(label="DuckDuckGo search")
    expect(report).to_contain_text("All 5 nodes open · 1 needs a model · 1 can't run yet")
    expect(report.locator("#report-tool + .hint")).to_have_count(0)
    expect(report).to_contain_text("Replace the tool forecast by DuckDuckGo search")
    report.get_by_role("button", name="Undo").click()
    expect(report).to_contain_text("Undone: Replace the tool forecast by DuckDuckGo search")
    page.get_by_label("Tool for forecast").select_option(label="DuckDuckGo search")
    expect(report).to_contain_text("All 5 nodes open · 1 needs a model · 1 can't run yet")
    look(page, "report-replaced")

    report.get_by_role("link", name="Drive").click()
    panel = page.locator("#panel-node")
    expect(panel.locator(".insp-placeholder")).to_contain_text("acme/drive:1.0.2")
    expect(panel.locator(".insp-placeholder")).to_contain_text("filters › 1 › ending")
    look(page, "placeholder")

    panel.get_by_role("button", name="Pin output").click()
    expect(page.locator("#pin-outputs")).to_be_focused()
    panel.get_by_role("tab", name="Settings").click()

    workflow = page.url.split("/workflows/")[1].split("/")[0]
    panel.get_by_label("Replace with").select_option(label="Template")
    expect(panel.locator(".insp-replacement")).to_contain_text("text becomes output in Writer")
    panel.get_by_role("button", name="Replace").click()

    def read_node() -> Any:
        nodes = page.evaluate(EXPORT, workflow)["workflow"]["graph"]["nodes"]
        return next((node for node in nodes if node["id"] == "drive"), {"data": {}})

    until(page, lambda: read_node()["data"].get("type") == "template-transform")
    expect(panel.locator("[data-field='template']")).to_be_visible()
    assert page.evaluate(f"() => {CANVAS}.model.nodes.get('drive').el.dataset.kind") == (
        "template-transform"
    )
    graph = page.evaluate(EXPORT, workflow)["workflow"]["graph"]
    ends = {(edge["source"], edge["target"]) for edge in graph["edges"]}
    assert {("forecast", "drive"), ("drive", "writer")} <= ends
    assert read_node()["data"]["title"] == "Drive"

    page.keyboard.press("Escape")
    page.locator("summary[aria-label='More']").first.click()
    page.get_by_role("link", name="Requirements").click()
    # The model reads the output of the new node.
    assert "{{#drive.output#}}" in json.dumps(graph)
    expect(report).to_contain_text("All 5 nodes open · 1 needs a model")
    expect(report).not_to_contain_text("keeps the workflow from starting")
    expect(report.locator("#report-node_type")).to_have_count(0)


def test_file_dropped_on_the_canvas_becomes_the_draft_with_its_report(signed_in: Page) -> None:
    page = signed_in
    open_board(page)
    drop(page, "[data-canvas]")
    page.get_by_role("button", name="Replace the draft").click()

    expect(page.get_by_role("heading", name="Requirements")).to_be_visible()
    expect(page.locator("#import-report")).to_contain_text("forecast")
    page.get_by_role("link", name="Open the workflow").click()
    expect(page.locator("wf-node[data-id='drive'] .wf-unknown")).to_be_visible()


def test_choice_made_before_the_scripts_have_come_is_carried_out(signed_in: Page) -> None:
    page = signed_in
    page.goto("/workflows/")
    drop(page, "body")
    expect(page.locator("#import-report")).to_be_visible()
    scripts = Gate(page, re.compile(r"/(app|htmx)[^/]*\.js"))

    page.goto(page.url, wait_until="commit")
    page.get_by_label("Tool for forecast").select_option(label="DuckDuckGo search")
    scripts.open()

    expect(page.locator("#import-report")).to_contain_text(
        "Replace the tool forecast by DuckDuckGo search"
    )


def test_file_dropped_on_the_page_of_the_import_is_imported(signed_in: Page) -> None:
    page = signed_in
    page.goto("/workflows/import/")
    drop(page, "body")

    expect(page.get_by_role("heading", name="Requirements")).to_be_visible()
    page.get_by_label("Node type for drive-reader").select_option(label="Template")
    expect(page.locator("#import-report")).to_contain_text("Replace drive-reader by Template")
    look(page, "kind-replaced")


def test_chosen_files_are_listed_and_what_is_wrong_is_left_out(signed_in: Page) -> None:
    page = signed_in
    page.goto("/workflows/import/")
    field = page.get_by_label("Select files, or drop them here")
    field.focus()
    expect(field).to_be_focused()  # the button is a field that the keyboard reaches

    drop(page, "[data-drop]", {"one.yml": DOCUMENT, "empty.yml": "", "manual.pdf": PDF})

    rows = page.get_by_role("list", name="Chosen files").get_by_role("listitem")
    expect(rows).to_have_count(3)
    expect(rows.nth(0).locator(".file-error")).to_be_hidden()
    expect(rows.nth(1)).to_contain_text("The file is empty.")
    expect(rows.nth(2)).to_contain_text("This is no workflow.")
    look(page, "chosen")
    rows.nth(2).get_by_role("button", name="Remove").click()
    expect(rows).to_have_count(2)

    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("heading", name="Requirements")).to_be_visible()


PDF = "%PDF-1.7 \x00\x01"


def test_several_files_and_documents_that_are_dropped(signed_in: Page) -> None:
    page = signed_in
    page.goto("/workflows/")
    drop(page, "body", {"one.yml": DOCUMENT, "two.yml": DOCUMENT, "manual.pdf": PDF})

    expect(page.get_by_role("heading", name="2 of 3 files imported")).to_be_visible()
    main = page.locator("#content")
    expect(main).to_contain_text("manual.pdf is a PDF document, not a workflow.")
    expect(main.get_by_role("link", name="Requirements")).to_have_count(2)
    look(page, "several")

    main.get_by_role("link", name="Weather report").first.click()
    canvas = page.locator("[data-canvas]")
    expect(page.locator("wf-node[data-id='drive']")).to_be_visible()
    drop(page, "[data-canvas]", {"prices.csv": "a,b\n1,2\n"})
    dialog = page.get_by_role("dialog", name="Not a workflow")
    expect(dialog).to_contain_text("prices.csv is a table, not a workflow.")
    expect(dialog.get_by_role("link", name="Add it to a knowledge base")).to_be_visible()
    look(page, "other-file")
    dialog.get_by_role("button", name="Close").click()

    drop(page, "[data-canvas]", {"a.yml": DOCUMENT, "b.yml": "nodes: [1"})
    several = page.get_by_role("dialog", name="Import several files")
    expect(several).to_contain_text("a.yml, b.yml")
    expect(canvas).to_be_visible()
    several.get_by_role("button", name="Import").click()
    expect(page.get_by_role("heading", name="1 of 2 files imported")).to_be_visible()
