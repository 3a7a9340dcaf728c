"""What an address asks for that nobody can understand: it filters nothing, and the page says so."""

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
    """A filter that could not be understood, and so filters nothing; ``url`` is the list without it."""

    label: str | Promise
    value: str
    why: str
    url: str


def ignored(given: QueryDict, form: forms.Form, *, address: str = "") -> list[Ignored]:
    """What the form left out: a list that is longer than was meant says why. ``address`` is the list's, where an answer
    to another one shows it as well."""
    return left_out(
        given,
        [
            (name, form[name].label or name, " ".join(str(why) for why in found))
            for name, found in form.errors.items()
            if name in form.fields
        ],
        address=address,
    )


def left_out(
    given: QueryDict, found: Iterable[tuple[str, str | Promise, str]], *, address: str = ""
) -> list[Ignored]:
    """``found``: the parameter's name, what people call it, and why it can't be understood."""
    return [
        Ignored(label, given.get(name, "")[:_MOST_SHOWN], why, address + _without(given, name))
        for name, label, why in found
    ]


def _without(given: QueryDict, name: str) -> str:
    fresh = given.copy()
    for one in (*_PASSING, name):
        fresh.pop(one, None)
    return f"?{fresh.urlencode()}"
