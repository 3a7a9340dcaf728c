"""Prints a line for each slow step with its duration."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def step(label: str) -> Iterator[None]:
    """Print the step and its duration to standard error, because standard output belongs to the command."""
    started_at = time.monotonic()
    open_line = sys.stderr.isatty()
    if open_line:
        print(f"  {label} …", end="", file=sys.stderr, flush=True)
    try:
        yield
    except BaseException:
        if open_line:
            print(" failed", file=sys.stderr, flush=True)
        raise
    seconds = time.monotonic() - started_at
    # Without a terminal one whole line is printed, because output of the step could separate two halves.
    line = f" {seconds:.1f} s" if open_line else f"  {label} … {seconds:.1f} s"
    print(line, file=sys.stderr, flush=True)
