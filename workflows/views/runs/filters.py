"""The filters of the page of runs, as its form sends them."""

from collections.abc import Mapping
from datetime import date

from django.http import QueryDict
from django.utils.dateparse import parse_date
from django.utils.translation import gettext as _

from accounts.views.ignored_filters import Ignored, list_ignored_filters
from workflows.models.run import RunStatus
from workflows.run_filters import RunFilter
from workflows.views.request_context import read_text


def read_filter(data: Mapping[str, str]) -> RunFilter:
    """Read the filter; invalid values filter nothing."""
    status = read_text(data, "status")
    return RunFilter(
        status=status if status in RunStatus.values else "",
        workflow_name=read_text(data, "named"),
        person=read_text(data, "person"),
        text=read_text(data, "said"),
        since=_parse_day(read_text(data, "since")),
        until=_parse_day(read_text(data, "until")),
    )


def list_ignored(query: QueryDict, run_filter: RunFilter) -> list[Ignored]:
    """Return the filters that were requested and are invalid."""
    parameters = (
        ("status", _("Status"), run_filter.status, ""),
        ("since", _("From"), run_filter.since, _("Enter a valid date.")),
        ("until", _("To"), run_filter.until, _("Enter a valid date.")),
    )
    return list_ignored_filters(
        query,
        [
            (name, label, why)
            for name, label, value, why in parameters
            if read_text(query, name) and not value
        ],
    )


def _parse_day(text: str) -> date | None:
    try:
        return parse_date(text)
    except ValueError:  # the 31st of February
        return None
