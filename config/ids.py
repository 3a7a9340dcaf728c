"""UUIDv7 for every row: sorted by time, so that indexes grow at one end."""

import os
import threading
import time
from uuid import UUID


_lock = threading.Lock()
_last = 0  # the newest (milliseconds << 12 | counter) handed out by this process


def uuid7() -> UUID:
    """Return a UUID of RFC 9562 version 7; strictly increasing within a process, even when the clock steps back.

    The 12 bits after the milliseconds count up within one millisecond (method 1 of the RFC), then spill into the
    next.
    """
    global _last
    with _lock:
        _last = max(_last + 1, time.time_ns() // 1_000_000 << 12)
        stamp = _last
    milliseconds, counter = stamp >> 12, stamp & 0xFFF
    tail = int.from_bytes(os.urandom(8)) & (1 << 62) - 1
    return UUID(int=milliseconds << 80 | 0x7 << 76 | counter << 64 | 0b10 << 62 | tail)
