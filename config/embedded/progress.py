"""Prints a line for each slow step with its duration."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def step(what: str) -> Iterator[None]:
    """Print to standard error: standard output belongs to the command."""
    began = time.monotonic()
    open_line = sys.stderr.isatty()
    if open_line:
        print(f"  {what} …", end="", file=sys.stderr, flush=True)
    try:
        yield
    except BaseException:
        if open_line:
            print(" failed", file=sys.stderr, flush=True)
        raise
    seconds = time.monotonic() - began
    # Without a terminal, one whole line: two halves would be torn apart by what the step itself says.
    line = f" {seconds:.1f} s" if open_line else f"  {what} … {seconds:.1f} s"
    print(line, file=sys.stderr, flush=True)
