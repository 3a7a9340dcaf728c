"""What a conversation keeps for its models: the messages, the summary of the rest, and what was folded of it."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from accounts.principals import current_team_id, principal_of
from memory import selectors, services
from memory.logic.folding import Reason
from memory.logic.messages import groups
from memory.services.conversation import FoldView
from memory.views.asking import caller_of, title_of


@login_required
@require_safe
def page(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    """A call and its results stand together, as they are kept and folded together."""
    row = selectors.namespace_for(principal_of(request), current_team_id(request), namespace_id)
    view = services.look_back(caller_of(request), namespace=row.text)
    context = {
        "namespace": row,
        "title": title_of(request, row),
        "groups": groups(view.messages),
        "count": len(view.messages),
        "summary": view.summary,
        "tokens": view.tokens,
        "folds": [(one, REASONS[one.fold.reason], _by(one)) for one in view.folds],
        "base_url": request.build_absolute_uri("/").rstrip("/"),
    }
    return render(request, "memory/conversation.html", context)


REASONS: Final[Mapping[Reason, Promise]] = {
    Reason.WINDOW: _("older than the turns that are kept"),
    Reason.CAPACITY: _("more messages than are kept"),
    Reason.TOKENS: _("more than the model's context holds"),
    Reason.ORPHAN: _("the result of a call that is no longer there"),
}


def _by(view: FoldView) -> str:
    """Who summed it up; nothing where it was only cut."""
    return "" if view.fold.by == "cut" else view.fold.by
