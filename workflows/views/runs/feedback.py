"""The thumbs and the comment below an answer: on the pages of runs and of chats, and in the editor."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from workflows import memory_app, permissions
from workflows.models.documents import from_json
from workflows.models.run import Run, RunStatus
from workflows.services.chat.suggestions import offers_follow_ups
from workflows.services.chat.wishes_to_forget import find_wishes
from workflows.services.files.linked import load_linked_files
from workflows.services.runs.citations import load_citations
from workflows.services.runs.feedback import (
    give_feedback,
    load_own_feedback,
    take_feedback_back,
)
from workflows.views.chat.addresses import MemberChatUrls
from workflows.views.chat.empty_answers import load_empty_answers
from workflows.views.chat.failure_texts import find_remedy
from workflows.views.request_context import find_run, is_htmx, read_text
from workflows.views.runs.answering_models import NO_ANSWERS, load_run_answers, split_reasoning
from workflows.views.runs.memory.context import find_pauses, list_memory_events


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


@login_required
@require_safe
def show_answer_note(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Show which models answered, and the thumbs, below the answer of a run that has just ended in the editor.

    The answer itself is shown again, now that its Markdown is complete, with its sources and its reasoning.
    """
    principal, run = find_run(request, run_id)
    answer, reasoning = _read_answer(run)
    answers = load_run_answers(principal, [run]).get(run.pk, NO_ANSWERS)
    context = {
        "run_id": run.pk,
        "is_live": not run.has_ended,
        "answers": answers,
        "feedback": load_own_feedback(principal, [run]).get(run.pk),
        "remedy": find_remedy(run, can_edit=permissions.may_edit(principal, run.workflow)),
        "answer": answer,
        "reasoning": reasoning or answers.reasoning,
        "linked_files": load_linked_files(principal, [answer])[0],
        "citations": load_citations(principal, [run]).get(run.pk, ()),
        "wishes": find_wishes(principal, run),
        "pauses": find_pauses(list_memory_events(principal, run)) if memory_app.is_on() else None,
        "empty_answers": load_empty_answers(principal, [run]).get(run.pk, ()),
        "urls": MemberChatUrls(run.workflow_id).get_turn(run.pk),
        "offers_follow_ups": offers_follow_ups(from_json(run.snapshot.document).features),
    }
    return render(request, "chat/_ended_answer.html", context)


def _read_answer(run: Run) -> tuple[str, str]:
    """Return the text that a run answered, and the reasoning in it; nothing while it runs or if it ended early."""
    has_succeeded = run.status in (RunStatus.SUCCEEDED, RunStatus.PARTIAL)
    answer = (run.outputs or {}).get("answer") if has_succeeded else None
    return split_reasoning(answer) if isinstance(answer, str) else ("", "")
