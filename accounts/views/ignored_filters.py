"""Lists the invalid filters of a URL, so that the page can report that they have no effect."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from django import forms
from django.http import QueryDict
from django.utils.functional import Promise


# Parameters of a single page or response, which other URLs must not contain.
_PAGE_PARAMETERS: Final = ("offset", "before", "after", "undo", "act", "of", "left", "panel")
_MAX_VALUE_LENGTH: Final = 80  # characters of an invalid value that are shown


@dataclass(frozen=True, slots=True)
class IgnoredFilter:
    """An invalid filter, which has no effect. ``url`` leads to the list without this filter."""

    label: str | Promise
    value: str
    reason: str
    url: str


def list_form_errors(
    data: QueryDict, form: forms.Form, *, address: str = ""
) -> list[IgnoredFilter]:
    """Return the filters that the form rejected. ``address`` is the list's URL, if it isn't that of the current page."""
    errors = [
        (name, form[name].label or name, " ".join(str(message) for message in messages))
        for name, messages in form.errors.items()
        if name in form.fields
    ]
    return list_ignored_filters(data, errors, address=address)


def list_ignored_filters(
    data: QueryDict, errors: Iterable[tuple[str, str | Promise, str]], *, address: str = ""
) -> list[IgnoredFilter]:
    """Return the ignored filters. ``errors`` has the name, the label and the error message of each invalid parameter."""
    return [
        IgnoredFilter(
            label, data.get(name, "")[:_MAX_VALUE_LENGTH], reason, address + _remove(data, name)
        )
        for name, label, reason in errors
    ]


def _remove(data: QueryDict, name: str) -> str:
    """Return the query string without this filter and without the parameters of a single page."""
    query = data.copy()
    for parameter in (*_PAGE_PARAMETERS, name):
        query.pop(parameter, None)
    return f"?{query.urlencode()}"
