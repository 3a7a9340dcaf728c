"""Pages of what waits for a person: the list, answering as a member, and answering with a link."""

import json
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
from workflows.errors import WaitClosed
from workflows.models import Run, RunWait
from workflows.services.editor.comments import list_open_mentions
from workflows.services.questions.links import (
    answer_linked_wait,
    find_linked_wait,
    find_public_asker,
    make_link_token,
    may_pass_on,
)
from workflows.services.runs import waits
from workflows.views.request_context import find_run, is_htmx
from workflows.views.waits.forms import (
    Decision,
    Exchange,
    InboxRow,
    Question,
    build_decision,
    build_exchange,
    build_question,
    list_answered,
    read_answer,
)


MAX_MENTIONS = 20


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """List the open questions in the current team that ask the caller, and the comments that mention the caller."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    rows = waits.list_waiting(principal, team_id=team_id)
    page = paginate_by_time(request, rows)
    questions = [build_inbox_row(principal, wait, is_asked=True) for wait in page.items]
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
        exchanges = build_exchanges(principal, run, waits.list_waits(principal, run))
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
@require_safe
def show_question(request: HttpRequest, wait_id: UUID) -> HttpResponse:
    """Show one question to those whom it asks, also when they don't see its run."""
    principal = get_principal(request)
    wait = waits.find_question(principal, wait_id)
    row = build_inbox_row(principal, wait)
    return render(request, "waits/question.html", {"row": row, "question": row.question})


@login_required
@require_POST
def answer(request: HttpRequest, run_id: UUID, wait_id: UUID) -> HttpResponse:
    """Answer a question; show its form again if the answer is rejected (status 422)."""
    principal = get_principal(request)
    wait = waits.find_question(principal, wait_id, run_id=run_id)
    rejected: InputRejected | None = None
    values, action = read_answer(wait, request.POST)
    try:
        wait = waits.answer_wait(principal, wait.run, wait_id=wait_id, values=values, action=action)
    except InputRejected as problem:
        rejected = problem
    except WaitClosed:
        wait = waits.find_question(principal, wait_id)
    may_see_run = permissions.may_view_run(principal, wait.run)
    if rejected is None and not is_htmx(request):
        if may_see_run:
            return redirect("workflows:run", wait.run_id)
        return redirect("workflows:question", wait.pk)
    row = build_inbox_row(
        principal, wait, submitted=request.POST if rejected else None, rejected=rejected
    )
    template = "waits/_question.html" if is_htmx(request) else "waits/question.html"
    context = {"question": row.question, "row": row}
    response = render(request, template, context, status=422 if rejected else 200)
    if rejected is None:
        # The form is gone when htmx raises the event, so that it must say where.
        response["HX-Trigger"] = json.dumps({"waiting-changed": {"target": "body"}})
    return response


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def answer_by_link(request: HttpRequest, token: str) -> HttpResponse:
    """Show the question of a link and accept its answer. Whoever has the link may, without an account."""
    refusal: HttpResponse | None = consume_or_429(request, action="answer_link")
    if refusal is not None:
        return refusal
    wait = find_linked_wait(token)
    url = reverse("workflows:answer", args=[token])
    rejected: InputRejected | None = None
    is_answered, status = False, 200
    if request.method == "POST":
        values, action = read_answer(wait, request.POST)
        try:
            wait = answer_linked_wait(token, values=values, action=action)
            is_answered = True
        except InputRejected as problem:
            rejected, status = problem, 422
        except WaitClosed:
            wait, status = find_linked_wait(token), 409
    question = build_question(
        wait.run,
        wait,
        url,
        submitted=request.POST if rejected else None,
        rejected=rejected,
        shows_names=False,
    )
    response = render(
        request,
        "waits/linked.html",
        {
            "question": question,
            "is_answered": is_answered,
            "asker": find_public_asker(wait),
            "host": request.get_host(),
        },
        status=status,
    )
    response["Referrer-Policy"] = (
        "same-origin"  # no other site learns the address, which is the permission
    )
    response["X-Robots-Tag"] = "noindex"
    return response


def build_member_question(run: Run, wait: RunWait, **submission: object) -> Question:
    url = reverse("workflows:answer_wait", args=[run.pk, wait.pk])
    return build_question(run, wait, url, **submission)  # type: ignore[arg-type]


def build_exchanges(principal: Principal, run: Run, rows: Iterable[RunWait]) -> list[Exchange]:
    """Return the questions of a run with their answers. Those that a message answers are shown as messages."""
    return [
        build_exchange(
            build_member_question(
                run, wait, is_asked=permissions.may_answer_question(principal, wait)
            )
        )
        for wait in rows
        if wait.form is not None
    ]


def build_questions_context(request: HttpRequest, run: Run) -> dict[str, object]:
    query = "?head" if "head" in request.GET else ""
    titles = dict(run.steps.order_by("id").values_list("node_key", "title"))
    answered = list_answered(waits.list_answered(get_principal(request), run), titles)
    return {
        "questions": list_questions(request, run),
        "answered": answered,
        "questions_query": query,
    }


def list_decisions(principal: Principal, run: Run) -> list[Decision]:
    return [build_decision(wait) for wait in waits.list_decisions(principal, run)]


def list_questions(request: HttpRequest, run: Run) -> list[tuple[Question, str]]:
    """Return the open questions of a run, each with its link if the caller may pass it on."""
    principal = get_principal(request)
    return [
        (
            build_member_question(
                run, wait, is_asked=permissions.may_answer_question(principal, wait)
            ),
            request.build_absolute_uri(
                reverse("workflows:answer", args=[make_link_token(principal, wait)])
            )
            if may_pass_on(principal, wait)
            else "",
        )
        for wait in waits.list_open_waits(principal, run)
    ]


def build_inbox_row(
    principal: Principal, wait: RunWait, *, is_asked: bool | None = None, **submission: object
) -> InboxRow:
    """Return a question with what else of its run the principal may see."""
    run = wait.run
    if is_asked is None:
        is_asked = permissions.may_answer_question(principal, wait)
    question = build_member_question(run, wait, is_asked=is_asked, **submission)
    asker = run.started_by
    return InboxRow(
        run,
        question,
        can_view_run=permissions.may_view_run(principal, run),
        asker=(asker.name or asker.email) if asker is not None else "",
    )
