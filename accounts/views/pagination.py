"""Lists by offset, what their pager shows, and addresses that keep the filters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from django.http import QueryDict
from django.utils.translation import gettext as _


PAGE_SIZE = 25

# Where the lists of a page begin, each by a name of its own.
_BEGINNINGS = ("from", "grants", "mine", "offset")
# What belongs to one answer, and to no address that others are made of.
_PASSING = (*_BEGINNINGS, "undo")


def with_query(query: QueryDict, **changes: str) -> str:
    """The same page, a few things changed; what is empty is left out."""
    fresh = query.copy()
    for name in (*_PASSING, *changes):
        fresh.pop(name, None)
    for name, value in changes.items():
        if value:
            fresh[name] = value
    return f"?{fresh.urlencode()}"


def kept_query(query: QueryDict, **changes: str) -> str:
    """The same for the end of another address: nothing at all where nothing is asked."""
    found = with_query(query, **changes)
    return "" if found == "?" else found


def offset_in(query: QueryDict, parameter: str = "offset") -> int:
    """Where the address says that the page begins; nonsense is the beginning."""
    text = query.get(parameter, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class OffsetPage:
    """What ``components/_pager.html`` shows."""

    total: int
    offset: int
    query: QueryDict
    size: int = PAGE_SIZE
    address: str = ""  # of the list, where an answer to a form shows it as well
    parameter: str = "offset"  # another for a second list on the same page
    is_counted: ClassVar[bool] = True  # and not by time alone: the pager's words

    def of(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Those that stand on it, of all there are."""
        return rows[self.offset : self.offset + self.size]

    @property
    def has_previous_page(self) -> bool:
        return self.offset > 0

    @property
    def has_next_page(self) -> bool:
        return self.offset + self.size < self.total

    @property
    def has_other_pages(self) -> bool:
        return self.has_previous_page or self.has_next_page

    @property
    def previous_url(self) -> str:
        return self._url(max(0, self.offset - self.size))

    @property
    def next_url(self) -> str:
        return self._url(self.offset + self.size)

    @property
    def label(self) -> str:
        last = min(self.offset + self.size, self.total)
        return _("%(first)d–%(last)d of %(total)d") % {
            "first": self.offset + 1,
            "last": last,
            "total": self.total,
        }

    def _url(self, offset: int) -> str:
        # The other lists stay where they are when this one moves on.
        begun = {name: self.query.get(name, "") for name in _BEGINNINGS}
        return self.address + with_query(self.query, **begun | {self.parameter: str(offset)})
