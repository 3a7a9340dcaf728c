"""Let time pass in a moment, for what counts it by ``time.monotonic``, such as limits of the event loop.

So a test needs no limit that is short enough to wait for, and long enough for a busy machine. The time of the day is
moved by ``time_machine``, which leaves this clock alone.
"""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from unittest.mock import patch
from weakref import WeakSet


class MovableTime:
    """A clock that goes on by itself and can be put forward. Threads that were there before see it unmoved.

    A server that other tests share would else set its alarms by a time that is taken back at the end.
    """

    def __init__(self) -> None:
        self._read = time.monotonic
        self._passed = 0.0
        self._others = WeakSet(threading.enumerate())
        self._others.discard(threading.current_thread())
        self._loop: asyncio.AbstractEventLoop | None = None
        with suppress(RuntimeError):  # no loop runs
            self._loop = asyncio.get_running_loop()

    def __call__(self) -> float:
        is_moved = self._passed and threading.current_thread() not in self._others
        return self._read() + (self._passed if is_moved else 0)

    def let_pass(self, seconds: float) -> None:
        """Put the clock forward. It may be called from other threads too."""
        self._passed += seconds
        if self._loop is not None:  # it looks at the clock when it wakes up
            self._loop.call_soon_threadsafe(lambda: None)


@contextmanager
def movable_time() -> Iterator[MovableTime]:
    """Move ``time.monotonic`` in this process, by which event loops count too, until the block ends."""
    clock = MovableTime()
    with patch("time.monotonic", clock):
        yield clock
