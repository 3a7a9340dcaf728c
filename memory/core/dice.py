"""How alike two texts look, by the pairs of characters they share: 2 × common / all (Dice)."""

import unicodedata
from collections import Counter
from itertools import pairwise


def dice(one: str, other: str) -> float:
    """From 0.0 to 1.0. A single character is its own and only piece."""
    mine, theirs = _pieces(one), _pieces(other)
    total = mine.total() + theirs.total()
    return 2 * (mine & theirs).total() / total if total else 0.0


def _pieces(text: str) -> Counter[str]:
    plain = unicodedata.normalize("NFKC", text).casefold()
    found: Counter[str] = Counter()
    for word in "".join(one if one.isalnum() else " " for one in plain).split():
        found.update([word] if len(word) == 1 else (a + b for a, b in pairwise(word)))
    return found
