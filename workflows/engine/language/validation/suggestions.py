"""Suggests existing names for misspelt ones, within a budget, so that a document of wrong names is checked quickly."""

import re
from collections.abc import Collection
from difflib import SequenceMatcher, get_close_matches
from typing import Final


# A comparison of two names takes about 10 microseconds.
MAX_COMPARISONS: Final = 20_000
MAX_NAME_LENGTH: Final = 80
MIN_RATIO: Final = 0.6  # of two words of which one is misspelt
_SEPARATORS: Final = re.compile(r"[-_. ]+")


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
        close = get_close_matches(name, short, n=3, cutoff=MIN_RATIO)
        return next((candidate for candidate in close if _is_misspelt(name, candidate)), None)


def _is_misspelt(name: str, candidate: str) -> bool:
    """Return whether each word of the name is close to its word of the candidate.

    A document extractor is no misspelt parameter extractor, however many letters both have in common.
    """
    words, others = _SEPARATORS.split(name), _SEPARATORS.split(candidate)
    if len(words) != len(others):
        return True
    pairs = zip(words, others, strict=True)
    return all(SequenceMatcher(None, *pair).ratio() >= MIN_RATIO for pair in pairs)
