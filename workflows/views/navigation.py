"""The links at the side of every page."""

from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True, slots=True)
class Item:
    url: str
    label: str | Promise
    icon: str
    current: bool


# url name, label, icon, the paths it stands for
PLACES: tuple[tuple[str, str | Promise, str, tuple[str, ...]], ...] = (
    ("home", _("Home"), "home", ()),
    ("workflows:samples", _("Samples"), "samples", ("/samples/",)),
    ("workflows:list", _("Workflows"), "workflow", ("/workflows/",)),
    ("workflows:runs", _("Runs"), "run", ("/runs/",)),
    ("memory:list", _("Memory"), "memory", ("/memory/",)),
    ("workflows:providers", _("Models"), "model", ("/models/",)),
    ("accounts:team", _("Team"), "team", ("/team/", "/teams/")),
)


def navigation(request: HttpRequest) -> dict[str, Any]:
    """A context processor; nothing for who isn't signed in."""
    if not getattr(request, "user", None) or not request.user.is_authenticated:
        return {}
    return {"navigation": [_item(request, *place) for place in PLACES if _is_here(place[0])]}


def _is_here(name: str) -> bool:
    return not name.startswith("memory:") or apps.is_installed("memory")


def _item(
    request: HttpRequest, name: str, label: str | Promise, icon: str, paths: tuple[str, ...]
) -> Item:
    url = reverse(name)
    current = request.path == url or any(request.path.startswith(path) for path in paths)
    return Item(url=url, label=label, icon=icon, current=current)
