"""Suggests existing names for misspelt ones, within a budget, so that a document of wrong names is checked quickly."""

from collections.abc import Collection
from difflib import get_close_matches
from typing import Final


# A comparison of two names takes about 10 microseconds.
MAX_COMPARISONS: Final = 20_000
MAX_NAME_LENGTH: Final = 80


class Suggester:
    """Suggests names for the problems of one document, until as many names have been compared as the budget allows."""

    def __init__(self) -> None:
        self._budget = MAX_COMPARISONS

    def find_close(self, name: str, candidates: Collection[str]) -> str | None:
        """Return the candidate that is spelt almost like the name, if there is one."""
        if len(name) > MAX_NAME_LENGTH or len(candidates) > self._budget:
            return None
        self._budget -= len(candidates)
        short = sorted(name for name in candidates if len(name) <= MAX_NAME_LENGTH)
        return next(iter(get_close_matches(name, short, n=1)), None)
