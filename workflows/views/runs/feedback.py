"""The thumbs and the comment below an answer: on the pages of runs and of chats, and in the editor."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from workflows.services.runs.feedback import (
    give_feedback,
    load_own_feedback,
    take_feedback_back,
)
from workflows.views.request_context import find_run, is_htmx, read_text


@login_required
@require_POST
def give(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Store, change or delete the caller's feedback, and return the thumbs. The same thumb again takes it back."""
    principal, run = find_run(request, run_id)
    rating = {"up": 1, "down": -1}.get(read_text(request.POST, "rating"), 0)
    earlier = load_own_feedback(principal, [run]).get(run.pk)
    text = read_text(request.POST, "text") if "text" in request.POST else None
    if text is None and earlier is not None and earlier.rating == rating:
        take_feedback_back(principal, run)
        feedback = None
    else:
        feedback = give_feedback(principal, run, rating=rating, text=text)
    if not is_htmx(request):
        return redirect("workflows:run", run.pk)
    context = {"run_id": run.pk, "feedback": feedback, "is_open": text is None}
    return render(request, "runs/feedback/_feedback.html", context)
