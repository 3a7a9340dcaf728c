"""The tabs at the top of the memory pages."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise, SimpleLazyObject
from django.utils.translation import gettext_lazy as _

from memory.services.review.review_queue import count_queue
from memory.templatetags.memory_emergency_access import NOTICE_SHOWN
from memory.views.request_context import build_caller


@dataclass(frozen=True, slots=True)
class Tab:
    """A tab; ``name`` is how a page selects it in ``memory/_tabs.html``: ``with tab="review"``."""

    name: str
    url: str
    label: str | Promise
    count: int | None = None


CountPending = Callable[[HttpRequest], int]

# name, URL name, label, and the function that counts the pending items
_TABS: tuple[tuple[str, str, str | Promise, CountPending | None], ...] = (
    ("list", "memory:list", _("Memories"), None),
    ("namespaces", "memory:namespaces", _("Namespaces"), None),
    ("review", "memory:review", _("Review"), lambda request: count_queue(build_caller(request))),
    ("learning", "memory:learning", _("Learning"), None),
    ("knowledge", "memory:knowledge", _("Knowledge"), None),
    ("about", "memory:about", _("About me"), None),
    ("settings", "memory:policy", _("Settings"), None),
)
# The pages of the tab Settings
_SETTINGS: tuple[tuple[str, str, str | Promise], ...] = (
    ("policy", "memory:policy", _("Quotas")),
    ("exchange", "memory:exchange", _("Import & export")),
    ("emergency_access", "memory:emergency_access", _("Emergency access")),
)


def add_tabs(request: HttpRequest) -> dict[str, Any]:
    """Add the tabs to the template context; they are lazy, so that pages without tabs count nothing."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {}
    return {
        "memory_tabs": SimpleLazyObject(lambda: list_tabs(request)),
        "memory_settings": SimpleLazyObject(list_settings),
        # The notice at the end of every page is loaded separately, so that no page waits for it.
        "watches_emergency_access": SimpleLazyObject(
            lambda: not getattr(request, NOTICE_SHOWN, False)
        ),
    }


def list_settings() -> list[Tab]:
    """Return the pages of the tab Settings."""
    return [Tab(name, reverse(url_name), label) for name, url_name, label in _SETTINGS]


def list_tabs(request: HttpRequest, **counts: int) -> list[Tab]:
    """Return the tabs; ``counts`` are the numbers of pending items that the page already knows, by the tab's name."""
    tabs = []
    for name, url_name, label, count_pending in _TABS:
        count = counts.get(name)
        if count_pending and count is None:
            count = count_pending(request)
        tabs.append(Tab(name, reverse(url_name), label, count))
    return tabs
