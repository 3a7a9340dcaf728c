"""The actions that decide on items of the review and revert decisions. They work without JavaScript."""

from collections.abc import Callable
from functools import partial, wraps
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
from memory.logic.review.proposals import Choice
from memory.logic.text_diff import get_editable_text
from memory.services.review import proposals, review_decisions
from memory.services.review.review_decisions import DecisionResult
from memory.services.review.review_queue import get_queue_item, list_queue_items
from memory.services.review.review_sample import add_sample_items, remove_sample_items
from memory.views.request_context import build_caller, read_reason
from memory.views.review.queue import (
    DecisionNotice,
    DecisionPreview,
    QueueMessages,
    build_filter_query,
    parse_ids,
    show_item,
    show_review,
)


# The outcome of each decision on many items, and the function that decides.
BULK_DECISIONS: Final[dict[str, tuple[str, Callable[..., DecisionResult]]]] = {
    "accept": ("accepted", review_decisions.accept_many),
    "reject": ("rejected", review_decisions.reject_many),
    "always": ("always", partial(review_decisions.reject_many, always=True)),
}
# The faults when someone else has decided, or changed the memory, while the page was shown.
CONFLICTS: Final = (OutdatedProposal, AlreadyExists, InvalidInput)
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
    """Show the view's faults above the queue, because HTMX would replace the queue by a bare error response."""

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
    decide = partial(review_decisions.accept, build_caller(request), item_id=item_id)
    if "value" in request.POST:
        return _decide_with_text(request, item_id, "edit", "accepted", decide)
    return _decide(request, "accepted", item_id, partial(decide, reason=read_reason(request)))


@login_required
@require_POST
@show_faults_in_queue
def choose(request: HttpRequest, item_id: UUID) -> HttpResponse:
    """Decide which of two memories that contradict each other holds, or keep both."""
    try:
        choice = Choice(request.POST.get("choice", ""))
    except ValueError:
        raise InvalidInput(_("choice: choose one of the three.")) from None
    decide = partial(
        proposals.decide_contradiction,
        build_caller(request),
        proposal_id=item_id,
        choice=choice,
        reason=read_reason(request),
    )
    return _decide(request, choice.value, item_id, decide)


@login_required
@require_POST
@show_faults_in_queue
def merge(request: HttpRequest, item_id: UUID) -> HttpResponse:
    caller, into = build_caller(request), request.POST.get("into", "")
    decide = partial(review_decisions.merge, caller, item_id=item_id, into=into)
    return _decide_with_text(request, item_id, "merge", "merged", decide)


@login_required
@require_POST
@show_faults_in_queue
def reject(request: HttpRequest, item_id: UUID) -> HttpResponse:
    always = "always" in request.POST
    decide = partial(
        review_decisions.reject,
        build_caller(request),
        item_id=item_id,
        always=always,
        reason=read_reason(request),
    )
    return _decide(request, "always" if always else "rejected", item_id, decide)


@login_required
@require_POST
@show_faults_in_queue
def decide_many(request: HttpRequest) -> HttpResponse:
    """Show a preview of the decisions on the selected items, and decide once it is confirmed."""
    caller, ids = build_caller(request), parse_ids(request.POST.getlist("item"))
    action = request.POST.get("act", "")
    if not ids or action not in BULK_DECISIONS:
        return show_review(request, QueueMessages(problem=_("Nothing selected.")))
    items = list_queue_items(caller, item_ids=ids)
    if not items:
        raise NotFound(_("Someone else has already decided this."))
    if "sure" not in request.POST:
        return show_review(request, QueueMessages(preview=DecisionPreview.build(action, items)))
    outcome, decide = BULK_DECISIONS[action]
    try:
        result = decide(caller, item_ids=ids, reason=read_reason(request))
    except CONFLICTS as fault:
        return _show_conflict(request, fault)
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
    except CONFLICTS as fault:
        if to_rules:
            messages.error(request, _describe_fault(fault))
            return redirect("memory:review_rules")
        return _show_conflict(request, fault)
    if to_rules:
        messages.success(request, _("Undone. The item is back in the queue."))
        return redirect("memory:review_rules")
    return _show_notice(request, DecisionNotice("back", result.decided, len(result.skipped)))


@login_required
@require_POST
def add_sample(request: HttpRequest) -> HttpResponse:
    add_sample_items(build_caller(request))
    return _show_notice(request, DecisionNotice("sample"))


@login_required
@require_POST
def remove_sample(request: HttpRequest) -> HttpResponse:
    change_id = remove_sample_items(build_caller(request)).change_id
    query = {"undo": str(change_id)} if change_id else {}
    return HttpResponseRedirect(f"{reverse('memory:review')}?{urlencode(query)}")


def _decide_with_text(
    request: HttpRequest, item_id: UUID, panel: str, action: str, decide: Callable[..., None]
) -> HttpResponse:
    """Decide with the text that was sent, or show its form again until it is valid."""
    item = get_queue_item(build_caller(request), item_id=item_id)
    if not item.can_decide:
        raise AccessDenied(_("You can view this item but not decide on it."))
    if not item.has_new:
        raise InvalidInput(_("This proposal has no text to edit."))
    as_json = get_editable_text(item.new) is None
    form = ProposalEditForm(item, panel=panel, as_json=as_json, data=request.POST)
    if not form.is_valid():
        return show_item(request, item, form=form, panel=panel)
    return _decide(request, action, item_id, partial(decide, **form.cleaned_data))


def _decide(
    request: HttpRequest, action: str, item_id: UUID, decide: Callable[[], object]
) -> HttpResponse:
    try:
        decide()
    except CONFLICTS as fault:
        return _show_conflict(request, fault)
    return _show_notice(request, DecisionNotice(action, (item_id,)))


def _show_conflict(request: HttpRequest, fault: Exception) -> HttpResponse:
    return show_review(request, QueueMessages(problem=_describe_fault(fault), status=409))


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
