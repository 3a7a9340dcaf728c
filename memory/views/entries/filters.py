"""The active filters of a list as chips, the tabs of its views, and the authors to filter by."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.principals import get_principal
from accounts.views.pagination import replace_query
from memory import selectors
from memory.forms.browsing import SearchForm, ViewChoice
from memory.models import Namespace
from memory.models.entries import TierChoice
from memory.provenance import load_provenance


@dataclass(frozen=True, slots=True)
class Chip:
    """An active filter; ``url`` is the page without it."""

    name: str
    label: str | Promise
    value: str
    url: str


@dataclass(frozen=True, slots=True)
class ViewTab:
    name: str
    label: str | Promise
    url: str
    is_shown: bool


def list_actors(request: HttpRequest, row: Namespace) -> list[tuple[str, str]]:
    """Return the authors of the namespace with their labels, sorted by label; runs may share a label."""
    actors = selectors.list_actors(row)
    labels = load_provenance(get_principal(request), actors, ()).actors
    return sorted(((actor, labels[actor]) for actor in actors), key=lambda pair: pair[1].casefold())


def list_chips(
    request: HttpRequest, search: SearchForm, actors: Sequence[tuple[str, str]]
) -> list[Chip]:
    tier_labels, actor_labels = dict(TierChoice.choices), dict(actors)
    filters: list[tuple[str, str | Promise, str]] = [
        ("q", _("Key") if search.get_value("by") == "key" else _("Query"), search.get_text("q")),
        ("m", _("Metadata"), request.GET.get("m", "") if search.get_value("m") else ""),
        ("category", _("Category"), search.get_text("category")),
        ("tier", _("Tier"), str(tier_labels.get(search.get_text("tier"), ""))),
        ("actor", _("Written by"), actor_labels.get(actor := search.get_text("actor"), actor)),
        ("match", _("Minimum match"), _format_percent(search)),
        ("since", _("Changed since"), _format_day(search, "since")),
        ("until", _("Changed until"), _format_day(search, "until")),
    ]
    return [
        Chip(name, label, value, replace_query(request.GET, **{name: ""}))
        for name, label, value in filters
        if value
    ]


def list_view_tabs(request: HttpRequest, search: SearchForm) -> list[ViewTab]:
    """Return the tabs of the views, which keep the filters but not the past time, which only the list can show."""
    return [
        ViewTab(
            view.value,
            view.label,
            replace_query(request.GET, view="" if view is ViewChoice.LIST else view.value, at=""),
            search.selected_view is view,
        )
        for view in ViewChoice
    ]


def _format_percent(search: SearchForm) -> str:
    percent = search.get_value("match")
    return f"{percent}%" if percent else ""


def _format_day(search: SearchForm, name: str) -> str:
    day = search.get_value(name)
    return date_format(day, "DATE_FORMAT") if day else ""
