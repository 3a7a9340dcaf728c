"""The memory of a conversation: its messages, the summary of older ones, and how they were folded."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from accounts.views.pagination import OffsetPage, read_offset
from memory import services
from memory.logic.conversations.folding import FoldReason
from memory.logic.conversations.messages import group_messages
from memory.services.conversations.conversation import FoldView
from memory.views.request_context import build_caller, find_namespace, get_title


GROUPS_PER_PAGE: Final = 100

REASON_LABELS: Final[Mapping[FoldReason, Promise]] = {
    FoldReason.WINDOW: _("Older than the kept turns"),
    FoldReason.CAPACITY: _("More messages than the limit"),
    FoldReason.TOKENS: _("Larger than the model's context window"),
    FoldReason.ORPHAN: _("Result of a call that was removed"),
}

# The summarizers without a model; the others are shown with the name of their model.
SUMMARIZER_LABELS: Final[Mapping[str, str | Promise]] = {
    "cut": "",
    "extractive": _("rules, without a model"),
}


@login_required
@require_safe
def page(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    """Show a conversation; a call and its results are one group, since they are folded together."""
    row = find_namespace(request, namespace_id)
    history = services.load_history(build_caller(request), namespace=row.text)
    groups = group_messages(history.messages)
    pager = OffsetPage(len(groups), read_offset(request.GET), request.GET, GROUPS_PER_PAGE)
    context = {
        "namespace": row,
        "title": get_title(request, row),
        # The first page has the newest messages, which a model sees; on each page the oldest come first.
        "groups": pager.select_rows(groups[::-1])[::-1],
        "page": pager,
        "count": len(history.messages),
        "summary": history.summary,
        "tokens": history.tokens,
        "folds": [
            (fold_view, REASON_LABELS[fold_view.fold.reason], _get_summarizer(fold_view))
            for fold_view in history.folds
        ],
    }
    return render(request, "memory/conversations/conversation.html", context)


def _get_summarizer(fold_view: FoldView) -> str:
    """Return the name of the summarizer, or an empty string if messages were only cut."""
    return str(SUMMARIZER_LABELS.get(fold_view.fold.author, fold_view.fold.author))
