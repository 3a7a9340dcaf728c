"""What a person decides in the review, one or many, and the way back from it. All of it works as plain forms."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, Final, ParamSpec
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from memory.core.errors import (
    AccessDenied,
    AlreadyExists,
    InvalidInput,
    MemoryFault,
    NotFound,
    QuotaExceeded,
)
from memory.forms.review import ChangedForm
from memory.logic.review.proposal_execution import Outdated
from memory.logic.text_diff import get_editable_text
from memory.services.gateway.caller import MemoryCaller
from memory.services.review import review_decisions
from memory.services.review.review_decisions import DecisionResult
from memory.services.review.review_queue import get_queue_item, list_queue_items
from memory.services.review.review_sample import add_sample_items
from memory.views.request_context import caller_of, reason_of
from memory.views.review.queue import Extra, Said, Tried, ids_in, kept_query, show_item, show_review


REFUSED: Final[dict[type[MemoryFault], int]] = {
    NotFound: 404,
    AccessDenied: 403,
    QuotaExceeded: 409,
    InvalidInput: 422,
}


P = ParamSpec("P")


def told_in_the_queue(
    act: Callable[Concatenate[HttpRequest, P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """A refusal stands above what waits: alone, it would be swapped into the queue's place."""

    @wraps(act)
    def told(request: HttpRequest, /, *args: P.args, **named: P.kwargs) -> HttpResponse:
        try:
            return act(request, *args, **named)
        except tuple(REFUSED) as fault:
            status = next(code for kind, code in REFUSED.items() if isinstance(fault, kind))
            return show_review(request, Extra(problem=str(fault), status=status))

    return told


@login_required
@require_POST
@told_in_the_queue
def accept(request: HttpRequest, item_id: UUID) -> HttpResponse:
    """As it stands, or as whoever accepts it has written it."""
    caller = caller_of(request)
    if "value" not in request.POST:
        return _decided(
            request,
            "accepted",
            item_id,
            lambda: review_decisions.accept(caller, item_id=item_id, reason=reason_of(request)),
        )
    return _with_words(
        request,
        item_id,
        "edit",
        "accepted",
        lambda value, reason: review_decisions.accept(
            caller, item_id=item_id, value=value, reason=reason
        ),
    )


@login_required
@require_POST
@told_in_the_queue
def merge(request: HttpRequest, item_id: UUID) -> HttpResponse:
    caller, into = caller_of(request), request.POST.get("into", "")
    return _with_words(
        request,
        item_id,
        "merge",
        "merged",
        lambda value, reason: review_decisions.merge(
            caller, item_id=item_id, into=into, value=value, reason=reason
        ),
    )


@login_required
@require_POST
@told_in_the_queue
def reject(request: HttpRequest, item_id: UUID) -> HttpResponse:
    always = "always" in request.POST
    return _decided(
        request,
        "always" if always else "rejected",
        item_id,
        lambda: review_decisions.reject(
            caller_of(request), item_id=item_id, always=always, reason=reason_of(request)
        ),
    )


@login_required
@require_POST
@told_in_the_queue
def decide_many(request: HttpRequest) -> HttpResponse:
    """First what it would do, then, when somebody is sure, the doing."""
    caller, ids = caller_of(request), ids_in(request.POST.getlist("item"))
    act = request.POST.get("act", "")
    if not ids or act not in MANY:
        return show_review(request, Extra(problem=_("Nothing selected.")))
    found = list_queue_items(caller, item_ids=ids)
    if not found:
        raise NotFound(_("Someone else has already decided this."))
    if "sure" not in request.POST:
        return show_review(request, Extra(tried=Tried.of(act, found)))
    try:
        done = MANY[act](caller, ids, reason_of(request))
    except (Outdated, AlreadyExists, InvalidInput) as fault:
        return show_review(request, Extra(problem=_words_of(fault), status=409))
    said = {"accept": "accepted", "reject": "rejected", "always": "always"}[act]
    return _after(request, Said(said, done.decided, len(done.skipped)))


@login_required
@require_POST
@told_in_the_queue
def take_back(request: HttpRequest) -> HttpResponse:
    """Of the toast, and of the rules' page."""
    caller, ids = caller_of(request), ids_in(request.POST.getlist("item"))
    to_rules = request.POST.get("then") == "rules"
    try:
        done = review_decisions.revert_decisions(caller, item_ids=ids)
    except (Outdated, AlreadyExists, InvalidInput) as fault:
        words = _words_of(fault)
        if to_rules:
            messages.error(request, words)
            return redirect("memory:review_rules")
        return show_review(request, Extra(problem=words, status=409))
    if to_rules:
        messages.success(request, _("Undone. The item is back in the queue."))
        return redirect("memory:review_rules")
    return _after(request, Said("back", done.decided, len(done.skipped)))


@login_required
@require_POST
def sample(request: HttpRequest) -> HttpResponse:
    add_sample_items(caller_of(request))
    return _after(request, Said("sample"))


Many = Callable[[MemoryCaller, list[UUID], str], DecisionResult]

MANY: dict[str, Many] = {
    "accept": lambda caller, ids, reason: review_decisions.accept_many(
        caller, item_ids=ids, reason=reason
    ),
    "reject": lambda caller, ids, reason: review_decisions.reject_many(
        caller, item_ids=ids, reason=reason
    ),
    "always": lambda caller, ids, reason: review_decisions.reject_many(
        caller, item_ids=ids, always=True, reason=reason
    ),
}


def _with_words(
    request: HttpRequest,
    item_id: UUID,
    panel: str,
    act: str,
    do: Callable[[object, str], None],
) -> HttpResponse:
    """What was typed stays where it was typed until it is right."""
    found = get_queue_item(caller_of(request), item_id=item_id)
    if not found.can_decide:
        raise AccessDenied(_("You can view this item but not decide on it."))
    if not found.has_new:
        raise InvalidInput(_("This proposal has no text to edit."))
    form = ChangedForm(
        found, panel=panel, as_json=get_editable_text(found.new) is None, data=request.POST
    )
    if not form.is_valid():
        return show_item(request, found, form=form, panel=panel)
    said = form.cleaned_data
    return _decided(request, act, item_id, lambda: do(said["value"], said["reason"]))


def _decided(request: HttpRequest, act: str, item_id: UUID, do: Callable[[], None]) -> HttpResponse:
    try:
        do()
    except (Outdated, AlreadyExists, InvalidInput) as fault:
        return show_review(request, Extra(problem=_words_of(fault), status=409))
    return _after(request, Said(act, (item_id,)))


def _words_of(fault: Exception) -> str:
    if isinstance(fault, Outdated):
        return _("The memory has changed since. Check it again before you decide.")
    return _("This isn't possible. Someone else may have decided already.")


def _after(request: HttpRequest, said: Said) -> HttpResponse:
    if getattr(request, "htmx", False):
        return show_review(request, Extra(said=said))
    query = kept_query(request).dict() | {"act": said.act, "of": ",".join(map(str, said.ids))}
    if said.left:
        query["left"] = str(said.left)
    return HttpResponseRedirect(f"{reverse('memory:review')}?{urlencode(query)}")
