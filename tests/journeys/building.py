"""The workflow of the first seed's section 12, built from an empty canvas: by mouse, by keyboard, in the outline.

What is set is the same each time; how one gets there isn't. Nothing here depends on the page's language.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from playwright.sync_api import Locator, Page, expect

from config.env import ROOT
from tests.journeys.editing import Draft, id_in
from tests.journeys.seeing import ready, until
from workflows.engine.language.document import Document
from workflows.engine.language.dsl import load_document


START, RECALL, THINK, STORE, END = (
    "Start",
    "Recall Relevant Context",
    "Generate Response",
    "Store Exchange",
    "End",
)


class Way(Protocol):
    """How somebody gets to a thing."""

    draft: Draft

    def build(self) -> None: ...

    def open(self, title: str) -> None:
        """The settings of a node."""

    def press(self, control: Locator) -> None: ...

    def write(self, control: Locator, text: str) -> None: ...

    def choose(self, control: Locator, value: str) -> None:
        """An option of a list."""


def wanted() -> Document:
    source = (ROOT / "workflows" / "samples" / "exchange" / "workflow.yml").read_text()
    return load_document(source).document


def new_workflow(page: Page) -> Draft:
    page.goto("/workflows/new/")
    page.locator("input[name=start][value=blank]").check()
    page.locator("input[name=mode][value=workflow]").check()
    page.locator("main form button[type=submit]").first.click()
    ready(page)
    return Draft(page, id_in(page))


def kept(page: Page) -> None:
    until(page, lambda: page.evaluate("() => mnemoflow.editor.edits.state === 'saved'"))


def fill_in(way: Way) -> None:
    """All that can't be drawn: what goes in, what is searched for, said, kept and given."""
    page = way.draft.page

    way.open(START)
    inputs = field(page, "variables")
    way.press(inputs.locator(".insp-add"))
    way.write(inputs.locator("[data-item] [data-key=variable]").last, "query")
    expect(inputs.locator("[data-item] [data-key=required]").last).to_be_checked()
    kept(page)

    way.open(RECALL)
    way.choose(page.locator("#f-scope"), "conversation")
    choose_variable(way, field(page, "query_selector").locator(".insp-variable"), "query")

    way.open(THINK)
    system, user = messages(page)
    way.write(system, "You are a helpful assistant. Context:\n{{#results\t")
    way.write(user, "{{#query\t")
    way.press(page.locator("#f-memory-enabled"))
    way.write(page.locator("[data-section=memory] [data-key=window_size]"), "10")
    kept(page)

    way.open(STORE)
    way.choose(page.locator("#f-scope"), "conversation")
    way.choose(page.locator("#f-source"), "variable")
    choose_variable(way, field(page, "value_selector").locator(".insp-variable"), "text")
    way.write(page.locator("#f-key"), "exchange_{{#sys.execution_id#}}")
    way.press(page.locator("#panel-node [data-group=advanced] > summary"))
    metadata = field(page, "metadata")
    way.press(metadata.locator("[data-metadata-add]"))
    way.write(metadata.locator("[data-metadata-name]"), "type")
    way.write(metadata.locator("[data-metadata-value]"), "qa_exchange")
    kept(page)

    way.open(END)
    outputs = field(page, "outputs")
    if not outputs.locator("[data-item]").count():  # drawn behind the model it begins with its text
        way.press(outputs.locator(".insp-add"))
    way.write(outputs.locator("[data-item] [data-key=variable]").last, "answer")
    choose_variable(way, outputs.locator("[data-item] .insp-variable").last, "text")


def field(page: Page, name: str) -> Locator:
    return page.locator(f"#panel-node [data-field={name}]")


def messages(page: Page) -> Iterator[Locator]:
    texts = field(page, "prompt_template").locator("textarea:visible")
    expect(texts).to_have_count(2)
    yield from (texts.nth(0), texts.nth(1))


def choose_variable(way: Way, control: Locator, letters: str) -> None:
    page = way.draft.page
    way.press(control)
    expect(page.locator(".insp-picker [role=option]").first).to_be_visible()
    page.keyboard.type(letters)
    page.keyboard.press("Enter")
    expect(page.locator(".insp-picker")).to_have_count(0)
    kept(page)


def type_in(page: Page, text: str) -> None:
    """A tab in the text takes what is offered for the letters before it."""
    parts = text.split("\t")
    for part in parts[:-1]:
        page.keyboard.type(part)
        expect(page.locator(".insp-picker [role=option]").first).to_be_visible()
        page.keyboard.press("Enter")
    page.keyboard.type(parts[-1])


@dataclass(frozen=True)
class Drawing:
    """Nodes and edges by what the nodes are called, so that two documents with other ids can be compared."""

    kinds: dict[str, str]
    edges: set[tuple[str, str, str]]


def drawn(document: Document) -> Drawing:
    titles = {node.id: node.title for node in document.nodes}
    return Drawing(
        {node.title: node.kind for node in document.nodes},
        {(titles[e.source], e.handle, titles[e.target]) for e in document.edges},
    )


@dataclass(frozen=True)
class Reading:
    """The same with what is set in the nodes."""

    drawing: Drawing
    settings: dict[str, Any]


def reading(document: Document) -> Reading:
    titles = {node.id: node.title for node in document.nodes}

    def named(value: Any) -> Any:
        text = json.dumps(value)
        for id_, title in titles.items():
            text = re.sub(rf'"{re.escape(id_)}"', json.dumps(title), text)
            text = text.replace(f"{{{{#{id_}.", f"{{{{#{title}.")
        return json.loads(text)

    by_title = {node.title: node.data for node in document.nodes}
    inputs = [(one["variable"], one.get("required")) for one in by_title[START]["variables"]]
    history = by_title[THINK]["memory"]
    settings = {
        "inputs": inputs,
        "prompt": [
            {name: each[name] for name in ("role", "text")}
            for each in by_title[THINK]["prompt_template"]
        ],
        # the two dialects say it in two places
        "history": (
            history.get("enabled"),
            history.get("window_size") or history.get("window", {}).get("size"),
        ),
        "outputs": [
            (each["variable"], each["value_selector"]) for each in by_title[END]["outputs"]
        ],
        **{name: by_title[RECALL][name] for name in ("query_selector", "top_k")},
        **{name: by_title[STORE][name] for name in ("key", "value_selector", "metadata")},
        "scopes": (by_title[RECALL]["scope"], by_title[STORE]["scope"]),
    }
    return Reading(drawn(document), named(settings))


def run(page: Page, query: str, conversation: str) -> Locator:
    """The answer, once it is there."""
    if page.locator("#tab-run").is_visible():
        page.locator("#tab-run").click()
    else:
        page.locator(".ed-bar [data-view=run]").click()
    card = page.locator("#run-card")
    card.locator("[name$=query]").fill(query)
    if not card.locator("#run-conversation").is_visible():
        card.locator("summary").click()
    card.locator("#run-conversation").fill(conversation)
    answer = card.locator(".bubble-it")
    before = answer.get_attribute("id") if answer.count() else None
    card.locator("button[type=submit]").first.click()
    if before:
        expect(answer).not_to_have_id(before)
    expect(answer).not_to_be_empty()
    expect(card.locator("[data-waiting]")).to_have_count(0)
    return answer
