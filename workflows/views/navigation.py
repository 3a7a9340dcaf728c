"""The links at the side of every page."""

from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.principals import get_principal
from workflows import permissions


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
    ("workflows:list", _("Workflows"), "workflow", ("/workflows/", "/chat/")),
    ("workflows:runs", _("Runs"), "run", ("/runs/",)),
    ("workflows:tasks", _("Tasks"), "check", ("/tasks/",)),
    ("memory:list", _("Memory"), "memory", ("/memory/",)),
    ("workflows:providers", _("Models"), "model", ("/models/",)),
    ("accounts:team", _("Team"), "team", ("/team/", "/teams/")),
)


def navigation(request: HttpRequest) -> dict[str, Any]:
    """A context processor; nothing for who isn't signed in."""
    if not getattr(request, "user", None) or not request.user.is_authenticated:
        return {}
    return {
        "navigation": [_item(request, *place) for place in PLACES if _is_open(request, place[0])]
    }


def _is_open(request: HttpRequest, name: str) -> bool:
    """Nobody is shown a door that is closed to them."""
    if name == "workflows:providers":
        principal = get_principal(request)
        return any(permissions.may_view_credentials(principal, t) for t in principal.team_ids)
    return not name.startswith("memory:") or apps.is_installed("memory")


def _item(
    request: HttpRequest, name: str, label: str | Promise, icon: str, paths: tuple[str, ...]
) -> Item:
    url = reverse(name)
    current = request.path == url or any(request.path.startswith(path) for path in paths)
    return Item(url=url, label=label, icon=icon, current=current)
