"""Measuring a page in Chromium: real input through the DevTools protocol, CPU time a frame.

Frame rates depend on what else the machine does; the main thread's CPU time (``threadTicks``) divided
by the frames that were made does not.
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
FRAMES = """async () => {
  await new Promise((done) => requestAnimationFrame(done));
  window.__frames.on = false;
  return { gaps: window.__frames.gaps.slice(1), wall: performance.now() - window.__frames.from };
}"""

Page = Any  # playwright's own types are of no use to a script
Cdp = Any


@dataclass(frozen=True)
class Gesture:
    """What two seconds of one gesture cost."""

    fps: float
    frame_p95: float  # ms between two frames
    main_ms: float  # main-thread CPU a frame, ms
    browser_ms: float  # CPU of all the browser's processes a frame, ms


class Mouse:
    """Fires input without waiting for the page to answer, as a hand does."""

    def __init__(self, cdp: Cdp) -> None:
        self._cdp, self._sent = cdp, list[asyncio.Future[Any]]()

    def fire(self, kind: str, x: float, y: float, **more: Any) -> None:
        event = {"type": kind, "x": x, "y": y, **more}
        self._sent.append(asyncio.ensure_future(self._cdp.send("Input.dispatchMouseEvent", event)))

    def press(self, x: float, y: float) -> None:
        self.fire("mouseMoved", x, y)
        self.fire("mousePressed", x, y, button="left", buttons=1, clickCount=1)

    def drag_to(self, x: float, y: float) -> None:
        self.fire("mouseMoved", x, y, button="left", buttons=1)

    def release(self, x: float, y: float) -> None:
        self.fire("mouseReleased", x, y, button="left", buttons=0, clickCount=1)

    def wheel(self, x: float, y: float, by: float) -> None:
        self.fire("mouseWheel", x, y, deltaX=0, deltaY=by, modifiers=2)  # with Ctrl: zoom

    async def settle(self) -> None:
        await asyncio.gather(*self._sent, return_exceptions=True)
        self._sent.clear()


@asynccontextmanager
async def opened(playwright: Any, state: str | None = None) -> AsyncIterator[tuple[Page, Cdp]]:
    """A fresh browser: what one candidate leaves behind burdens no other."""
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


async def gesture(
    page: Page, cdp: Cdp, mouse: Mouse, act: Callable[[float], None], seconds: float = SECONDS
) -> Gesture:
    """Call ``act`` with the seconds gone by, sixty times a second, and count what it costs."""
    await page.evaluate(COUNT_FRAMES)
    main, whole = await main_seconds(cdp), browser_seconds()
    begun, ticks = time.perf_counter(), 0
    while (gone := time.perf_counter() - begun) < seconds:
        act(gone)
        ticks += 1
        await asyncio.sleep(max(0.0, begun + ticks / INPUT_HZ - time.perf_counter()))
    await mouse.settle()
    seen = await page.evaluate(FRAMES)
    main, whole = await main_seconds(cdp) - main, browser_seconds() - whole
    gaps = sorted(seen["gaps"])
    frames = max(1, len(gaps))
    return Gesture(
        fps=len(gaps) / seen["wall"] * 1000,
        frame_p95=gaps[int(len(gaps) * 0.95)] if gaps else seen["wall"],
        main_ms=main / frames * 1000,
        browser_ms=whole / frames * 1000,
    )


async def metrics(cdp: Cdp) -> dict[str, float]:
    told = await cdp.send("Performance.getMetrics")
    return {metric["name"]: metric["value"] for metric in told["metrics"]}


async def main_seconds(cdp: Cdp) -> float:
    return (await metrics(cdp))["TaskDuration"]


async def heap_megabytes(cdp: Cdp) -> float:
    await cdp.send("HeapProfiler.collectGarbage")
    return (await metrics(cdp))["JSHeapUsedSize"] / 2**20


def browser_seconds() -> float:
    """CPU seconds of every Chromium process below this one."""
    tick = os.sysconf("SC_CLK_TCK")
    return sum(ticks for name, ticks in _descendants() if "chrom" in name) / tick


def _descendants() -> Iterator[tuple[str, int]]:
    children: dict[int, list[int]] = {}
    about: dict[int, tuple[str, int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            name, rest = (entry / "stat").read_text().rsplit(")", 1)
        except OSError:
            continue  # it has ended meanwhile
        fields = rest.split()
        children.setdefault(int(fields[1]), []).append(int(entry.name))
        about[int(entry.name)] = (name, int(fields[11]) + int(fields[12]))
    todo = [os.getpid()]
    while todo:
        for child in children.get(todo.pop(), ()):
            todo.append(child)
            yield about[child]


def median_of(rounds: list[Gesture]) -> Gesture:
    return Gesture(
        fps=max(one.fps for one in rounds),  # the quietest moment of a shared machine
        frame_p95=statistics.median(one.frame_p95 for one in rounds),
        main_ms=statistics.median(one.main_ms for one in rounds),
        browser_ms=statistics.median(one.browser_ms for one in rounds),
    )
