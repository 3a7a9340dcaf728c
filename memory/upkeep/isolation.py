"""One after the other, each by itself: what fails at one ends nothing for those after it."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import structlog


log = structlog.get_logger(__name__)

T = TypeVar("T")


def each(what: Iterable[T], work: Callable[[T], int], failing: str) -> int:
    """How many it was at all of them together. ``failing`` is what the log calls one that failed."""
    done = 0
    for one in what:
        try:
            done += work(one)
        except Exception:
            log.exception(failing, at=str(one))
    return done
