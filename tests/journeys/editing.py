"""The editor as a person uses it, and the document as the server has it: what is asserted on first."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.journeys.chatting import use_sample
from tests.journeys.people import token_of
from tests.journeys.seeing import middle, ready, until
from workflows.engine.language.document import Document
from workflows.engine.language.dsl import load_document


CHATBOT = "A chatbot that remembers"


@dataclass(frozen=True)
class Draft:
    """One workflow in the editor."""

    page: Page
    id: str

    @property
    def document(self) -> Document:
        answer = self.page.request.get(f"/workflows/{self.id}/export/?format=json")
        assert answer.ok
        return load_document(answer.text(), confirm_newer=True).document

    @property
    def titles(self) -> dict[str, str]:
        return {node.id: node.title for node in self.document.nodes}

    @property
    def ends(self) -> set[tuple[str, str, str]]:
        """Edges by what their ends are called."""
        document = self.document
        titles = {node.id: node.title for node in document.nodes}
        return {(titles[e.source], e.handle, titles[e.target]) for e in document.edges}

    def data(self, title: str) -> Any:
        return next(node.data for node in self.document.nodes if node.title == title)

    def id_of_kind(self, kind: str) -> str:
        return next(node.id for node in self.document.nodes if node.kind == kind)

    def saved(self) -> None:
        expect(self.page.locator("#saved")).to_have_text("Saved")

    def node(self, title: str) -> Locator:
        return self.page.locator(f'wf-node[data-title="{title}"]')

    def focus(self, title: str) -> None:
        """As somebody who has walked there."""
        self.node(title).first.focus()
        expect(self.node(title).first).to_be_focused()

    def pick(self, letters: str) -> None:
        """In the picker that is open."""
        field = self.page.locator("#picker-query")
        expect(field).to_be_focused()
        field.fill(letters)
        expect(self.page.locator("#picker [aria-selected=true]")).to_be_visible()
        field.press("Enter")

    def add_template_after(self, title: str) -> None:
        """As somebody does who has walked there."""
        self.focus(title)
        self.page.keyboard.press("a")
        self.pick("template")
        self.heard(f"Added Template after {title}")

    def heard(self, text: str | re.Pattern[str]) -> None:
        """By whoever listens to the live region; it is said once the server has it."""
        expect(self.page.locator("#live-words")).to_have_text(text)


def open_sample(page: Page, title: str = CHATBOT) -> Draft:
    use_sample(page, title)
    ready(page)
    return Draft(page, id_in(page))


def import_workflow(page: Page, document: Mapping[str, Any]) -> Draft:
    """Open what was made of a document; by hand it is pasted, see below."""
    id_ = store_workflow(page, document)
    page.goto(f"/workflows/{id_}/")
    ready(page)
    return Draft(page, id_)


def store_workflow(page: Page, document: Mapping[str, Any], name: str | None = None) -> str:
    """Return the id of a workflow that is made of a document, without a page."""
    made = change(page, "workflows", {"document": json.dumps(document), "name": name})
    return str(made["workflow"]["id"])


def edit_elsewhere(page: Page, workflow: str, *ops: Mapping[str, Any]) -> None:
    """As another tab of this person does it; a second editor would take longer than most tests."""
    change(page, f"workflows/{workflow}/draft", {"ops": ops, "label": "x"}, method="PATCH")


def change(page: Page, address: str, body: Mapping[str, Any], method: str = "POST") -> Any:
    """What the API answers to whoever is signed in here."""
    answer = page.request.fetch(
        f"/api/v1/{address}",
        method=method,
        data=body,
        headers={"X-CSRFToken": token_of(page.context)},
    )
    assert answer.ok, answer.text()
    return answer.json()


def paste_workflow(page: Page, document: Mapping[str, Any]) -> Draft:
    page.goto("/workflows/import/")
    page.locator("main textarea").fill(json.dumps(document))
    page.locator("main form button[type=submit]").click()
    editor = page.locator("#editor")
    from_report = page.get_by_role("link", name="Open the workflow")  # if something is missing
    expect(editor.or_(from_report)).to_be_visible()
    if from_report.is_visible():
        from_report.click()
    ready(page)
    return Draft(page, id_in(page))


def id_in(page: Page) -> str:
    """Of the workflow one looks at."""
    found = re.search(r"/workflows/([0-9a-f-]{36})/", page.url)
    assert found
    return found[1]


def has_current_form(page: Page) -> bool:
    """Whether the panel's form is as new as what the page knows of the draft: it is drawn again after each change."""
    return bool(
        page.evaluate(
            "() => { const { inspector, edits } = mnemoflow.editor;"
            " return inspector.current.revision >= edits.revision; }"
        )
    )


def choose_in_menu(page: Page, command: str) -> None:
    """A row of the menu that is open, be it one level deeper."""
    menu = page.locator("#context-menu")
    expect(menu).to_be_visible()
    row = menu.locator(f"[data-run={command}]")
    if not row.is_visible():
        menu.locator(f"[aria-haspopup]:has(+ [role=menu] [data-run={command}])").click()
    row.click()


EDGE_MIDDLE = """(id) => {
  const path = document.getElementById(`edge-${id}`);
  const point = path.getPointAtLength(path.getTotalLength() / 2).matrixTransform(path.getScreenCTM());
  return [point.x, point.y];
}"""


def point_at_edge(page: Page, edge: str) -> Locator:
    """Point at its middle, which is brought into view first, until the label that it has for the mouse is shown."""
    label = page.locator(f'.wf-label[data-edge="{edge}"]')
    page.evaluate("(id) => mnemoflow.editor.canvas.reveal(id)", edge)

    def is_shown() -> bool:
        if label.is_visible():
            return True
        x, y = page.evaluate(EDGE_MIDDLE, edge)
        page.mouse.move(x, y - 40)
        page.mouse.move(x, y, steps=3)
        return False

    until(page, is_shown, why="the edge says nothing")
    return label


def press_label(page: Page, label: Locator) -> None:
    """Of the edge at hand: what lies over the canvas gives way when the mouse gets there, not before."""
    page.mouse.move(*middle(label))
    label.click()
