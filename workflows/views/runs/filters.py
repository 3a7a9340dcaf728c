"""What the page of runs was asked to show, as its form sends it."""

from collections.abc import Mapping
from datetime import date

from django.http import QueryDict
from django.utils.dateparse import parse_date
from django.utils.translation import gettext as _

from accounts.views.ignored_filters import Ignored, list_ignored_filters
from workflows.models.run import RunStatus
from workflows.run_filters import RunFilter
from workflows.views.request_context import typed


def filter_asked(data: Mapping[str, str]) -> RunFilter:
    """What makes no sense filters nothing."""
    status = typed(data, "status")
    return RunFilter(
        status=status if status in RunStatus.values else "",
        workflow_name=typed(data, "named"),
        person=typed(data, "person"),
        text=typed(data, "said"),
        since=_day(typed(data, "since")),
        until=_day(typed(data, "until")),
    )


def ignored_in(given: QueryDict, asked: RunFilter) -> list[Ignored]:
    """What the page of runs was asked for and can't understand."""
    read = (
        ("status", _("Status"), asked.status, ""),
        ("since", _("From"), asked.since, _("Enter a valid date.")),
        ("until", _("To"), asked.until, _("Enter a valid date.")),
    )
    return list_ignored_filters(
        given,
        [
            (name, label, why)
            for name, label, found, why in read
            if typed(given, name) and not found
        ],
    )


def _day(text: str) -> date | None:
    try:
        return parse_date(text)
    except ValueError:  # the 31st of February
        return None
