"""Large work, and large texts, in pieces that fit a token budget."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from memory.core.errors import InvalidInput
from memory.logic.conversations.messages import estimate


T = TypeVar("T")


def batches(
    items: Iterable[T], budget: int, cost: Callable[[T], int], *, most: int = 50
) -> Iterator[list[T]]:
    """In order, each within ``budget`` and of at most ``most`` items.

    An item that alone costs more makes a batch of its own: whoever takes it clips it.
    """
    if budget < 1 or most < 1:
        raise InvalidInput("budget, most: must be at least 1.")
    batch: list[T] = []
    spent = 0
    for item in items:
        price = cost(item)
        if batch and (spent + price > budget or len(batch) >= most):
            yield batch
            batch, spent = [], 0
        batch.append(item)
        spent += price
    if batch:
        yield batch


def parts(text: str, budget: int) -> Iterator[str]:
    """A long text in pieces within the budget, cut where it pauses: at an empty line, a line's end, a
    sentence's, a space; in the middle of a word only where it has none of them."""
    if budget < 1:
        raise InvalidInput("budget: must be at least 1.")
    while len(text) > budget * _LONGEST_TOKEN or estimate(text) > budget:
        head = _within(text, budget)
        at = _pause(head)
        yield text[:at].rstrip()
        text = text[at:].lstrip()
    if text:
        yield text


def clipped(text: str, tokens: int) -> str:
    """Without its middle, if it is too long."""
    if estimate(text) <= tokens:
        return text
    kept = max(0, tokens - _MARK_COSTS)
    head, tail = _within(text, kept * 2 // 3), _within(text[::-1], kept // 3)[::-1]
    return f"{head}\n[… {len(text) - len(head) - len(tail)} …]\n{tail}"


_MARK_COSTS = 8
_LONGEST_TOKEN = 4  # characters, as ``estimate`` counts


# From the best place to cut at to the worst; none in the first half, or the pieces get many.
_PAUSES = ("\n\n", "\n", "。", ". ", "；", "; ", " ")


def _pause(head: str) -> int:
    found = (
        head.rfind(mark, len(head) // 2) + len(mark)
        for mark in _PAUSES
        if mark in head[len(head) // 2 :]
    )
    return next(found, max(1, len(head)))


def _within(text: str, tokens: int) -> str:
    """As much of the beginning as the tokens pay for."""
    low, high = 0, min(len(text), tokens * _LONGEST_TOKEN)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate(text[:middle]) <= tokens:
            low = middle
        else:
            high = middle - 1
    return text[:low]
