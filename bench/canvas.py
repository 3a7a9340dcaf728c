"""The canvas beside React Flow, same graph and same card HTML, in one run: `python -m bench.canvas [--json FILE]`.

Chromium without a GPU, real mouse and wheel input through the DevTools protocol, the whole editor served by the real
server. The bars are main-thread CPU a frame (medians), frames a second (the best round: the machine is shared), time
to interactive, and the round trip of an edit. React Flow is fetched with npm at the first use. It is measured twice:
as its documentation builds it, which the bars compare with, and with ``onlyRenderVisibleElements``.
"""

import argparse
import asyncio
import json
import math
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from bench import browser
from bench._common import ROOT, VENVS, Bar, report
from bench.browser import Gesture, Mouse
from bench.graphs import document


SIZES = ((500, 700), (2000, 3000))
EDITS = 60
PEER = Path(__file__).parent / "reactflow"
SERVER_PATIENCE = 120.0
DRAG_PATIENCE = (
    20  # seconds until a node has moved; React Flow takes its time with thousands in view
)
OURS_AND_PEERS = ("ours", "react-flow", "react-flow+cull")

# Both pages offer the same few calls to the script; ours takes them from the editor's own canvas.
OURS = """() => {
  const { canvas } = window.mnemoflow.editor;
  const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const node = (id) => canvas.model.nodes.get(id);
  window.bench = {
    async fit() { canvas.fit(); await frames(); },
    async closeUp(id) { canvas.centre(id, 1); await frames(); },
    box: (id) => node(id).el.getBoundingClientRect().toJSON(),
    place: (id) => [node(id).x, node(id).y],
    // beside a card lies its port, which is found by distance and not by an element: a drag from it draws an edge
    blank: (x, y) => [0, -40, 40].every((dx) => {
      const at = document.elementFromPoint(x + dx, y);
      return !!at && !!at.closest("[data-canvas]") && !at.closest("wf-node, g.edge, .minimap, button");
    }),
  };
}"""
GRAPH = """() => {
  const { model } = window.mnemoflow.editor;
  const nodes = [...model.nodes.values()].filter((n) => n.scope === "root").map((n) => ({
    id: n.id, x: n.x, y: n.y, w: n.w, h: n.h,
    ins: n.ins.map((port) => ({ name: port.name, y: port.y })), outs: n.outs.map((port) => ({ name: port.name, y: port.y })),
    html: n.el.querySelector(".wf-card").outerHTML,
  }));
  const edges = [...model.edges.values()].map(({ id, from, fp, to, tp }) => ({ id, from, fp, to, tp }));
  return { nodes, edges };
}"""
BLANK = """() => {
  const wide = [innerWidth, innerHeight];
  for (let y = wide[1] * 0.4; y < wide[1] * 0.8; y += 7)
    for (let x = wide[0] * 0.35; x < wide[0] * 0.7; x += 7) if (window.bench.blank(x, y)) return [x, y];
  return null;
}"""


class DragRefused(RuntimeError):
    """The pointer moved, and the node did not."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the bars down")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=OURS_AND_PEERS)
    options = parser.parse_args()
    who = [options.only] if options.only else list(OURS_AND_PEERS)
    measured = asyncio.run(_measure(who, options.rounds))
    _table(measured)
    return report(_bars(measured), measured, options.json)


async def _measure(who: list[str], rounds: int) -> dict[str, Any]:
    from playwright.async_api import async_playwright

    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="canvas-bench-") as scratch, _server(scratch) as start:
        async with async_playwright() as playwright:
            state = str(Path(scratch) / "state.json")
            base = await _sign_in(playwright, start, state)
            for nodes, edges in SIZES:
                size = f"{nodes}/{edges}"
                address = await _import(playwright, base, state, nodes, edges)
                peer = ""
                if who != ["ours"]:
                    peer = await _peer_page(
                        playwright, address, state, Path(scratch) / size.replace("/", "-")
                    )
                for _ in range(rounds):
                    for name in who:
                        url = {"ours": address, "react-flow": peer}.get(name, f"{peer}?cull")
                        one = await _candidate(
                            playwright, name, url, state if name == "ours" else None, nodes
                        )
                        found.setdefault(size, {}).setdefault(name, []).append(one)
                        sys.stderr.write(f"{size} {name}: {json.dumps(one)}\n")
    return {size: {name: _summary(all_) for name, all_ in by.items()} for size, by in found.items()}


def _summary(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    plain = {key for key, value in rounds[0].items() if not isinstance(value, dict)}
    summed: dict[str, Any] = {
        key: statistics.median(one[key] for one in rounds) for key in sorted(plain)
    }
    for key in rounds[0].keys() - plain:
        taken = [Gesture(**one[key]) for one in rounds if key in one]
        summed[key] = asdict(browser.median_of(taken))
    return summed


async def _candidate(
    playwright: Any, name: str, url: str, state: str | None, nodes: int
) -> dict[str, Any]:
    """Everything about one candidate in a fresh browser."""
    async with browser.opened(playwright, state) as (page, cdp):
        if name == "ours":
            await page.add_init_script(
                "localStorage.setItem('editor-panels', JSON.stringify({left: {closed: true}, right: {closed: true}, dock: {closed: true}}))"
            )
        await page.goto(url, wait_until="commit")
        found: dict[str, Any] = {"open_ms": await _interactive(page, name)}
        await page.wait_for_timeout(500)
        if name == "ours":
            await page.evaluate(OURS)
        found["elements"] = await page.evaluate("document.querySelectorAll('*').length")
        found["heap_mb"] = await browser.heap_megabytes(cdp)
        found |= await _gestures(page, cdp, f"n{round(nodes * 0.42)}")
        if name == "ours":
            found["edit_p95_ms"] = await _edits(page, nodes)
        return found


async def _interactive(page: Any, name: str) -> float:
    """Milliseconds from the navigation until the page has drawn, has all its listeners (a drag begins, a click opens
    the inspector) and its main thread is free again: the page says so in the frame after the one it drew."""
    if name == "ours":
        await page.locator("#editor[data-ready='yes']").wait_for(state="attached", timeout=120_000)
    else:
        await page.locator(".react-flow__node").first.wait_for(state="attached", timeout=120_000)
    for _ in range(1200):
        marks = await page.evaluate(
            "performance.getEntriesByName('interactive').map((m) => m.startTime)"
        )
        if marks:
            return float(marks[0])
        await page.wait_for_timeout(50)
    raise TimeoutError(f"{name} never said it was interactive")


async def _gestures(page: Any, cdp: Any, node: str) -> dict[str, dict[str, float]]:
    mouse, found = Mouse(cdp), {}

    async def swing(x: float, y: float, dx: float, dy: float) -> Gesture:
        mouse.press(x, y)
        await mouse.settle()
        made = await browser.gesture(
            page, cdp, mouse,
            lambda t: mouse.drag_to(x + dx * math.sin(math.pi * t), y + dy * math.sin(2 * math.pi * t)),
        )  # fmt: skip
        mouse.drag_to(x, y)
        mouse.release(x, y)
        await mouse.settle()
        await page.wait_for_timeout(400)
        return made

    async def dragged(dx: float, dy: float) -> Gesture:
        box = await page.evaluate(f"window.bench.box('{node}')")
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.6
        before = await page.evaluate(f"window.bench.place('{node}')")
        mouse.press(x, y)
        for i in range(1, 7):  # a frame between two of them, or React Flow takes it for no drag
            await mouse.settle()
            await page.wait_for_timeout(30)
            mouse.drag_to(x + 10 * i, y + 5 * i)
        await mouse.settle()
        until = time.monotonic() + DRAG_PATIENCE
        after = before
        while abs(after[0] - before[0]) < 1 and time.monotonic() < until:
            await page.wait_for_timeout(300)
            after = await page.evaluate(f"window.bench.place('{node}')")
        mouse.release(x + 60, y + 30)
        await mouse.settle()
        if abs(after[0] - before[0]) < 1:
            raise DragRefused(f"the drag did not take: {before} → {after}")
        await page.wait_for_timeout(500)
        box = await page.evaluate(f"window.bench.box('{node}')")
        return await swing(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.6, dx, dy)

    await page.evaluate(f"window.bench.closeUp('{node}')")
    await page.wait_for_timeout(500)
    x, y = await page.evaluate(BLANK)
    found["pan"] = await swing(x, y, 300, 150)
    await page.evaluate(f"window.bench.closeUp('{node}')")
    await page.wait_for_timeout(500)
    found["drag"] = await dragged(200, 100)
    await page.evaluate("window.bench.fit()")
    await page.wait_for_timeout(500)
    middle = (browser.WIDTH / 2, browser.HEIGHT / 2)
    found["zoom, all in view"] = await browser.gesture(
        page, cdp, mouse, lambda t: mouse.wheel(*middle, -20 if t < browser.SECONDS / 2 else 20)
    )
    await page.evaluate("window.bench.fit()")
    await page.wait_for_timeout(500)
    with suppress(DragRefused):  # said by the table, which then lacks the row
        found["drag, all in view"] = await dragged(60, 30)
    return {key: asdict(value) for key, value in found.items()}


async def _edits(page: Any, nodes: int) -> float:
    """The 95th percentile of an operation's round trip, as the editor's own queue sees it."""
    times = await page.evaluate(
        """async ([times, nodes]) => {
          const { edits, model } = window.mnemoflow.editor, took = [];
          for (let i = 0; i < times; i++) {
            const id = `n${(i * 37) % nodes}`, node = model.nodes.get(id), begun = performance.now();
            await edits.send([{ op: "move", id, x: Math.round(node.x) + 8, y: Math.round(node.y) }], { label: "Move" });
            took.push(performance.now() - begun);
          }
          return took;
        }""",
        [EDITS, nodes],
    )
    return sorted(times)[int(len(times) * 0.95)]


@contextmanager
def _server(home: str) -> Iterator[str]:
    """The product as `make run` starts it, in a folder of its own; gives its one-time address."""
    log = Path(home) / "up.log"
    environment = {**os.environ, "MNEMOFLOW_HOME": str(Path(home) / "home")}
    command = [sys.executable, str(ROOT / "manage.py"), "up", "--port", "8791"]
    with log.open("w") as out:
        server = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=out, stderr=out)
    try:
        yield _start_address(log, server)
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)


def _start_address(log: Path, server: "subprocess.Popen[bytes]") -> str:
    until = time.monotonic() + SERVER_PATIENCE
    while time.monotonic() < until and server.poll() is None:
        if found := re.search(r"http://\S+/start/\S+", log.read_text()):
            return found[0]
        time.sleep(0.2)
    raise RuntimeError(f"the server did not start:\n{log.read_text()[-2000:]}")


async def _sign_in(playwright: Any, start: str, state: str) -> str:
    async with browser.opened(playwright) as (page, _cdp):
        await page.goto(start)
        if "welcome" in page.url:
            await page.locator("form button").last.click()
            await page.wait_for_load_state()
        await page.context.storage_state(path=state)
    return start.split("/start/")[0]


async def _import(playwright: Any, base: str, state: str, nodes: int, edges: int) -> str:
    async with browser.opened(playwright, state) as (page, _cdp):
        await page.goto(f"{base}/workflows/")
        answer = await page.evaluate(
            """async (source) => {
              const headers = { "Content-Type": "application/json", ...JSON.parse(document.body.getAttribute("hx-headers:inherited")) };
              const said = await fetch("/api/v1/workflows", { method: "POST", headers, body: JSON.stringify({ document: source }) });
              return { status: said.status, body: await said.json() };
            }""",
            json.dumps(document(nodes, edges)),
        )
        if answer["status"] != 201:
            raise RuntimeError(f"the import failed: {str(answer)[:600]}")
        made = answer["body"]
        return f"{base}/workflows/{made.get('id') or made['workflow']['id']}/"


async def _peer_page(playwright: Any, address: str, state: str, folder: Path) -> str:
    """React Flow with our graph and our cards' HTML and styles."""
    folder.mkdir()
    async with browser.opened(playwright, state) as (page, _cdp):
        await page.goto(address)
        await page.locator("#editor[data-ready='yes']").wait_for(state="attached", timeout=120_000)
        graph = await page.evaluate(GRAPH)
    (folder / "graph.json").write_text(json.dumps(graph))
    for built in _built_peer().iterdir():
        shutil.copy(built, folder)
    sheets = ("tokens", "base", "canvas", "canvas-editor")
    for sheet in sheets:
        shutil.copy(ROOT / "static" / "css" / f"{sheet}.css", folder)
    links = "".join(f'<link rel="stylesheet" href="{name}.css">' for name in (*sheets, "app"))
    (folder / "index.html").write_text(
        f'<!doctype html><meta charset="utf-8"><title>React Flow</title>{links}'
        "<style>#flow { position: fixed; inset: 0 } .react-flow__node { position: absolute }</style>"
        '<div id="flow"></div><script type="module" src="app.js"></script>'
    )
    quiet = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


def _built_peer() -> Path:
    home = VENVS / "reactflow"
    if not (home / "node_modules" / "@xyflow" / "react").exists():
        sys.stderr.write("installing React Flow …\n")
        home.mkdir(parents=True, exist_ok=True)
        shutil.copy(PEER / "package.json", home)
        install = ["npm", "install", "--silent", "--no-audit", "--no-fund"]
        subprocess.run(install, cwd=home, check=True, stdout=sys.stderr)
    build = ["node", str(PEER / "build.mjs"), str(home / "node_modules"), str(home / "dist")]
    subprocess.run(build, check=True, stdout=sys.stderr)
    return home / "dist"


def _table(measured: dict[str, Any]) -> None:
    for size, by in measured.items():
        for name, found in by.items():
            sys.stdout.write(
                f"{size:>10} {name:<11} open {found['open_ms']:6.0f} ms, {found['elements']:.0f} elements, heap {found['heap_mb']:.1f} MB"
                + (f", edit p95 {found['edit_p95_ms']:.1f} ms" if "edit_p95_ms" in found else "")
                + "\n"
            )
            for what, one in found.items():
                if isinstance(one, dict):
                    sys.stdout.write(
                        f"{'':>23}{what:<20} {one['fps']:5.1f} fps  main {one['main_ms']:6.2f} ms  browser {one['browser_ms']:6.2f} ms a frame\n"
                    )


def _bars(measured: dict[str, Any]) -> list[Bar]:
    bars: list[Bar] = []
    for (nodes, edges), opening, panning, dragging in zip(
        SIZES, (1500, 3000), (8, 50), (2, 4), strict=True
    ):
        by = measured.get(f"{nodes}/{edges}", {})
        ours, peer = by.get("ours"), by.get("react-flow")
        if ours is None:
            continue
        bars += [
            Bar(f"{nodes}: open to interactive", ours["open_ms"], opening, " ms"),
            Bar(f"{nodes}: pan, frames", ours["pan"]["fps"], 58, " fps", at_least=True),
            Bar(f"{nodes}: pan, main thread a frame", ours["pan"]["main_ms"], 3, " ms"),
            Bar(f"{nodes}: drag, main thread a frame", ours["drag"]["main_ms"], 8, " ms"),
            Bar(f"{nodes}: an operation's round trip, p95", ours["edit_p95_ms"], 50, " ms"),
        ]
        if nodes == 2000:
            zoom = ours["zoom, all in view"]["fps"]
            bars.append(Bar(f"{nodes}: wheel zoom, all in view", zoom, 40, " fps", at_least=True))
        if peer is not None:
            for what, times in (("pan", panning), ("drag", dragging)):
                ratio = peer[what]["main_ms"] / ours[what]["main_ms"]
                name = f"{nodes}: {what}, main thread, React Flow to ours"
                bars.append(Bar(name, ratio, times, "×", at_least=True))
    return bars


if __name__ == "__main__":
    sys.exit(main())
