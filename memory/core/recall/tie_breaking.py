"""How alike two texts look, by the pairs of characters they share: 2 × common / all (Dice)."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from operator import add


def likeness_to(one: str) -> Callable[[str], float]:
    """Return the function that says how alike another text is to this one, from 0.0 to 1.0.

    This one is cut up once. A single character is its own and only piece.
    """
    mine = _pieces(one)
    own = mine.total()

    def likeness(other: str) -> float:
        theirs = _pieces(other)
        total = own + theirs.total()
        few, many = (mine, theirs) if len(mine) < len(theirs) else (theirs, mine)
        common = sum(min(count, many[piece]) for piece, count in few.items() if piece in many)
        return 2 * common / total if total else 0.0

    return likeness


_WORD = re.compile(r"[^\W_]+")


def _pieces(text: str) -> Counter[str]:
    plain = (text if text.isascii() else unicodedata.normalize("NFKC", text)).casefold()
    found: list[str] = []
    for word in _WORD.findall(plain):
        found += [word] if len(word) == 1 else map(add, word, word[1:])
    return Counter(found)
