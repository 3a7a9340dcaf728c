"""Measures a page in Chromium: real input through the DevTools protocol, and the CPU time of each frame.

Frame rates depend on the load of the machine; the main thread's CPU time (``threadTicks``) divided by the number of
frames does not.
"""

import asyncio
import os
import statistics
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WIDTH, HEIGHT = 1440, 900
INPUT_HZ = 60
SECONDS = 2.0

COUNT_FRAMES = """() => {
  const seen = (window.__frames = { gaps: [], on: true, from: performance.now() });
  let last = seen.from;
  const frame = () => {
    const now = performance.now();
    seen.gaps.push(now - last);
    last = now;
    if (seen.on) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}"""
STOP_COUNTING_FRAMES = """async () => {
  await new Promise((done) => requestAnimationFrame(done));
  window.__frames.on = false;
  return { gaps: window.__frames.gaps.slice(1), wall: performance.now() - window.__frames.from };
}"""

Page = Any  # playwright is not a dependency of the project
Cdp = Any


@dataclass(frozen=True)
class Gesture:
    """The measured cost of a gesture of SECONDS seconds."""

    fps: float
    frame_p95: float  # milliseconds between two frames
    main_ms: float  # milliseconds of the main thread's CPU time per frame
    browser_ms: float  # milliseconds of the CPU time of all the browser's processes per frame


class Mouse:
    """Sends input without waiting for the page to respond, as a hand does."""

    def __init__(self, cdp: Cdp) -> None:
        self._cdp, self._responses = cdp, list[asyncio.Future[Any]]()

    def send_event(self, kind: str, x: float, y: float, **fields: Any) -> None:
        event = {"type": kind, "x": x, "y": y, **fields}
        response = self._cdp.send("Input.dispatchMouseEvent", event)
        self._responses.append(asyncio.ensure_future(response))

    def press(self, x: float, y: float) -> None:
        self.send_event("mouseMoved", x, y)
        self.send_event("mousePressed", x, y, button="left", buttons=1, clickCount=1)

    def drag_to(self, x: float, y: float) -> None:
        self.send_event("mouseMoved", x, y, button="left", buttons=1)

    def release(self, x: float, y: float) -> None:
        self.send_event("mouseReleased", x, y, button="left", buttons=0, clickCount=1)

    def wheel(self, x: float, y: float, delta: float) -> None:
        self.send_event("mouseWheel", x, y, deltaX=0, deltaY=delta, modifiers=2)  # with Ctrl: zoom

    async def settle(self) -> None:
        """Wait until the page has responded to all input."""
        await asyncio.gather(*self._responses, return_exceptions=True)
        self._responses.clear()


@asynccontextmanager
async def open_page(playwright: Any, state: str | None = None) -> AsyncIterator[tuple[Page, Cdp]]:
    """Provide a page in a new browser, so that no candidate is affected by an earlier one."""
    browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
    try:
        context = await browser.new_context(
            viewport={"width": WIDTH, "height": HEIGHT}, storage_state=state
        )
        page = await context.new_page()
        cdp = await context.new_cdp_session(page)
        await cdp.send("Performance.enable", {"timeDomain": "threadTicks"})
        yield page, cdp
    finally:
        await browser.close()


async def measure_gesture(
    page: Page, cdp: Cdp, mouse: Mouse, move: Callable[[float], None], seconds: float = SECONDS
) -> Gesture:
    """Call ``move`` with the elapsed seconds, sixty times a second, and measure the cost of the frames."""
    await page.evaluate(COUNT_FRAMES)
    main, browser = await read_main_seconds(cdp), read_browser_seconds()
    start, ticks = time.perf_counter(), 0
    while (elapsed := time.perf_counter() - start) < seconds:
        move(elapsed)
        ticks += 1
        await asyncio.sleep(max(0.0, start + ticks / INPUT_HZ - time.perf_counter()))
    await mouse.settle()
    result = await page.evaluate(STOP_COUNTING_FRAMES)
    main, browser = await read_main_seconds(cdp) - main, read_browser_seconds() - browser
    gaps = sorted(result["gaps"])
    frames = max(1, len(gaps))
    return Gesture(
        fps=len(gaps) / result["wall"] * 1000,
        frame_p95=gaps[int(len(gaps) * 0.95)] if gaps else result["wall"],
        main_ms=main / frames * 1000,
        browser_ms=browser / frames * 1000,
    )


async def read_metrics(cdp: Cdp) -> dict[str, float]:
    response = await cdp.send("Performance.getMetrics")
    return {metric["name"]: metric["value"] for metric in response["metrics"]}


async def read_main_seconds(cdp: Cdp) -> float:
    return (await read_metrics(cdp))["TaskDuration"]


async def read_heap_megabytes(cdp: Cdp) -> float:
    await cdp.send("HeapProfiler.collectGarbage")
    return (await read_metrics(cdp))["JSHeapUsedSize"] / 2**20


def read_browser_seconds() -> float:
    """Return the CPU seconds of all Chromium processes below this one."""
    ticks_per_second = os.sysconf("SC_CLK_TCK")
    total = sum(ticks for name, ticks in _list_descendants() if "chrom" in name)
    return total / ticks_per_second


def _list_descendants() -> Iterator[tuple[str, int]]:
    """Yield the name and the CPU ticks of each process below this one."""
    children: dict[int, list[int]] = {}
    processes: dict[int, tuple[str, int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            name, rest = (entry / "stat").read_text().rsplit(")", 1)
        except OSError:
            continue  # the process has ended
        fields = rest.split()
        children.setdefault(int(fields[1]), []).append(int(entry.name))
        processes[int(entry.name)] = (name, int(fields[11]) + int(fields[12]))
    pending_pids = [os.getpid()]
    while pending_pids:
        for child in children.get(pending_pids.pop(), ()):
            pending_pids.append(child)
            yield processes[child]


def compute_median(rounds: list[Gesture]) -> Gesture:
    """Return the medians of the rounds, but the best frame rate, because other processes use the machine too."""
    return Gesture(
        fps=max(gesture.fps for gesture in rounds),
        frame_p95=statistics.median(gesture.frame_p95 for gesture in rounds),
        main_ms=statistics.median(gesture.main_ms for gesture in rounds),
        browser_ms=statistics.median(gesture.browser_ms for gesture in rounds),
    )
