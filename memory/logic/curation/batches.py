"""Functions that split items and long strings into pieces within a token budget."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from memory.core.errors import InvalidInput
from memory.logic.conversations.messages import estimate_tokens


T = TypeVar("T")

_GAP_MARKER_TOKENS = 8
_MAX_TOKEN_LENGTH = 4  # characters, as ``estimate_tokens`` counts

# From the best place for a cut to the worst. No cut is in the first half of a piece, so that pieces don't get small.
_PAUSES = ("\n\n", "\n", "。", ". ", "；", "; ", " ")


def split_batches(
    items: Iterable[T], budget: int, count_tokens: Callable[[T], int], *, max_items: int = 50
) -> Iterator[list[T]]:
    """Yield batches in order, each within ``budget`` and of at most ``max_items`` items.

    An item that alone exceeds the budget is a separate batch; the caller has to clip it.
    """
    if budget < 1 or max_items < 1:
        raise InvalidInput("budget, most: must be at least 1.")
    batch: list[T] = []
    total = 0
    for item in items:
        tokens = count_tokens(item)
        if batch and (total + tokens > budget or len(batch) >= max_items):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += tokens
    if batch:
        yield batch


def split_text(text: str, budget: int) -> Iterator[str]:
    """Yield pieces within the budget, cut at an empty line, a line end, a sentence end, a space, or else in a word."""
    if budget < 1:
        raise InvalidInput("budget: must be at least 1.")
    while len(text) > budget * _MAX_TOKEN_LENGTH or estimate_tokens(text) > budget:
        position = _find_cut(_find_prefix(text, budget))
        yield text[:position].rstrip()
        text = text[position:].lstrip()
    if text:
        yield text


def clip_text(text: str, max_tokens: int) -> str:
    """Return the text; if it is too long, the number of removed characters replaces its middle."""
    if estimate_tokens(text) <= max_tokens:
        return text
    length = max(0, max_tokens - _GAP_MARKER_TOKENS)
    head, tail = _find_prefix(text, length * 2 // 3), _find_prefix(text[::-1], length // 3)[::-1]
    return f"{head}\n[… {len(text) - len(head) - len(tail)} …]\n{tail}"


def _find_cut(head: str) -> int:
    """Return the position behind the last of the best pauses in the second half, else the end."""
    middle = len(head) // 2
    pauses = (pause for pause in _PAUSES if pause in head[middle:])
    return next((head.rfind(pause, middle) + len(pause) for pause in pauses), max(1, len(head)))


def _find_prefix(text: str, max_tokens: int) -> str:
    """Return the longest beginning of the text that has at most ``max_tokens``."""
    low, high = 0, min(len(text), max_tokens * _MAX_TOKEN_LENGTH)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_tokens(text[:middle]) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    return text[:low]
