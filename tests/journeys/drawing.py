"""The canvas under a hand: where things are on screen, and mouse and finger that go there."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import CDPSession, Page, expect

from tests.journeys.canvas_document import document
from tests.journeys.editing import store_workflow
from tests.journeys.seeing import DRAWN, ready, steady, until


EXPORT = """async (id) => (await fetch(`/workflows/${id}/export/?format=json`)).json()"""
CANVAS = "window.mnemoflow.editor.canvas"

Point = tuple[float, float]


@dataclass
class Board:
    page: Page
    workflow: str

    def js(self, body: str, *arguments: Any) -> Any:
        return self.page.evaluate(
            f"(args) => {{ const canvas = {CANVAS}; {body} }}", list(arguments)
        )

    def node(self, id_: str) -> dict[str, Any]:
        """Where the canvas has it."""
        found = self.js(
            "const n = canvas.model.nodes.get(args[0]); return n && { x: n.x, y: n.y, w: n.w, h: n.h, scope: n.scope };",
            id_,
        )
        assert found is not None, f"no node {id_}"
        return dict(found)

    def inside(self, id_: str, across: float = 0.5, down: float = 0.25) -> Point:
        x, y = self.js(
            "const b = canvas.model.box(canvas.model.nodes.get(args[0])); return canvas.toClient(b.x + b.w * args[1], b.y + b.h * args[2]);",
            id_, across, down,
        )  # fmt: skip
        return x, y

    def port(self, id_: str, name: str = "source", *, out: bool = True) -> Point:
        x, y = self.js(
            """const n = canvas.model.nodes.get(args[0]), [ox, oy] = canvas.model.offset(n.scope), [x, y] = canvas.model.port(n, args[1], args[2]);
            return canvas.toClient(ox + x, oy + y);""",
            id_, name, out,
        )  # fmt: skip
        return x, y

    def edges(self) -> set[tuple[str, str, str]]:
        found = self.js("return [...canvas.model.edges.values()].map((e) => [e.from, e.fp, e.to]);")
        return {tuple(each) for each in found}

    def view(self) -> tuple[float, float, float]:
        x, y, k = self.js("return [canvas.viewport.x, canvas.viewport.y, canvas.viewport.k];")
        return x, y, k

    def chosen(self) -> set[str]:
        return set(self.js("return [...canvas.selection];"))

    def drag(self, start: Point, end: Point, *, button: Any = "left") -> None:
        mouse = self.page.mouse
        mouse.move(*start)
        mouse.down(button=button)
        mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2, steps=4)
        mouse.move(*end, steps=4)
        self.frame()
        mouse.up(button=button)
        self.frame()

    def frame(self) -> None:
        """What was moved is drawn."""
        self.page.evaluate(DRAWN)

    def until(self, body: str) -> None:
        """The pages' policy forbids the eval that Playwright's own waiting is made of."""
        until(self.page, lambda: self.js(body), why=f"never true: {body}")

    def zoom(self, by: float) -> None:
        """Turn the wheel where the mouse is, until the canvas has followed and stands still again."""
        scale = self.view()[2]

        def is_other_scale() -> bool:
            self.page.mouse.wheel(0, by)
            self.frame()
            return self.view()[2] != scale

        self.page.keyboard.down("Control")
        until(self.page, is_other_scale, why="the wheel doesn't zoom")
        self.page.keyboard.up("Control")
        self.until("return !canvas.viewport.isZooming;")

    def saved(self) -> None:
        expect(self.page.locator(".ed-saved")).to_have_attribute("data-state", "saved")
        self.until("return canvas.editor.edits.waiting.length === 0;")

    def graph(self) -> dict[str, Any]:
        """The draft as the server has it."""
        self.saved()
        return dict(self.page.evaluate(EXPORT, self.workflow)["workflow"]["graph"])

    def stored(self, id_: str) -> dict[str, Any]:
        [found] = [node for node in self.graph()["nodes"] if node["id"] == id_]
        return dict(found)

    def stored_edges(self) -> set[tuple[str, str, str]]:
        return {(e["source"], e["sourceHandle"], e["target"]) for e in self.graph()["edges"]}


def open_board(page: Page, source: dict[str, Any] | None = None) -> Board:
    """A workflow of one's own on the canvas, the panels closed, all of it in view."""
    workflow = store_workflow(page, source or document())
    page.evaluate(
        "localStorage.setItem('editor-panels', JSON.stringify({left: {closed: true}, right: {closed: true}, dock: {closed: true}}))"
    )
    page.goto(f"/workflows/{workflow}/")
    ready(page)
    board = Board(page, workflow)
    board.js("canvas.fit();")
    steady(page, board.view)
    return board


@contextmanager
def touchscreen(page: Page) -> Iterator[CDPSession]:
    """Show the page on a touchscreen, and afterwards no more, so that its room can be lent again."""
    session = page.context.new_cdp_session(page)
    session.send("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})
    yield session
    session.send("Emulation.setTouchEmulationEnabled", {"enabled": False})
    session.detach()


def touches(session: CDPSession, kind: str, *points: Point) -> None:
    found = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)]
    session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": found})
