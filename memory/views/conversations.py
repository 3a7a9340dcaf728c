"""The memory of a conversation: its messages, the summary of older ones, and how they were folded."""

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
from memory.views.request_context import build_caller, title_of


@login_required
@require_safe
def page(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    """Show a conversation; a call and its results are one group, since they are folded together."""
    row = selectors.find_namespace(
        get_principal(request), get_current_team_id(request), namespace_id
    )
    view = services.load_history(build_caller(request), namespace=row.text)
    groups, offset_page = _paginate_groups(groups_of(view.messages), request)
    context = {
        "namespace": row,
        "title": title_of(request, row),
        "groups": groups,
        "page": offset_page,
        "count": len(view.messages),
        "summary": view.summary,
        "tokens": view.tokens,
        "folds": [
            (fold_view, REASONS[fold_view.fold.reason], _get_summarizer(fold_view))
            for fold_view in view.folds
        ],
        "base_url": request.build_absolute_uri("/").rstrip("/"),
    }
    return render(request, "memory/conversations/conversation.html", context)


def _paginate_groups(
    groups: Sequence[Group], request: HttpRequest
) -> tuple[Sequence[Group], OffsetPage]:
    """Return the newest page first, which a model sees; each page is from the oldest to the newest."""
    page = OffsetPage(len(groups), read_offset(request.GET), request.GET, GROUPS_PER_PAGE)
    return page.select_rows(groups[::-1])[::-1], page


GROUPS_PER_PAGE: Final = 100

REASONS: Final[Mapping[FoldReason, Promise]] = {
    FoldReason.WINDOW: _("Older than the kept turns"),
    FoldReason.CAPACITY: _("More messages than the limit"),
    FoldReason.TOKENS: _("Larger than the model's context window"),
    FoldReason.ORPHAN: _("Result of a call that was removed"),
}


def _get_summarizer(view: FoldView) -> str:
    """Return the name of the summarizer, or an empty string if messages were only cut."""
    return str(_SUMMARIZERS.get(view.fold.by, view.fold.by))


# Summarizers without a model; others have the model's name.
_SUMMARIZERS: Final[Mapping[str, str | Promise]] = {
    "cut": "",
    "extractive": _("rules, without a model"),
}
