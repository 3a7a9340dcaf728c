"""The two columns of an import report, which are about equally long: what a document uses, and what else to know of it."""

from collections.abc import Sequence, Sized
from dataclasses import dataclass
from typing import Final


# A heading and a card, in rows.
_HEAD_SIZE: Final = 2


@dataclass(frozen=True, slots=True)
class Columns:
    """The templates of the parts below what the document uses, and of those in the second column."""

    first: tuple[str, ...] = ()
    second: tuple[str, ...] = ()


def place_parts(uses: Sequence[Sized], parts: Sequence[tuple[str, Sequence[Sized]]]) -> Columns:
    """Place the further ``parts``, each with its template and its lists of rows, so that the longer column is as short as possible.

    ``uses`` are the lists of rows of the first column. The parts keep their order, which a single column shows,
    and the last one is always in the second column.
    """
    names = tuple(name for name, lists in parts if any(lists))
    sizes = [_measure(lists) for _name, lists in parts if any(lists)]
    length = _measure(uses)

    def measure_longer(count: int) -> int:
        return max(length + sum(sizes[:count]), sum(sizes[count:]))

    # Of equal ones the first column, which is wider, gets more.
    count = min(reversed(range(len(sizes))), key=measure_longer, default=0)
    return Columns(names[:count], names[count:])


def _measure(lists: Sequence[Sized]) -> int:
    """Return how long lists are below each other, in rows; those without rows take no room."""
    return sum(_HEAD_SIZE + len(rows) for rows in lists if rows)
