"""The parts of memory, side by side on top of each of its pages; what isn't installed isn't shown."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.functional import Promise, SimpleLazyObject
from django.utils.translation import gettext_lazy as _

from memory.services.review.review_queue import count_queue
from memory.templatetags.memory_emergency_access import NOTICE_SHOWN
from memory.views.request_context import caller_of


@dataclass(frozen=True, slots=True)
class Tab:
    """``name`` is what a page says to ``memory/_tabs.html``: ``with tab="review"``."""

    name: str
    url: str
    label: str | Promise
    count: int | None = None


Counts = Callable[[HttpRequest], int]

# name, url name, label, how many of what is there ask for somebody
PARTS: tuple[tuple[str, str, str | Promise, Counts | None], ...] = (
    ("list", "memory:list", _("Namespaces"), None),
    ("review", "memory:review", _("Review"), lambda request: count_queue(caller_of(request))),
    ("knowledge", "memory:knowledge", _("Knowledge"), None),
    ("about", "memory:about", _("About me"), None),
    ("exchange", "memory:exchange", _("Import & export"), None),
    ("emergency_access", "memory:emergency_access", _("Emergency access"), None),
    ("policy", "memory:policy", _("Quotas"), None),
)


def tabs(request: HttpRequest) -> dict[str, Any]:
    """A context processor. Lazy: a page that shows no tabs counts nothing."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {}
    return {
        "memory_tabs": SimpleLazyObject(lambda: tabs_of(request)),
        # At the end of every page: the notice is fetched beside it, so that no page waits for it.
        "watches_emergency_access": SimpleLazyObject(
            lambda: not getattr(request, NOTICE_SHOWN, False)
        ),
    }


def tabs_of(request: HttpRequest, **counted: int) -> list[Tab]:
    """``counted`` is what a page knows already, by the tab's name."""
    found = []
    for name, url_name, label, count in PARTS:
        try:
            url = reverse(url_name)
        except NoReverseMatch:
            continue
        known = counted.get(name)
        found.append(Tab(name, url, label, count(request) if count and known is None else known))
    return found
