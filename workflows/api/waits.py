"""Routes of what runs wait for: list it, and answer."""

from uuid import UUID

from django.http import HttpRequest
from django.urls import reverse
from ninja import Router
from ninja.pagination import paginate

from accounts.http.auth import api_auth
from accounts.principals import Principal, get_current_team_id, get_principal
from accounts.tenancy import tenant
from config.http.pages import Listing, Pages, list_rows
from workflows import permissions
from workflows.api.request_context import find_run
from workflows.engine.runtime.waits import is_uncertain
from workflows.idempotent_requests import accept_idempotency_key
from workflows.models import Run, RunWait
from workflows.schemas.waits import AnswerIn, WaitOut
from workflows.services.questions.links import make_link_token, may_pass_on
from workflows.services.questions.people import name_answerers
from workflows.services.runs import waits


router = Router(auth=api_auth(), tags=["runs"])


@router.get("/waits", response=list[WaitOut], summary="List what waits for you")
@paginate(Pages)
def list_waiting(request: HttpRequest) -> Listing[RunWait]:
    """Return the open questions in the current team that ask you, newest first: those of your runs, and those for you."""
    principal = get_principal(request)
    rows = waits.list_waiting(principal, team_id=get_current_team_id(request))
    return list_rows(rows, lambda page: [serialize_wait(principal, row.run, row) for row in page])


@router.get(
    "/runs/{uuid:run_id}/waits", response=list[WaitOut], summary="List what a run waits for"
)
@paginate(Pages)
def list_waits(request: HttpRequest, run_id: UUID) -> list[dict[str, object]]:
    """Return what the run waits for, and what it has waited for: questions to a person, and delays."""
    principal, run = find_run(request, run_id)
    return [serialize_wait(principal, run, wait) for wait in waits.list_waits(principal, run)]


@router.post(
    "/runs/{uuid:run_id}/waits/{uuid:wait_id}", response=WaitOut, summary="Answer a question"
)
@accept_idempotency_key
def answer_wait(
    request: HttpRequest, run_id: UUID, wait_id: UUID, body: AnswerIn
) -> dict[str, object]:
    """Answer a question of a run, which then continues.

    Fails with InputRejected naming each field that doesn't fit. The response is 409 if the question has been answered,
    and then says by whom, if its time is up, or if the run has ended. It is 404 for a question that doesn't ask you.
    """
    principal = get_principal(request)
    question = waits.find_question(principal, wait_id, run_id=run_id)
    wait = waits.answer_wait(
        principal, question.run, wait_id=wait_id, values=body.values, action=body.action
    )
    return serialize_wait(principal, wait.run, wait)


def serialize_wait(principal: Principal, run: Run, wait: RunWait) -> dict[str, object]:
    form = wait.form or {}
    is_open = wait.form is not None and waits.is_open(wait, run)
    link, can_answer = None, False
    lost_call = waits.find_lost_call(wait) if is_uncertain(wait.form) else None
    if is_open:
        wait.run = run
        can_answer = permissions.may_answer_question(principal, wait)
        if may_pass_on(principal, wait):
            link = reverse("workflows:answer", args=[make_link_token(principal, wait)])
    return {
        "id": wait.pk,
        "run_id": run.pk,
        "node": wait.node_key,
        "rounds": wait.rounds,
        "part": wait.part,
        "type": form.get("type", "form") if wait.form is not None else "delay",
        "status": _get_status(run, wait),
        "content": str(form.get("content", "")),
        "inputs": list(form.get("inputs") or ()),
        "actions": list(form.get("actions") or ()),
        "tool": str(form.get("tool") or ""),
        "arguments": form.get("arguments"),
        "called_at": lost_call.at if lost_call else None,
        "idempotency_key": lost_call.idempotency_key if lost_call else "",
        "created_at": wait.created_at,
        "due_at": wait.due_at,
        "answered_at": wait.answered_at,
        "answered_by": wait.answered_by,
        "answered_by_name": _name_answerer(wait),
        "answerers": wait.answerers,
        "can_answer": can_answer,
        "action": wait.action,
        "values": wait.values,
        "link": link,
    }


def _name_answerer(wait: RunWait) -> str:
    if not wait.answered_by:
        return ""
    with tenant([wait.team_id]):
        return name_answerers([wait])[wait.answered_by]


def _get_status(run: Run, wait: RunWait) -> str:
    if wait.is_timed_out:
        return "timed-out"
    if wait.answered_at is not None:
        return "answered"
    return "closed" if run.has_ended else "open"
