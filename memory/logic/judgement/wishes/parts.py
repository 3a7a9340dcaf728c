"""Divide a wish to forget into the things that it names."""

import re
from typing import Final

from memory.logic.judgement.clauses import list_splits


MAX_PARTS: Final = 6

# Words for *and* between two things, where no space need stand beside them.
_AND: Final = re.compile(
    r"(?<=[\u4e00-\u9fff])(?:和|与|與|跟|以及|及)(?=[\u4e00-\u9fff])|(?<=\w)、|(?<=[一-龠ァ-ヶ])と(?=[一-龠ァ-ヶ私僕])"
    r"|(?<=[가-힣])(?:과|와|랑|이랑|하고) |(?<=[\u0e00-\u0e7f])\s*(?:กับ|และ)| ile ",
)


def list_wish_splits(wish: str) -> list[list[str]]:
    """Return the ways to divide the wish, the finest first."""
    splits = list_splits(wish)
    parts = [part.strip() for part in _AND.split(wish) if part.strip()]
    if 1 < len(parts) <= MAX_PARTS:
        splits.append(parts)
    return sorted(splits, key=lambda split: (-len(split), sum(map(len, split))))


def is_verb(part: str) -> bool:
    """Return whether the part is the word for forgetting alone: the "Vergiss" of "Vergiss, wo ich wohne"."""
    return len(part.split()) == 1 and not re.search(r"[\u0e00-\u9fff가-힣]", part)
