"""The settings of knowledge retrieval in a real browser: knowledge bases by name, ranking, and conditions on metadata."""

import os
import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.drawing import open_board
from tests.journeys.editing import Draft
from tests.journeys.seeing import Gate, until


pytestmark = pytest.mark.browser

DOCUMENT = {
    "version": "0.6.0",
    "kind": "app",
    "app": {"name": "Ask the handbook", "mode": "workflow"},
    "workflow": {
        "graph": {
            "nodes": [
                {"id": "start", "position": {"x": 0, "y": 0}, "data": {
                    "type": "start", "title": "Start",
                    "variables": [{"variable": "q", "type": "paragraph", "required": True}]}},
                {"id": "find", "position": {"x": 320, "y": 0}, "data": {
                    "type": "knowledge-retrieval", "title": "Search",
                    "query_variable_selector": ["start", "q"],
                    "multiple_retrieval_config": {"top_k": 4}}},
                {"id": "end", "position": {"x": 640, "y": 0},
                 "data": {"type": "end", "title": "End", "outputs": []}},
            ],
            "edges": [{"id": "a", "source": "start", "target": "find"},
                      {"id": "b", "source": "find", "target": "end"}],
        }
    },
}  # fmt: skip
# What the panel of the node asks of the server.
SAVE_OR_FORM = re.compile(r"/(draft|nodes/find)/(\?|$)")
NAMES = ("Garden handbook", "Garden shop", "Garden tools", "Seeds", "Weather", "Soil")


def test_knowledge_bases_ranking_and_conditions_are_set_in_the_panel(signed_in: Page) -> None:
    page = signed_in
    for name in NAMES:
        create_knowledge_base(page, name)
    board = open_board(page, DOCUMENT)
    draft = Draft(page, board.workflow)
    page.evaluate(
        "() => { mnemoflow.editor.canvas.pick(['find']); mnemoflow.editor.emit('open', { id: 'find' }); }"
    )
    panel = page.locator("#panel-node")
    expect(panel.locator("[data-field=top_k] input")).to_have_value("4")
    expect(panel.locator("[data-field=scope]")).to_be_visible()

    bases = panel.locator("[data-field=knowledge_bases]")
    bases.get_by_role("searchbox").fill("garden sh")
    expect(bases.locator("li:visible")).to_have_count(1)
    bases.get_by_label("Garden shop").check()
    bases.get_by_role("searchbox").fill("")
    bases.get_by_label("Garden handbook").check()
    expect(panel.locator("[data-field=scope]")).to_be_hidden()
    until(page, lambda: sorted(data(draft).get("knowledge_bases", ())) == [
        "global:garden-handbook", "global:garden-shop"])  # fmt: skip

    expect(panel.locator("[data-group=advanced]")).to_have_attribute("open", "")  # as they are set
    panel.get_by_role("switch", name="Rerank").check()
    panel.get_by_label("Words").fill("0.5")
    choose(panel, "metadata_filtering_mode", "manual")
    conditions = panel.locator("[data-field=metadata_filtering_conditions]")
    conditions.get_by_role("button", name="Add condition").click()
    conditions.locator("[data-key=name]").fill("tags")
    conditions.locator("[data-key=comparison_operator]").select_option("contains")
    conditions.locator("[data-key=value]").fill("money")
    conditions.locator("[data-key=value]").press("Tab")

    until(page, lambda: "metadata_filtering_conditions" in data(draft))
    draft.saved()
    stored = data(draft)
    assert stored["multiple_retrieval_config"] == {
        "top_k": 4,
        "reranking_enable": True,
        "reranking_mode": "weighted_score",
        "weights": {
            "vector_setting": {"vector_weight": 0.7},
            "keyword_setting": {"keyword_weight": 0.5},
        },
    }
    (condition,) = stored["metadata_filtering_conditions"]["conditions"]
    assert condition == {"name": "tags", "comparison_operator": "contains", "value": "money"}
    look(page, panel)


def test_conditions_typed_faster_than_the_server_answers_are_no_conflict(signed_in: Page) -> None:
    page = signed_in
    board = open_board(page, DOCUMENT)
    draft = Draft(page, board.workflow)
    page.evaluate(
        "() => { mnemoflow.editor.canvas.pick(['find']); mnemoflow.editor.emit('open', { id: 'find' }); }"
    )
    panel = page.locator("#panel-node")
    choose(panel, "metadata_filtering_mode", "manual")
    draft.saved()
    gate = Gate(page, SAVE_OR_FORM)

    conditions = panel.locator("[data-field=metadata_filtering_conditions]")
    conditions.get_by_role("button", name="Add condition").click()
    conditions.locator("[data-key=name]").fill("tags")
    conditions.locator("[data-key=comparison_operator]").select_option("contains")
    value = conditions.locator("[data-key=value]")
    value.click()
    for word in ("money", " and", " more", " than", " that"):
        page.keyboard.type(word)
        gate.let_one_go()  # so the answer to something earlier comes while this is typed
    value.press("Tab")
    gate.open()

    draft.saved()
    (condition,) = data(draft)["metadata_filtering_conditions"]["conditions"]
    assert condition == {
        "name": "tags", "comparison_operator": "contains", "value": "money and more than that",
    }  # fmt: skip


def create_knowledge_base(page: Page, name: str) -> None:
    page.goto("/memory/knowledge/bases/new/")
    page.locator("[name=name]").fill(name)
    page.locator("[name=description]").fill("What we know about it.")
    with page.expect_navigation():
        page.locator("main form button[type=submit]").click()


def data(draft: Draft) -> Any:
    return draft.data("Search")


def choose(panel: Any, name: str, value: str) -> None:
    panel.locator(f"[data-field={name}] select").select_option(value)


def look(page: Page, panel: Any) -> None:
    """Take pictures for people who judge the panel: LOOK=folder."""
    folder = os.environ.get("LOOK")
    if not folder:
        return
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        page.set_viewport_size({"width": 1440, "height": 1500})
        page.screenshot(path=f"{folder}/desktop-{theme}.png")
    page.set_viewport_size({"width": 390, "height": 1400})
    page.screenshot(path=f"{folder}/phone.png")
