"""Decide on one or many items of the review, and revert decisions. These pages work without JavaScript."""

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
from memory.forms.review import ProposalEditForm
from memory.logic.review.proposal_execution import OutdatedProposal
from memory.logic.text_diff import get_editable_text
from memory.services.gateway.caller import MemoryCaller
from memory.services.review import review_decisions
from memory.services.review.review_decisions import DecisionResult
from memory.services.review.review_queue import get_queue_item, list_queue_items
from memory.services.review.review_sample import add_sample_items
from memory.views.request_context import build_caller, reason_of
from memory.views.review.queue import (
    DecisionNotice,
    DecisionPreview,
    QueueMessages,
    build_filter_query,
    parse_ids,
    show_item,
    show_review,
)


FAULT_STATUSES: Final[dict[type[MemoryFault], int]] = {
    NotFound: 404,
    AccessDenied: 403,
    QuotaExceeded: 409,
    InvalidInput: 422,
}


P = ParamSpec("P")


def show_faults_in_queue(
    view: Callable[Concatenate[HttpRequest, P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """Show a fault above the queue, because a bare error response would be swapped into its place."""

    @wraps(view)
    def wrapper(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except tuple(FAULT_STATUSES) as fault:
            status = next(code for kind, code in FAULT_STATUSES.items() if isinstance(fault, kind))
            return show_review(request, QueueMessages(problem=str(fault), status=status))

    return wrapper


@login_required
@require_POST
@show_faults_in_queue
def accept(request: HttpRequest, item_id: UUID) -> HttpResponse:
    """Accept the item as it is, or with the text that was sent."""
    caller = build_caller(request)
    if "value" not in request.POST:
        return _decide(
            request,
            "accepted",
            item_id,
            lambda: review_decisions.accept(caller, item_id=item_id, reason=reason_of(request)),
        )
    return _decide_with_text(
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
@show_faults_in_queue
def merge(request: HttpRequest, item_id: UUID) -> HttpResponse:
    caller, into = build_caller(request), request.POST.get("into", "")
    return _decide_with_text(
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
@show_faults_in_queue
def reject(request: HttpRequest, item_id: UUID) -> HttpResponse:
    always = "always" in request.POST
    return _decide(
        request,
        "always" if always else "rejected",
        item_id,
        lambda: review_decisions.reject(
            build_caller(request), item_id=item_id, always=always, reason=reason_of(request)
        ),
    )


@login_required
@require_POST
@show_faults_in_queue
def decide_many(request: HttpRequest) -> HttpResponse:
    """Show a preview first; decide once it is confirmed."""
    caller, ids = build_caller(request), parse_ids(request.POST.getlist("item"))
    action = request.POST.get("act", "")
    if not ids or action not in BULK_DECISIONS:
        return show_review(request, QueueMessages(problem=_("Nothing selected.")))
    items = list_queue_items(caller, item_ids=ids)
    if not items:
        raise NotFound(_("Someone else has already decided this."))
    if "sure" not in request.POST:
        return show_review(request, QueueMessages(preview=DecisionPreview.build(action, items)))
    try:
        result = BULK_DECISIONS[action](caller, ids, reason_of(request))
    except (OutdatedProposal, AlreadyExists, InvalidInput) as fault:
        return show_review(request, QueueMessages(problem=_describe_fault(fault), status=409))
    outcome = {"accept": "accepted", "reject": "rejected", "always": "always"}[action]
    return _show_notice(request, DecisionNotice(outcome, result.decided, len(result.skipped)))


@login_required
@require_POST
@show_faults_in_queue
def revert(request: HttpRequest) -> HttpResponse:
    """Revert decisions, from the notice of the queue or from the page of the rejection rules."""
    caller, ids = build_caller(request), parse_ids(request.POST.getlist("item"))
    to_rules = request.POST.get("then") == "rules"
    try:
        result = review_decisions.revert_decisions(caller, item_ids=ids)
    except (OutdatedProposal, AlreadyExists, InvalidInput) as fault:
        problem = _describe_fault(fault)
        if to_rules:
            messages.error(request, problem)
            return redirect("memory:review_rules")
        return show_review(request, QueueMessages(problem=problem, status=409))
    if to_rules:
        messages.success(request, _("Undone. The item is back in the queue."))
        return redirect("memory:review_rules")
    return _show_notice(request, DecisionNotice("back", result.decided, len(result.skipped)))


@login_required
@require_POST
def add_sample(request: HttpRequest) -> HttpResponse:
    add_sample_items(build_caller(request))
    return _show_notice(request, DecisionNotice("sample"))


BulkDecision = Callable[[MemoryCaller, list[UUID], str], DecisionResult]

BULK_DECISIONS: dict[str, BulkDecision] = {
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


def _decide_with_text(
    request: HttpRequest,
    item_id: UUID,
    panel: str,
    action: str,
    decide: Callable[[object, str], None],
) -> HttpResponse:
    """Decide with the text that was sent, or show its form again until it is valid."""
    item = get_queue_item(build_caller(request), item_id=item_id)
    if not item.can_decide:
        raise AccessDenied(_("You can view this item but not decide on it."))
    if not item.has_new:
        raise InvalidInput(_("This proposal has no text to edit."))
    form = ProposalEditForm(
        item, panel=panel, as_json=get_editable_text(item.new) is None, data=request.POST
    )
    if not form.is_valid():
        return show_item(request, item, form=form, panel=panel)
    fields = form.cleaned_data
    return _decide(request, action, item_id, lambda: decide(fields["value"], fields["reason"]))


def _decide(
    request: HttpRequest, action: str, item_id: UUID, decide: Callable[[], None]
) -> HttpResponse:
    try:
        decide()
    except (OutdatedProposal, AlreadyExists, InvalidInput) as fault:
        return show_review(request, QueueMessages(problem=_describe_fault(fault), status=409))
    return _show_notice(request, DecisionNotice(action, (item_id,)))


def _describe_fault(fault: Exception) -> str:
    if isinstance(fault, OutdatedProposal):
        return _("The memory has changed since. Check it again before you decide.")
    return _("This isn't possible. Someone else may have decided already.")


def _show_notice(request: HttpRequest, notice: DecisionNotice) -> HttpResponse:
    if getattr(request, "htmx", False):
        return show_review(request, QueueMessages(notice=notice))
    query = build_filter_query(request).dict() | {
        "act": notice.action,
        "of": ",".join(map(str, notice.ids)),
    }
    if notice.skipped:
        query["left"] = str(notice.skipped)
    return HttpResponseRedirect(f"{reverse('memory:review')}?{urlencode(query)}")
