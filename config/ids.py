"""Generates the UUIDs of version 7 that identify rows. They sort by time, so that indexes grow at one end."""

import os
import threading
import time
from uuid import UUID


_lock = threading.Lock()
_newest_stamp = 0  # milliseconds << 12 | counter of the newest UUID of this process


def uuid7() -> UUID:
    """Return a UUID of RFC 9562 version 7 that is greater than all before it in this process, even if the clock is set back.

    The 12 bits after the milliseconds are a counter within one millisecond (method 1 of the RFC), which overflows into
    the milliseconds.
    """
    global _newest_stamp
    with _lock:
        _newest_stamp = max(_newest_stamp + 1, time.time_ns() // 1_000_000 << 12)
        stamp = _newest_stamp
    milliseconds, counter = stamp >> 12, stamp & 0xFFF
    random_bits = int.from_bytes(os.urandom(8)) & (1 << 62) - 1
    return UUID(int=milliseconds << 80 | 0x7 << 76 | counter << 64 | 0b10 << 62 | random_bits)
