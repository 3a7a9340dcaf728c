"""Prints a line for each slow step of a start, with its duration."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def print_step(label: str) -> Iterator[None]:
    """Print the step and its duration to standard error, because standard output belongs to the command."""
    started_at = time.monotonic()
    is_terminal = sys.stderr.isatty()
    if is_terminal:
        print(f"  {label} …", end="", file=sys.stderr, flush=True)
    try:
        yield
    except BaseException:
        if is_terminal:
            print(" failed", file=sys.stderr, flush=True)
        raise
    seconds = time.monotonic() - started_at
    # Without a terminal, the line is printed as a whole, because output of the step could come between its parts.
    line = f" {seconds:.1f} s" if is_terminal else f"  {label} … {seconds:.1f} s"
    print(line, file=sys.stderr, flush=True)
