"""What happens to a run of a visitor: its events, its questions, its end, and the visitor's feedback."""

from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.errors import NotFound
from accounts.tenancy import tenant
from workflows import permissions, selectors, sse
from workflows.engine.errors import InputRejected
from workflows.engine.language.document import Json
from workflows.errors import WaitClosed
from workflows.execution.events.stream_events import StreamEvent
from workflows.models import Run, RunWait
from workflows.services.chat.suggestions import offers_follow_ups
from workflows.services.public_pages import limits
from workflows.services.public_pages.visitors import find_open_page, read_stream
from workflows.services.runs import waits
from workflows.services.runs.feedback import give_feedback, load_own_feedback, take_feedback_back
from workflows.services.runs.runs import cancel_run
from workflows.views.chat.failure_texts import list_failure_texts
from workflows.views.chat.follow_ups import render_follow_ups
from workflows.views.chat.turns import build_turns
from workflows.views.chat.wishes import apply_choice, apply_undo, render_wishes
from workflows.views.public_pages.addresses import PublicChatUrls, build_base_context
from workflows.views.public_pages.results import build_result
from workflows.views.public_pages.visits import Visit, build_visit, get_network, open_visit
from workflows.views.request_context import is_htmx, read_text
from workflows.views.waits.forms import Question, build_exchange, build_question, read_answer


# event → the parts of its data that visitors get. Of any other event they learn only that there was one.
SHOWN_EVENTS: Final[dict[str, tuple[str, ...]]] = {
    "run_started": (),
    "text_chunk": ("text", "offset"),
    "human_input_required": ("wait",),
    "run_paused": (),
    "run_resumed": (),
    "run_finished": ("status", "outputs"),
}
HIDDEN_EVENT: Final = "progress"
ANSWERED_EVENT: Final = "answered"  # an answer is complete; the run may still write memory


def show_turn(request: HttpRequest, visit: Visit, run_id: UUID) -> HttpResponse:
    """Show a turn of the visitor's chat in its current state."""
    run = _find_run(visit, run_id)
    if run.conversation is None:
        raise NotFound
    (turn,) = build_turns(visit.principal, visit.workflow, [run], PublicChatUrls(visit))
    context = {
        **build_base_context(visit),
        "turn": turn,
        "conversation": run.conversation,
        "is_last": True,
        "offers_follow_ups": offers_follow_ups(visit.document.features),
    }
    return render(request, "chat/_turn.html", context)


def show_follow_ups(request: HttpRequest, visit: Visit, run_id: UUID) -> HttpResponse:
    """Show what the visitor may ask after the answer of a run."""
    return render_follow_ups(request, visit.principal, _find_run(visit, run_id))


def forget_chosen(request: HttpRequest, visit: Visit, run_id: UUID) -> HttpResponse:
    """Forget what the visitor chose of the memories that they may have meant."""
    run = _find_run(visit, run_id)
    return _show_wishes(request, visit, run, apply_choice(request, visit.principal, run))


def remember_again(request: HttpRequest, visit: Visit, run_id: UUID) -> HttpResponse:
    """Restore what the visitor had asked to forget."""
    run = _find_run(visit, run_id)
    return _show_wishes(request, visit, run, apply_undo(request, visit.principal, run))


def show_result(request: HttpRequest, visit: Visit, run_id: UUID) -> HttpResponse:
    """Show the result of the form's run: while it runs, the place where it appears."""
    run, urls = _find_run(visit, run_id), PublicChatUrls(visit)
    context = {
        **build_base_context(visit),
        "run": run,
        "result": build_result(visit.principal, run),
        "events_url": urls.get_events(run.pk),
        "result_url": urls.get("result", run.pk),
        "stop_url": urls.get("stop", run.pk),
        "questions_url": urls.get("waits", run.pk),
        "feedback_url": urls.get("feedback", run.pk),
        "feedback": load_own_feedback(visit.principal, [run]).get(run.pk),
        "end_texts": list_failure_texts(can_edit=False),
    }
    name = "public_pages/_result.html" if is_htmx(request) else "public_pages/result.html"
    return render(request, name, context)


def stop(request: HttpRequest, visit: Visit, run_id: UUID) -> HttpResponse:
    cancel_run(visit.principal, _find_run(visit, run_id))
    if is_htmx(request):
        return HttpResponse(status=204)  # the stream reports the end
    return redirect(PublicChatUrls(visit).page)


@require_safe
def stream_events(request: HttpRequest, token: str, run_id: UUID) -> HttpResponseBase:
    """Stream the events of the visitor's run, without anything of the workflow's inside."""
    visit = _open_stream(request, token, run_id)
    limits.check_read(visit.page, get_network(request))
    if visit.is_locked:
        raise NotFound
    with tenant([visit.page.team_id]):
        run = _find_run(visit, run_id)
        response = sse.build_response(request, visit.principal, run, translate=select_shown)
    response["Referrer-Policy"] = "same-origin"
    return response


def select_shown(event: StreamEvent) -> StreamEvent:
    """Return the event with those parts of its data that visitors get. Its number stays, for Last-Event-ID."""
    names = SHOWN_EVENTS.get(event.name)
    if _is_end_of_answer(event):
        return StreamEvent(ANSWERED_EVENT, {}, event.seq)
    if names is None:
        return StreamEvent(HIDDEN_EVENT, {}, event.seq)
    data: Json = {name: event.data[name] for name in names if name in event.data}
    return replace(event, data=data)


def _is_end_of_answer(event: StreamEvent) -> bool:
    data = event.data
    return (event.name, data.get("kind"), data.get("status")) == (
        "node_state_change",
        "answer",
        "completed",
    )


def show_waits(request: HttpRequest, visit: Visit, run_id: UUID) -> HttpResponse:
    """Show the questions of a turn. Those about calls of tools or lost steps are the team's, and not shown."""
    run = _find_run(visit, run_id)
    rows = waits.list_waits(visit.principal, run)
    exchanges = [
        build_exchange(_build_question(visit, run, wait)) for wait in rows if wait.form is not None
    ]
    context = {
        "run": run,
        "exchanges": exchanges,
        "is_public": True,
        "questions_url": PublicChatUrls(visit).get("waits", run.pk),
    }
    return render(request, "waits/_in_chat.html", context)


def answer_wait(request: HttpRequest, visit: Visit, run_id: UUID, wait_id: UUID) -> HttpResponse:
    """Answer a question of the visitor's run; show its form again if the answer is rejected (status 422)."""
    run = _find_run(visit, run_id)
    wait = waits.find_wait(visit.principal, run, wait_id)
    if not build_exchange(_build_question(visit, run, wait)).is_for_visitor:
        raise NotFound
    rejected: InputRejected | None = None
    values, action = read_answer(wait, request.POST)
    try:
        wait = waits.answer_wait(
            visit.principal, run, wait_id=wait_id, values=values, action=action
        )
    except InputRejected as problem:
        rejected = problem
    except WaitClosed:
        wait = waits.find_wait(visit.principal, run, wait_id)
    if rejected is None and not is_htmx(request):
        return redirect(PublicChatUrls(visit).page)
    question = _build_question(
        visit, run, wait, submitted=request.POST if rejected else None, rejected=rejected
    )
    context = {"question": question, "run": run}
    return render(request, "waits/_question.html", context, status=422 if rejected else 200)


def give(request: HttpRequest, visit: Visit, run_id: UUID) -> HttpResponse:
    """Store, change or delete the visitor's feedback, and return the thumbs. The same thumb again takes it back."""
    run = _find_run(visit, run_id)
    rating = {"up": 1, "down": -1}.get(read_text(request.POST, "rating"), 0)
    if not rating:
        return HttpResponse(_("Choose a thumb up or a thumb down."), status=422)
    earlier = load_own_feedback(visit.principal, [run]).get(run.pk)
    text = read_text(request.POST, "text") if "text" in request.POST else None
    feedback = None
    if text is None and earlier is not None and earlier.rating == rating:
        take_feedback_back(visit.principal, run)
    else:
        feedback = give_feedback(visit.principal, run, rating=rating, text=text)
    if not is_htmx(request):
        return redirect(PublicChatUrls(visit).page)
    context = {
        "run_id": run.pk,
        "url": PublicChatUrls(visit).get("feedback", run.pk),
        "feedback": feedback,
        "is_open": text is None,
    }
    return render(request, "runs/feedback/_feedback.html", context)


def _show_wishes(request: HttpRequest, visit: Visit, run: Run, problem: str) -> HttpResponse:
    urls = PublicChatUrls(visit)
    if is_htmx(request):
        return render_wishes(request, visit.principal, run, urls, problem)
    key = run.conversation.key if run.conversation else ""
    return redirect(f"{urls.page}?conversation={key}")


def _open_stream(request: HttpRequest, token: str, run_id: UUID) -> Visit:
    """Return the visit of a stream, by the signature in its address or else by the cookie."""
    signature = request.GET.get("visit", "")
    if not signature:
        return open_visit(request, token)
    page = find_open_page(token)
    visitor = read_stream(page, signature, run_id)
    if visitor is None:
        raise NotFound
    return build_visit(request, page, visitor)


def _find_run(visit: Visit, run_id: UUID) -> Run:
    """Return the visitor's run. Raise NotFound for any other, also for another workflow's run of a member."""
    run = selectors.find_run(visit.principal, run_id)
    if run.workflow_id != visit.workflow.pk:
        raise NotFound
    return run


def _build_question(visit: Visit, run: Run, wait: RunWait, **submission: object) -> Question:
    url = PublicChatUrls(visit).get("answer", run.pk, wait.pk)
    is_asked = permissions.may_answer_question(visit.principal, wait)
    keywords: Any = submission  # Any: the keywords of ``build_question``
    return build_question(run, wait, url, is_asked=is_asked, shows_names=False, **keywords)
