"""The filters of a list of runs: read from the address, offered by the page, and shown as chips while they are in use."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from django.http import HttpRequest, QueryDict
from django.utils.dateparse import parse_date
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.views.ignored_filters import IgnoredFilter, list_ignored_filters
from accounts.views.pagination import replace_query
from workflows.models.run import RunStatus
from workflows.run_filters import FEEDBACK_FILTERS, UNCERTAIN, RunFilter
from workflows.templatetags.usage_numbers import format_cost, format_count
from workflows.views.request_context import read_text


MAX_NUMBER: Final = 1e12
RATINGS: Final = (
    ("up", gettext_lazy("Good answer")),
    ("down", gettext_lazy("Bad answer")),
    ("any", gettext_lazy("Any feedback")),
)


@dataclass(frozen=True, slots=True)
class FilterChip:
    """A filter that is in use, and the address of the list without it."""

    text: str
    url: str


def build_filter_context(
    request: HttpRequest, run_filter: RunFilter, *, search: str
) -> dict[str, Any]:
    """Return what the form shows. ``search`` is the parameter whose field is always visible."""
    return {
        "run_filter": run_filter,
        "ignored": list_ignored(request.GET, run_filter),
        "statuses": list_statuses(),
        "ratings": RATINGS,
        "chips": [
            FilterChip(text, replace_query(request.GET, **{name: ""}))
            for name, text in _describe(run_filter)
            if name != search
        ],
    }


def list_statuses() -> list[tuple[str, str]]:
    """Return the choices of the filter by status, with those of people in addition to those of runs."""
    return [
        *((value, str(label)) for value, label in RunStatus.choices),
        (UNCERTAIN, _("Uncertain")),
    ]


def read_filter(data: Mapping[str, str]) -> RunFilter:
    """Read the filter from the query; an invalid value is ignored."""
    status = read_text(data, "status")
    return RunFilter(
        status=status if status in {*RunStatus.values, UNCERTAIN} else "",
        workflow_name=read_text(data, "named"),
        person=read_text(data, "person"),
        text=read_text(data, "said"),
        node=read_text(data, "node"),
        since=_parse_day(read_text(data, "since")),
        until=_parse_day(read_text(data, "until")),
        min_seconds=_read_number(data, "min_seconds"),
        min_tokens=int(_read_number(data, "min_tokens") or 0) or None,
        min_cost=_read_number(data, "min_cost"),
        feedback=feedback if (feedback := read_text(data, "feedback")) in FEEDBACK_FILTERS else "",
        children=bool(read_text(data, "children")),
        end_users=bool(read_text(data, "end_users")),
    )


def _read_number(data: Mapping[str, str], name: str) -> float | None:
    """Return a positive number, or None if there is none."""
    try:
        number = float(read_text(data, name))
    except ValueError:
        return None
    return number if 0 < number < MAX_NUMBER else None


def list_ignored(query: QueryDict, run_filter: RunFilter) -> list[IgnoredFilter]:
    """Return the filters that were requested and are invalid."""
    parameters = (
        ("status", _("Status"), run_filter.status, ""),
        ("since", _("From"), run_filter.since, _("Enter a valid date.")),
        ("until", _("To"), run_filter.until, _("Enter a valid date.")),
        ("min_seconds", _("Duration"), run_filter.min_seconds, _("Enter a number.")),
        ("min_tokens", _("Tokens"), run_filter.min_tokens, _("Enter a number.")),
        ("min_cost", _("Cost"), run_filter.min_cost, _("Enter a number.")),
    )
    return list_ignored_filters(
        query,
        [
            (name, label, reason)
            for name, label, value, reason in parameters
            if read_text(query, name) and not value
        ],
    )


def _describe(run_filter: RunFilter) -> Iterator[tuple[str, str]]:
    """Yield the parameter of each filter that is in use, and its words."""
    texts = (
        ("status", _("Status"), dict(list_statuses()).get(run_filter.status, "")),
        ("named", _("Workflow"), run_filter.workflow_name),
        ("person", _("User"), run_filter.person),
        ("feedback", _("Feedback"), str(dict(RATINGS).get(run_filter.feedback, ""))),
        ("since", _("From"), _format_day(run_filter.since)),
        ("until", _("To"), _format_day(run_filter.until)),
        ("node", _("Node"), run_filter.node),
    )
    for name, label, text in texts:
        if text:
            yield name, _("%(label)s: %(value)s") % {"label": label, "value": text}
    if run_filter.min_seconds:
        seconds = _("%(n)s s") % {"n": f"{run_filter.min_seconds:g}"}
        yield "min_seconds", f"{_('Duration')} ≥ {seconds}"
    if run_filter.min_tokens:
        yield "min_tokens", f"{_('Tokens')} ≥ {format_count(run_filter.min_tokens)}"
    if run_filter.min_cost:
        yield "min_cost", f"{_('Cost')} ≥ {format_cost(run_filter.min_cost)}"
    if run_filter.children:
        yield "children", _("Include sub-workflows")
    if run_filter.end_users:
        yield "end_users", _("Include end users")


def _format_day(day: date | None) -> str:
    return date_format(day) if day else ""


def _parse_day(text: str) -> date | None:
    try:
        return parse_date(text)
    except ValueError:  # the 31st of February
        return None
