"""Our own web server in a thread of the test's process: a real one, whose clock a test can move."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Literal

import uvicorn

from tests.support.waiting import until


class MovableClock(asyncio.SelectorEventLoop):
    """An event loop for which a test can let time pass: what waits for a time then has waited."""

    _passed = 0.0

    def time(self) -> float:
        return super().time() + self._passed

    def let_pass(self, seconds: float) -> None:
        """Move the clock, and return when it has moved. What is due happens soon after."""
        moved = threading.Event()
        self.call_soon_threadsafe(self._move, seconds)
        self.call_soon_threadsafe(moved.set)
        assert moved.wait(90), "the server's loop is busy"

    def hurry(self, thread: threading.Thread) -> None:
        """Let time pass ten times as fast until the loop's thread has ended, which waits for a tenth of a second at a time."""
        for _hundredth in range(9_000):
            if not thread.is_alive():
                return
            with suppress(RuntimeError):  # the loop is closed already
                self.call_soon_threadsafe(self._move, 0.1)
            thread.join(0.01)

    def _move(self, seconds: float) -> None:
        self._passed += seconds


@contextmanager
def run_server(
    application: Any, *, lifespan: Literal["on", "off"] = "off", port: int = 0
) -> Iterator[tuple[str, MovableClock]]:
    """Serve an application, and give the address and the clock by which the server waits."""
    config = uvicorn.Config(
        application, host="127.0.0.1", port=port, lifespan=lifespan, ws="none", log_level="critical",
        access_log=False,
    )  # fmt: skip
    server = uvicorn.Server(config)
    clock = MovableClock()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: clock) as runner:
            runner.run(server.serve())

    thread = threading.Thread(target=run, name="own-server", daemon=True)
    thread.start()
    until(lambda: server.started or not thread.is_alive(), why="the server did not start in time")
    assert server.started, "the server did not start"
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}", clock
    finally:
        server.should_exit = True
        clock.hurry(thread)


@contextmanager
def own_server() -> Iterator[str]:
    """Its address. It reads the database the test session uses."""
    from config.asgi import application

    with run_server(application) as (url, _clock):
        yield url
