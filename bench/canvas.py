"""The canvas compared with React Flow, with the same graph and cards: `python -m bench.canvas [--json FILE]`.

It uses Chromium without a GPU, real mouse and wheel input through the DevTools protocol, and the whole editor on the
real server. The bars limit the main thread's CPU time of a frame (medians), frames a second (the best round, because
the machine may be shared), the time to interactive, and the round trip of an edit. React Flow is installed with npm on
first use and measured twice: as in its documentation (for the bars), and with ``onlyRenderVisibleElements``.
"""

import argparse
import asyncio
import json
import math
import shutil
import statistics
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from bench import browser
from bench._common import ROOT, VENVS, Bar, report
from bench._services import make_scratch_folder, run_server
from bench.browser import Gesture, Mouse
from bench.graphs import build_document


SIZES = ((500, 700), (2000, 3000))
EDIT_COUNT = 60
PEER_FOLDER = Path(__file__).parent / "reactflow"
PORT = 8791
MAX_DRAG_WAIT = 20  # seconds until a node has moved; React Flow is slow with thousands in view
CANDIDATES = ("ours", "react-flow", "react-flow+cull")

# Both pages offer the same functions as ``window.bench``; these use the editor's canvas.
INSTALL_BENCH_FUNCTIONS = """() => {
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
READ_GRAPH = """() => {
  const { model } = window.mnemoflow.editor;
  const nodes = [...model.nodes.values()].filter((n) => n.scope === "root").map((n) => ({
    id: n.id, x: n.x, y: n.y, w: n.w, h: n.h,
    ins: n.ins.map((port) => ({ name: port.name, y: port.y })), outs: n.outs.map((port) => ({ name: port.name, y: port.y })),
    html: n.el.querySelector(".wf-card").outerHTML,
  }));
  const edges = [...model.edges.values()].map(({ id, from, fp, to, tp }) => ({ id, from, fp, to, tp }));
  return { nodes, edges };
}"""
FIND_BLANK_POINT = """() => {
  const wide = [innerWidth, innerHeight];
  for (let y = wide[1] * 0.4; y < wide[1] * 0.8; y += 7)
    for (let x = wide[0] * 0.35; x < wide[0] * 0.7; x += 7) if (window.bench.blank(x, y)) return [x, y];
  return null;
}"""


class DragRefused(RuntimeError):
    """The pointer moved, but the node did not."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="file for the results")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=CANDIDATES)
    options = parser.parse_args()
    candidates = [options.only] if options.only else list(CANDIDATES)
    measured = asyncio.run(_measure(candidates, options.rounds))
    _print_table(measured)
    return report(_build_bars(measured), measured, options.json)


async def _measure(candidates: list[str], rounds: int) -> dict[str, Any]:
    """Measure the candidates in turns, and return their summaries by size and name."""
    from playwright.async_api import async_playwright

    results: dict[str, Any] = {}
    with (
        make_scratch_folder(prefix="canvas-bench-") as scratch,
        run_server(scratch, PORT) as start,
    ):
        async with async_playwright() as playwright:
            session_file = str(Path(scratch) / "state.json")
            base_url = await _sign_in(playwright, start, session_file)
            for nodes, edges in SIZES:
                size = f"{nodes}/{edges}"
                editor_url = await _import_document(
                    playwright, base_url, session_file, nodes, edges
                )
                peer_url = ""
                if candidates != ["ours"]:
                    folder = Path(scratch) / size.replace("/", "-")
                    peer_url = await _serve_peer(playwright, editor_url, session_file, folder)
                urls = {"ours": editor_url, "react-flow": peer_url}
                for _ in range(rounds):
                    for name in candidates:
                        url = urls.get(name, f"{peer_url}?cull")
                        session = session_file if name == "ours" else None
                        result = await _measure_candidate(playwright, name, url, session, nodes)
                        results.setdefault(size, {}).setdefault(name, []).append(result)
                        sys.stderr.write(f"{size} {name}: {json.dumps(result)}\n")
    return {
        size: {name: _summarize(result_rounds) for name, result_rounds in by_name.items()}
        for size, by_name in results.items()
    }


def _summarize(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    numbers = {key for key, value in rounds[0].items() if not isinstance(value, dict)}
    summary: dict[str, Any] = {
        key: statistics.median(result[key] for result in rounds) for key in sorted(numbers)
    }
    for key in rounds[0].keys() - numbers:
        gestures = [Gesture(**result[key]) for result in rounds if key in result]
        summary[key] = asdict(browser.compute_median(gestures))
    return summary


async def _measure_candidate(
    playwright: Any, name: str, url: str, session_file: str | None, nodes: int
) -> dict[str, Any]:
    """Measure one candidate in a new browser."""
    async with browser.open_page(playwright, session_file) as (page, cdp):
        if name == "ours":
            await page.add_init_script(
                "localStorage.setItem('editor-panels', JSON.stringify({left: {closed: true}, right: {closed: true}, dock: {closed: true}}))"
            )
        await page.goto(url, wait_until="commit")
        result: dict[str, Any] = {"open_ms": await _measure_interactive(page, name)}
        await page.wait_for_timeout(500)
        if name == "ours":
            await page.evaluate(INSTALL_BENCH_FUNCTIONS)
        result["elements"] = await page.evaluate("document.querySelectorAll('*').length")
        result["heap_mb"] = await browser.read_heap_megabytes(cdp)
        result |= await _measure_gestures(page, cdp, f"n{round(nodes * 0.42)}")
        if name == "ours":
            result["edit_p95_ms"] = await _measure_edits(page, nodes)
        return result


async def _measure_interactive(page: Any, name: str) -> float:
    """Return the milliseconds from the navigation until the page is interactive.

    The page is interactive when it is drawn, has all its listeners and its main thread is free again. It marks this
    moment in the frame after the first drawn one.
    """
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
    raise TimeoutError(f"{name} did not become interactive")


async def _measure_gestures(page: Any, cdp: Any, node: str) -> dict[str, dict[str, float]]:
    """Measure panning, dragging the node and zooming, close up and with the whole graph in view."""
    mouse, results = Mouse(cdp), {}

    async def swing(x: float, y: float, dx: float, dy: float) -> Gesture:
        mouse.press(x, y)
        await mouse.settle()
        result = await browser.measure_gesture(
            page, cdp, mouse,
            lambda t: mouse.drag_to(x + dx * math.sin(math.pi * t), y + dy * math.sin(2 * math.pi * t)),
        )  # fmt: skip
        mouse.drag_to(x, y)
        mouse.release(x, y)
        await mouse.settle()
        await page.wait_for_timeout(400)
        return result

    async def drag(dx: float, dy: float) -> Gesture:
        box = await page.evaluate(f"window.bench.box('{node}')")
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.6
        before = await page.evaluate(f"window.bench.place('{node}')")
        mouse.press(x, y)
        for step in range(1, 7):  # with a frame in between, or React Flow doesn't recognize a drag
            await mouse.settle()
            await page.wait_for_timeout(30)
            mouse.drag_to(x + 10 * step, y + 5 * step)
        await mouse.settle()
        deadline = time.monotonic() + MAX_DRAG_WAIT
        after = before
        while abs(after[0] - before[0]) < 1 and time.monotonic() < deadline:
            await page.wait_for_timeout(300)
            after = await page.evaluate(f"window.bench.place('{node}')")
        mouse.release(x + 60, y + 30)
        await mouse.settle()
        if abs(after[0] - before[0]) < 1:
            raise DragRefused(f"the node did not move: {before} → {after}")
        await page.wait_for_timeout(500)
        box = await page.evaluate(f"window.bench.box('{node}')")
        return await swing(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.6, dx, dy)

    await page.evaluate(f"window.bench.closeUp('{node}')")
    await page.wait_for_timeout(500)
    x, y = await page.evaluate(FIND_BLANK_POINT)
    results["pan"] = await swing(x, y, 300, 150)
    await page.evaluate(f"window.bench.closeUp('{node}')")
    await page.wait_for_timeout(500)
    results["drag"] = await drag(200, 100)
    await page.evaluate("window.bench.fit()")
    await page.wait_for_timeout(500)
    middle = (browser.WIDTH / 2, browser.HEIGHT / 2)
    results["zoom, all in view"] = await browser.measure_gesture(
        page, cdp, mouse, lambda t: mouse.wheel(*middle, -20 if t < browser.SECONDS / 2 else 20)
    )
    await page.evaluate("window.bench.fit()")
    await page.wait_for_timeout(500)
    with suppress(DragRefused):  # the table then lacks this row
        results["drag, all in view"] = await drag(60, 30)
    return {key: asdict(value) for key, value in results.items()}


async def _measure_edits(page: Any, nodes: int) -> float:
    """Return the 95th percentile of an operation's round trip, as the editor's queue measures it."""
    times = await page.evaluate(
        """async ([times, nodes]) => {
          const { edits, model } = window.mnemoflow.editor, durations = [];
          for (let i = 0; i < times; i++) {
            const id = `n${(i * 37) % nodes}`, node = model.nodes.get(id), start = performance.now();
            await edits.send([{ op: "move", id, x: Math.round(node.x) + 8, y: Math.round(node.y) }], { label: "Move" });
            durations.push(performance.now() - start);
          }
          return durations;
        }""",
        [EDIT_COUNT, nodes],
    )
    return sorted(times)[int(len(times) * 0.95)]


async def _sign_in(playwright: Any, start_url: str, session_file: str) -> str:
    """Sign in, save the session in the file, and return the base URL of the server."""
    async with browser.open_page(playwright) as (page, _cdp):
        await page.goto(start_url)
        if "welcome" in page.url:
            await page.locator("form button").last.click()
            await page.wait_for_load_state()
        await page.context.storage_state(path=session_file)
    return start_url.split("/start/")[0]


async def _import_document(
    playwright: Any, base_url: str, session_file: str, nodes: int, edges: int
) -> str:
    """Import a generated document, and return the URL of its editor."""
    async with browser.open_page(playwright, session_file) as (page, _cdp):
        await page.goto(f"{base_url}/workflows/")
        response = await page.evaluate(
            """async (source) => {
              const headers = { "Content-Type": "application/json", ...JSON.parse(document.body.getAttribute("hx-headers:inherited")) };
              const response = await fetch("/api/v1/workflows", { method: "POST", headers, body: JSON.stringify({ document: source }) });
              return { status: response.status, body: await response.json() };
            }""",
            json.dumps(build_document(nodes, edges)),
        )
        if response["status"] != 201:
            raise RuntimeError(f"the import failed: {str(response)[:600]}")
        return f"{base_url}/workflows/{response['body']['workflow']['id']}/"


async def _serve_peer(playwright: Any, editor_url: str, session_file: str, folder: Path) -> str:
    """Serve React Flow with our graph and the HTML and styles of our cards, and return the URL of its page."""
    folder.mkdir()
    async with browser.open_page(playwright, session_file) as (page, _cdp):
        await page.goto(editor_url)
        await page.locator("#editor[data-ready='yes']").wait_for(state="attached", timeout=120_000)
        graph = await page.evaluate(READ_GRAPH)
    (folder / "graph.json").write_text(json.dumps(graph))
    for file in _build_peer().iterdir():
        shutil.copy(file, folder)
    sheets = ("tokens", "base", "canvas", "canvas-editor")
    for sheet in sheets:
        shutil.copy(ROOT / "static" / "css" / f"{sheet}.css", folder)
    links = "".join(f'<link rel="stylesheet" href="{name}.css">' for name in (*sheets, "app"))
    (folder / "index.html").write_text(
        f'<!doctype html><meta charset="utf-8"><title>React Flow</title>{links}'
        "<style>#flow { position: fixed; inset: 0 } .react-flow__node { position: absolute }</style>"
        '<div id="flow"></div><script type="module" src="app.js"></script>'
    )
    handler = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


def _build_peer() -> Path:
    """Build React Flow's page, after installing it if necessary, and return its folder."""
    home = VENVS / "reactflow"
    if not (home / "node_modules" / "@xyflow" / "react").exists():
        sys.stderr.write("installing React Flow …\n")
        home.mkdir(parents=True, exist_ok=True)
        shutil.copy(PEER_FOLDER / "package.json", home)
        install = ["npm", "install", "--silent", "--no-audit", "--no-fund"]
        subprocess.run(install, cwd=home, check=True, stdout=sys.stderr)
    build = ["node", str(PEER_FOLDER / "build.mjs"), str(home / "node_modules"), str(home / "dist")]
    subprocess.run(build, check=True, stdout=sys.stderr)
    return home / "dist"


def _print_table(measured: dict[str, Any]) -> None:
    for size, candidates in measured.items():
        for name, result in candidates.items():
            line = f"{size:>10} {name:<11} open {result['open_ms']:6.0f} ms, {result['elements']:.0f} elements"
            line += f", heap {result['heap_mb']:.1f} MB"
            if "edit_p95_ms" in result:
                line += f", edit p95 {result['edit_p95_ms']:.1f} ms"
            sys.stdout.write(f"{line}\n")
            for gesture, cost in result.items():
                if isinstance(cost, dict):
                    sys.stdout.write(
                        f"{'':>23}{gesture:<20} {cost['fps']:5.1f} fps  main {cost['main_ms']:6.2f} ms  "
                        f"browser {cost['browser_ms']:6.2f} ms a frame\n"
                    )


def _build_bars(measured: dict[str, Any]) -> list[Bar]:
    bars: list[Bar] = []
    for (nodes, edges), max_opening, least_pan_ratio, least_drag_ratio in zip(
        SIZES, (1500, 3000), (8, 50), (2, 4), strict=True
    ):
        results = measured.get(f"{nodes}/{edges}", {})
        ours, peer = results.get("ours"), results.get("react-flow")
        if ours is None:
            continue
        bars += [
            Bar(f"{nodes}: open to interactive", ours["open_ms"], max_opening, " ms"),
            Bar(f"{nodes}: pan, frames", ours["pan"]["fps"], 58, " fps", at_least=True),
            Bar(f"{nodes}: pan, main thread a frame", ours["pan"]["main_ms"], 3, " ms"),
            Bar(f"{nodes}: drag, main thread a frame", ours["drag"]["main_ms"], 8, " ms"),
            Bar(f"{nodes}: an operation's round trip, p95", ours["edit_p95_ms"], 50, " ms"),
        ]
        if nodes == 2000:
            zoom = ours["zoom, all in view"]["fps"]
            bars.append(Bar(f"{nodes}: wheel zoom, all in view", zoom, 40, " fps", at_least=True))
        if peer is not None:
            for gesture, least_ratio in (("pan", least_pan_ratio), ("drag", least_drag_ratio)):
                ratio = peer[gesture]["main_ms"] / ours[gesture]["main_ms"]
                name = f"{nodes}: {gesture}, main thread, React Flow to ours"
                bars.append(Bar(name, ratio, least_ratio, "×", at_least=True))
    return bars


if __name__ == "__main__":
    sys.exit(main())
