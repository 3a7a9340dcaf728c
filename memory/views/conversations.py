"""What a conversation keeps for its models: the messages, the summary of the rest, and what was folded of it."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from accounts.principals import get_current_team_id, get_principal
from accounts.views.pagination import OffsetPage, read_offset
from memory import selectors, services
from memory.logic.conversations.folding import FoldReason
from memory.logic.conversations.messages import Group
from memory.logic.conversations.messages import group_messages as groups_of
from memory.services.conversations.conversation import FoldView
from memory.views.request_context import caller_of, title_of


@login_required
@require_safe
def page(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    """A call and its results stand together, as they are kept and folded together."""
    row = selectors.find_namespace(
        get_principal(request), get_current_team_id(request), namespace_id
    )
    view = services.look_back(caller_of(request), namespace=row.text)
    groups, pages = _last(groups_of(view.messages), request)
    context = {
        "namespace": row,
        "title": title_of(request, row),
        "groups": groups,
        "page": pages,
        "count": len(view.messages),
        "summary": view.summary,
        "tokens": view.tokens,
        "folds": [(one, REASONS[one.fold.reason], _by(one)) for one in view.folds],
        "base_url": request.build_absolute_uri("/").rstrip("/"),
    }
    return render(request, "memory/conversations/conversation.html", context)


def _last(every: Sequence[Group], request: HttpRequest) -> tuple[Sequence[Group], OffsetPage]:
    """The end of it, which a model sees first; each page from the oldest to the newest."""
    page = OffsetPage(len(every), read_offset(request.GET), request.GET, GROUPS)
    return page.select_rows(every[::-1])[::-1], page


GROUPS: Final = 100  # a page

REASONS: Final[Mapping[FoldReason, Promise]] = {
    FoldReason.WINDOW: _("Older than the kept turns"),
    FoldReason.CAPACITY: _("More messages than the limit"),
    FoldReason.TOKENS: _("Larger than the model's context window"),
    FoldReason.ORPHAN: _("Result of a call that was removed"),
}


def _by(view: FoldView) -> str:
    """Who summed it up; nothing where it was only cut."""
    return str(_SUMMARISERS.get(view.fold.by, view.fold.by))


# Those without a model; others go by the model's name.
_SUMMARISERS: Final[Mapping[str, str | Promise]] = {
    "cut": "",
    "extractive": _("rules, without a model"),
}
