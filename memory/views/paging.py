"""Lists by offset, and what their pager shows."""

from dataclasses import dataclass

from django.http import QueryDict
from django.utils.translation import gettext as _


PAGE_SIZE = 25


@dataclass(frozen=True, slots=True)
class OffsetPage:
    """What ``components/_pager.html`` shows."""

    total: int
    offset: int
    query: QueryDict

    @property
    def has_previous_page(self) -> bool:
        return self.offset > 0

    @property
    def has_next_page(self) -> bool:
        return self.offset + PAGE_SIZE < self.total

    @property
    def has_other_pages(self) -> bool:
        return self.has_previous_page or self.has_next_page

    @property
    def previous_url(self) -> str:
        return self._url(max(0, self.offset - PAGE_SIZE))

    @property
    def next_url(self) -> str:
        return self._url(self.offset + PAGE_SIZE)

    @property
    def label(self) -> str:
        last = min(self.offset + PAGE_SIZE, self.total)
        return _("%(first)d to %(last)d of %(total)d") % {
            "first": self.offset + 1,
            "last": last,
            "total": self.total,
        }

    def _url(self, offset: int) -> str:
        query = self.query.copy()
        query["offset"] = str(offset)
        return f"?{query.urlencode()}"
