"""The links at the side of every page."""

from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise, SimpleLazyObject
from django.utils.translation import gettext_lazy as _

from accounts.principals import get_principal
from workflows import permissions


@dataclass(frozen=True, slots=True)
class NavigationItem:
    url: str
    label: str | Promise
    icon: str
    current: bool
    count_url: str = ""  # of the number beside the label
    starts_group: bool = False


# These begin a group of links: what one builds with, what happened, and who is there.
GROUP_STARTS = frozenset({"workflows:list", "workflows:runs", "accounts:team"})

# URL name, label, icon, path prefixes of the section
PAGES: tuple[tuple[str, str | Promise, str, tuple[str, ...]], ...] = (
    ("home", _("Home"), "home", ()),
    ("workflows:waiting", _("Inbox"), "inbox", ("/waiting/",)),
    ("workflows:list", _("Workflows"), "workflow", ("/workflows/", "/chat/")),
    ("workflows:samples", _("Samples"), "samples", ("/samples/",)),
    ("memory:list", _("Memory"), "memory", ("/memory/",)),
    ("workflows:tools", _("Tools"), "tool", ("/tools/",)),
    ("workflows:providers", _("Models"), "model", ("/models/",)),
    ("workflows:runs", _("Runs"), "run", ("/runs/",)),
    ("workflows:tasks", _("Tasks"), "check", ("/tasks/",)),
    ("workflows:data_sets", _("Datasets"), "data-set", ("/data-sets/", "/evaluations/")),
    ("workflows:usage", _("Usage"), "usage", ("/usage/",)),
    ("accounts:team", _("Team"), "team", ("/team/", "/teams/")),
)


def navigation(request: HttpRequest) -> dict[str, Any]:
    """Add the navigation to the context; it is empty for people who are not signed in."""
    if not getattr(request, "user", None) or not request.user.is_authenticated:
        return {}
    # Lazy, because fragments don't have it.
    return {"navigation": SimpleLazyObject(lambda: _list_items(request))}


def _list_items(request: HttpRequest) -> list[NavigationItem]:
    return [_build_item(request, *page) for page in PAGES if _is_visible(request, page[0])]


def _is_visible(request: HttpRequest, url_name: str) -> bool:
    """Return whether the page is installed and the caller may open it."""
    if url_name in {"workflows:providers", "workflows:tools"}:
        principal = get_principal(request)
        return any(permissions.may_view_credentials(principal, id_) for id_ in principal.team_ids)
    return not url_name.startswith("memory:") or apps.is_installed("memory")


def _build_item(
    request: HttpRequest, url_name: str, label: str | Promise, icon: str, prefixes: tuple[str, ...]
) -> NavigationItem:
    url = reverse(url_name)
    current = request.path == url or request.path.startswith(prefixes)
    count_url = reverse("workflows:waiting_count") if url_name == "workflows:waiting" else ""
    return NavigationItem(url, label, icon, current, count_url, url_name in GROUP_STARTS)
