"""Pages of what waits for a person: the list, answering as a member, and answering with a link."""

from collections.abc import Iterable
from uuid import UUID

from allauth.core.ratelimit import consume_or_429
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.principals import Principal, get_current_team_id, get_principal
from accounts.views.pagination import paginate_by_time
from workflows import permissions
from workflows.engine.errors import InputRejected
from workflows.engine.runtime.waits import is_uncertain
from workflows.errors import WaitClosed
from workflows.models import Run, RunWait
from workflows.services.editor.comments import list_open_mentions
from workflows.services.runs import waits
from workflows.views.request_context import find_run, is_htmx
from workflows.views.waits.forms import (
    Decision,
    Exchange,
    Question,
    build_decision,
    build_exchange,
    build_question,
    read_answer,
)


MAX_MENTIONS = 20


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """List the open questions of the caller's runs in the current team, and the comments that mention the caller."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    rows = waits.list_waiting(principal, team_id=team_id)
    page = paginate_by_time(request, rows)
    questions = [(wait.run, build_member_question(wait.run, wait)) for wait in page.items]
    mentions = list_open_mentions(principal, team_id=team_id)[:MAX_MENTIONS]
    context = {"questions": questions, "page": page, "mentions": mentions}
    return render(request, "waits/list.html", context)


@login_required
@require_safe
def count(request: HttpRequest) -> HttpResponse:
    """Show the number of open questions and mentions, which the navigation loads after the page."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    questions = waits.list_waiting(principal, team_id=team_id)
    mentions = list_open_mentions(principal, team_id=team_id)
    return render(request, "waits/_count.html", {"count": questions.count() + mentions.count()})


@login_required
@require_safe
def of_run(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Show the open questions of a run, as a chat shows them with ``chat``.

    With ``head``, also show the head of the run's page, which says what it waits for.
    """
    principal, run = find_run(request, run_id)
    if "chat" in request.GET:
        exchanges = build_exchanges(run, waits.list_waits(principal, run))
        return render(request, "waits/_in_chat.html", {"run": run, "exchanges": exchanges})
    context = {"run": run, **build_questions_context(request, run)}
    response = render(request, "waits/_of_run.html", context)
    if "head" in request.GET:
        head = {"live": not run.has_ended, "can_cancel": permissions.may_cancel(principal, run)}
        context = {
            **context,
            **head,
            "decisions": list_decisions(principal, run),
            "out_of_band": True,
        }
        response.write(render(request, "runs/_head.html", context).content)
    return response


@login_required
@require_POST
def answer(request: HttpRequest, run_id: UUID, wait_id: UUID) -> HttpResponse:
    """Answer a question of a run; show its form again if the answer is rejected (status 422)."""
    principal, run = find_run(request, run_id)
    wait = waits.find_wait(principal, run, wait_id)
    rejected: InputRejected | None = None
    values, action = read_answer(wait, request.POST)
    try:
        wait = waits.answer_wait(principal, run, wait_id=wait_id, values=values, action=action)
    except InputRejected as problem:
        rejected = problem
    except WaitClosed:
        wait = waits.find_wait(principal, run, wait_id)
    if rejected is None and not is_htmx(request):
        return redirect("workflows:run", run.pk)
    question = build_member_question(
        run, wait, submitted=request.POST if rejected else None, rejected=rejected
    )
    template = "waits/_question.html" if is_htmx(request) else "waits/question.html"
    context = {"question": question, "run": run}
    response = render(request, template, context, status=422 if rejected else 200)
    if rejected is None:
        response["HX-Trigger"] = "waiting-changed"
    return response


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def answer_by_link(request: HttpRequest, token: str) -> HttpResponse:
    """Show the question of a link and accept its answer. Whoever has the link may, without an account."""
    refusal: HttpResponse | None = consume_or_429(request, action="answer_link")
    if refusal is not None:
        return refusal
    wait = waits.find_linked_wait(token)
    url = reverse("workflows:answer", args=[token])
    rejected: InputRejected | None = None
    is_answered = False
    if request.method == "POST":
        values, action = read_answer(wait, request.POST)
        try:
            wait = waits.answer_linked_wait(token, values=values, action=action)
            is_answered = True
        except InputRejected as problem:
            rejected = problem
        except WaitClosed:
            wait = waits.find_linked_wait(token)
    question = build_question(
        wait.run, wait, url, submitted=request.POST if rejected else None, rejected=rejected
    )
    response = render(
        request,
        "waits/linked.html",
        {"question": question, "is_answered": is_answered},
        status=422 if rejected else 200,
    )
    response["Referrer-Policy"] = (
        "same-origin"  # no other site learns the address, which is the permission
    )
    response["X-Robots-Tag"] = "noindex"
    return response


def build_member_question(run: Run, wait: RunWait, **submission: object) -> Question:
    url = reverse("workflows:answer_wait", args=[run.pk, wait.pk])
    return build_question(run, wait, url, **submission)  # type: ignore[arg-type]


def build_exchanges(run: Run, rows: Iterable[RunWait]) -> list[Exchange]:
    """Return the questions of a run with their answers. Those that a message answers are shown as messages."""
    return [
        build_exchange(build_member_question(run, wait)) for wait in rows if wait.form is not None
    ]


def build_questions_context(request: HttpRequest, run: Run) -> dict[str, object]:
    query = "?head" if "head" in request.GET else ""
    return {"questions": list_questions(request, run), "questions_query": query}


def list_decisions(principal: Principal, run: Run) -> list[Decision]:
    return [build_decision(wait) for wait in waits.list_decisions(principal, run)]


def list_questions(request: HttpRequest, run: Run) -> list[tuple[Question, str]]:
    """Return the open questions of a run, each with its link if the caller may answer."""
    principal = get_principal(request)
    may_answer = permissions.may_answer(principal, run)
    return [
        (
            build_member_question(run, wait),
            request.build_absolute_uri(
                reverse("workflows:answer", args=[waits.make_link_token(principal, wait)])
            )
            if may_answer and not is_uncertain(wait.form)
            else "",
        )
        for wait in waits.list_open_waits(principal, run)
    ]
