"""Invalid filters in a URL: they filter nothing, and the page says so."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from django import forms
from django.http import QueryDict
from django.utils.functional import Promise


# What belongs to one page of a list or to one answer, and to no address that others are made of.
_PASSING: Final = ("offset", "before", "after", "undo", "act", "of", "left", "panel")
_MOST_SHOWN: Final = 80  # characters of what was asked


@dataclass(frozen=True, slots=True)
class Ignored:
    """An invalid filter, which filters nothing; ``url`` is the list without it."""

    label: str | Promise
    value: str
    why: str
    url: str


def list_form_errors(data: QueryDict, form: forms.Form, *, address: str = "") -> list[Ignored]:
    """Return the filters that the form rejected. ``address`` is the list's URL, if another page shows it as well."""
    return list_ignored_filters(
        data,
        [
            (name, form[name].label or name, " ".join(str(why) for why in errors))
            for name, errors in form.errors.items()
            if name in form.fields
        ],
        address=address,
    )


def list_ignored_filters(
    data: QueryDict, errors: Iterable[tuple[str, str | Promise, str]], *, address: str = ""
) -> list[Ignored]:
    """Return the ignored filters. ``errors``: the parameter's name, its label, and why it is invalid."""
    return [
        Ignored(label, data.get(name, "")[:_MOST_SHOWN], why, address + _drop_filter(data, name))
        for name, label, why in errors
    ]


def _drop_filter(data: QueryDict, name: str) -> str:
    fresh = data.copy()
    for query in (*_PASSING, name):
        fresh.pop(query, None)
    return f"?{fresh.urlencode()}"
