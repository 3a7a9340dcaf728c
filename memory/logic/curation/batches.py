"""Splitting of large work and strings into pieces that fit a token budget."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from memory.core.errors import InvalidInput
from memory.logic.conversations.messages import estimate_tokens


T = TypeVar("T")

_GAP_MARKER_TOKENS = 8
_MAX_TOKEN_LENGTH = 4  # characters, as ``estimate_tokens`` counts

# From the best cut to the worst. The first half has none, so that there aren't many pieces.
_PAUSES = ("\n\n", "\n", "。", ". ", "；", "; ", " ")


def split_batches(
    items: Iterable[T], budget: int, cost: Callable[[T], int], *, max_items: int = 50
) -> Iterator[list[T]]:
    """Yield batches in order, each within ``budget`` and of at most ``max_items`` items.

    An item that alone exceeds the budget is a separate batch; the caller has to clip it.
    """
    if budget < 1 or max_items < 1:
        raise InvalidInput("budget, most: must be at least 1.")
    batch: list[T] = []
    total = 0
    for item in items:
        item_cost = cost(item)
        if batch and (total + item_cost > budget or len(batch) >= max_items):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += item_cost
    if batch:
        yield batch


def split_text(text: str, budget: int) -> Iterator[str]:
    """Yield pieces within the budget, cut at an empty line, a line end, a sentence end, a space, or else in a word."""
    if budget < 1:
        raise InvalidInput("budget: must be at least 1.")
    while len(text) > budget * _MAX_TOKEN_LENGTH or estimate_tokens(text) > budget:
        position = _find_cut(_take_prefix(text, budget))
        yield text[:position].rstrip()
        text = text[position:].lstrip()
    if text:
        yield text


def clip_text(text: str, tokens: int) -> str:
    """Return the string, without its middle if it exceeds the tokens; a marker has the number of removed characters."""
    if estimate_tokens(text) <= tokens:
        return text
    length = max(0, tokens - _GAP_MARKER_TOKENS)
    head, tail = _take_prefix(text, length * 2 // 3), _take_prefix(text[::-1], length // 3)[::-1]
    return f"{head}\n[… {len(text) - len(head) - len(tail)} …]\n{tail}"


def _find_cut(head: str) -> int:
    middle = len(head) // 2
    pauses = (pause for pause in _PAUSES if pause in head[middle:])
    return next((head.rfind(pause, middle) + len(pause) for pause in pauses), max(1, len(head)))


def _take_prefix(text: str, tokens: int) -> str:
    """Return the longest beginning of the text within the tokens."""
    low, high = 0, min(len(text), tokens * _MAX_TOKEN_LENGTH)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_tokens(text[:middle]) <= tokens:
            low = middle
        else:
            high = middle - 1
    return text[:low]
