"""Runs work for each of many items, so that one failure doesn't stop the items after it."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import structlog


log = structlog.get_logger(__name__)

T = TypeVar("T")


def run_each(items: Iterable[T], work: Callable[[T], int], event: str) -> int:
    """Call ``work`` for each item and return the sum of its results. A failure is logged as ``event``."""
    total = 0
    for item in items:
        try:
            total += work(item)
        except Exception:
            log.exception(event, at=str(item))
    return total
