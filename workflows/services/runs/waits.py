"""What paused runs wait for: list it, and answer it, as one of those whom the question asks.

A question may ask members who don't see its run. They see the question, and nothing else of the run.
"""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.access import Principal, can
from accounts.errors import NotFound
from accounts.tenancy import tenant
from workflows import permissions
from workflows.engine.answerers import DEFAULT, EMAIL
from workflows.engine.errors import InputRejected
from workflows.engine.kind_examples import list_outputs
from workflows.engine.language.document import Json, NodeSpec
from workflows.engine.language.problems import Problem
from workflows.engine.nodes.agent.tool_use.approval import REASON_FIELD
from workflows.engine.runtime.events import RunResumed
from workflows.engine.runtime.waits import (
    BY_LINK,
    OUTPUTS,
    STOP,
    UNCERTAIN,
    check_answer,
    find_reply_field,
    is_uncertain,
)
from workflows.errors import InvalidValue, WaitClosed
from workflows.execution.kinds import load_kinds
from workflows.models import Run, RunWait, StepIntent, Workflow
from workflows.models.documents import from_json
from workflows.models.run import ENDED, RunStatus
from workflows.services import audit_lines
from workflows.services.debugging.pins import check_types
from workflows.services.questions.people import name_answerers
from workflows.services.runs.child_runs import lock_parent
from workflows.services.runs.runs import add_event, cancel_run, resolve_subject
from workflows.tasks import wake_worker


_MAX_AUDITED = 500  # characters of the name of a tool, in the audit trail
# Why a run is paused that continues with an answer, see ``engine.runtime.waits.get_reason``.
_WAITING = frozenset({"input", "time"})


def list_waiting(principal: Principal, *, team_id: UUID | None = None) -> QuerySet[RunWait]:
    """Return the open questions that ask the principal, newest first.

    Whether there is any, whomever it asks, is looked up first: every page counts the questions, mostly there is none, and
    the database takes long to plan the query for those that ask the principal.
    """
    teams = principal.team_ids if team_id is None else {team_id} & principal.team_ids
    readable = [team for team in teams if can(principal, "run.view", team)]
    open_waits = RunWait.objects.visible_to(principal).filter(_match_open(), team_id__in=readable)
    if not open_waits.exists():
        return RunWait.objects.none()
    own_runs = Run.objects.visible_to(principal).filter(team_id__in=readable)
    asks_runner = Q(answerers=[]) | Q(answerers__overlap=[*DEFAULT])
    asks = asks_runner & Q(run__in=own_runs.exclude(status__in=ENDED).order_by())
    for team in readable:
        keys = permissions.list_answerer_keys(principal, team)
        asks |= Q(team_id=team, answerers__overlap=keys) if keys else Q()
    rows = open_waits.filter(asks)
    rows = rows.filter(run__workflow__archived_at=None).exclude(run__status__in=ENDED)
    related = ("run__workflow", "run__subject_user", "run__started_by", "run__api_key")
    return rows.select_related(*related).order_by("-created_at", "-id")


def list_waits(principal: Principal, run: Run) -> QuerySet[RunWait]:
    """Return all waits of a run, also those that have ended, in the order in which they began."""
    permissions.check_view_run(principal, run)
    rows = RunWait.objects.visible_to(principal).filter(run=run).select_related("run__api_key")
    return rows.order_by("created_at", "id")


def list_open_waits(principal: Principal, run: Run) -> list[RunWait]:
    """Return the questions of a run that can be answered now."""
    if run.has_ended:
        return []
    return list(list_waits(principal, run).filter(_match_open()))


def list_decisions(principal: Principal, run: Run) -> QuerySet[RunWait]:
    """Return what persons decided about uncertain steps of the run, in the order of the steps."""
    decided = {"part__startswith": f"{UNCERTAIN}.", "answered_at__isnull": False}
    return list_waits(principal, run).filter(**decided)


def find_lost_call(wait: RunWait) -> StepIntent | None:
    """Return the call that an uncertain step had begun: its time and its idempotency key. The caller may see the run."""
    attempt = int(wait.part.rpartition(".")[2])
    rows = StepIntent.objects.unscoped().filter(
        run_id=wait.run_id, node_key=wait.node_key, rounds=wait.rounds, attempt__lte=attempt
    )
    return rows.order_by("-attempt", "-id").first()


def list_answered(principal: Principal, run: Run) -> list[RunWait]:
    """Return the questions of a run that somebody has answered, in the order in which they began."""
    rows = list_waits(principal, run).filter(form__isnull=False, answered_at__isnull=False)
    return list(rows.exclude(is_timed_out=True))


def find_question(principal: Principal, wait_id: UUID, *, run_id: UUID | None = None) -> RunWait:
    """Return a question that asks the principal, or one of a run that the principal may see, open or not.

    Raises NotFound for everybody else, and for a delay, which nobody can answer.
    """
    rows = RunWait.objects.visible_to(principal).filter(pk=wait_id, form__isnull=False)
    rows = rows if run_id is None else rows.filter(run_id=run_id)
    wait = rows.select_related("run__workflow", "run__started_by", "run__api_key").first()
    if wait is None or not _may_see(principal, wait):
        raise NotFound
    return wait


def _may_see(principal: Principal, wait: RunWait) -> bool:
    may_see_run = permissions.may_view_run(principal, wait.run)
    return may_see_run or permissions.may_answer_question(principal, wait)


def find_wait(principal: Principal, run: Run, wait_id: UUID) -> RunWait:
    """Return a question of the run, open or not. Raises NotFound for a delay, which nobody can answer."""
    wait = list_waits(principal, run).filter(pk=wait_id, form__isnull=False).first()
    if wait is None:
        raise NotFound
    return wait


def answer_wait(
    principal: Principal, run: Run, *, wait_id: UUID, values: Mapping[str, Json], action: str = ""
) -> RunWait:
    """Answer a question, and continue the run if it is paused for it.

    To decide about an uncertain step, the principal must be allowed to stop the run, too. Raises NotFound for a question that
    doesn't ask the principal, InputRejected naming each field that doesn't fit, and WaitClosed if there is nothing to answer
    any more, with the name of the person who was faster.
    """
    with tenant([run.team_id]):
        permissions.check_answer_question(principal, _find_wait(run.pk, wait_id))
        return _answer(principal, run, wait_id, values, action)


def answer_as_operator(
    principal: Principal, run: Run, *, wait_id: UUID, values: Mapping[str, Json], action: str = ""
) -> RunWait:
    """Answer a question of the principal's run at the terminal of the server, whomever else it asks."""
    return _answer(principal, run, wait_id, values, action)


def answer_with_message(
    principal: Principal,
    *,
    workflow: Workflow,
    conversation: str | None,
    message: str | None,
    subject: str | None = None,
) -> Run | None:
    """Answer the question that the conversation waits for with a message, and return its run.

    Return None if the conversation waits for nothing that a message answers; then the message starts a new turn.
    Raises InputRejected if the text doesn't fit the field.
    """
    if not conversation or not (message or "").strip():
        return None
    person = resolve_subject(principal, subject).id
    rows = list_waiting(principal, team_id=workflow.team_id).filter(
        run__workflow=workflow, run__conversation__key=conversation, run__subject=person
    )
    for wait in rows:
        name = find_reply_field(wait.form or {})
        if name is not None and permissions.may_answer_question(principal, wait):
            answer_wait(principal, wait.run, wait_id=wait.pk, values={name: message})
            runs = Run.objects.visible_to(principal)
            return runs.select_related("conversation", "version").get(pk=wait.run_id)
    return None


def _check_outputs(run: Run, wait: RunWait) -> None:
    """Raise InputRejected for an output of an uncertain step that the node doesn't have, or has with another type."""
    outputs = (wait.values or {}).get(OUTPUTS) or {}
    for node in from_json(run.snapshot.document).nodes:
        if node.id == wait.node_key:
            try:
                _check_names(node, outputs)
                check_types(node.id, node.kind, node.data, outputs)
            except InvalidValue as mismatch:
                problem = Problem("input.invalid", str(mismatch), field=OUTPUTS)
                raise InputRejected([problem]) from None


def _check_names(node: NodeSpec, outputs: Mapping[str, Json]) -> None:
    """Raise InvalidValue for outputs that the node doesn't have: later nodes would silently get nothing."""
    kind = load_kinds().get(node.kind)
    names = [output.name for output in list_outputs(kind, node.data)] if kind else []
    unknown = [name for name in outputs if name not in names]
    if names and unknown:
        values = {"unknown": ", ".join(unknown), "names": ", ".join(names)}
        raise InvalidValue(
            _("The node has no output %(unknown)s. Its outputs are: %(names)s.") % values
        )


def describe_answer(wait: RunWait) -> dict[str, Json]:
    """Return what the audit trail says about an answer: of an approval also whether the person gave a reason.

    The reason itself stays with the run, where an erasure removes it: nothing is removed from the trail.
    """
    detail: dict[str, Json] = {"node": wait.node_key, "chosen": wait.action}
    form = wait.form or {}
    reason = str((wait.values or {}).get(REASON_FIELD) or "").strip()
    if form.get("type") == "approval":
        detail["tool"] = str(form.get("tool") or "")[:_MAX_AUDITED]
        if reason:
            detail["has_reason"] = True
    return detail


def is_open(wait: RunWait, run: Run, now: datetime | None = None) -> bool:
    """Return whether the question can still be answered."""
    is_due = wait.due_at is not None and wait.due_at <= (now or timezone.now())
    return wait.answered_at is None and not is_due and not run.has_ended


def _match_open() -> Q:
    is_in_time = Q(due_at__isnull=True) | Q(due_at__gt=timezone.now())
    return Q(form__isnull=False, answered_at__isnull=True) & is_in_time


def _answer(
    principal: Principal, run: Run, wait_id: UUID, values: Mapping[str, Json], action: str
) -> RunWait:
    with tenant([run.team_id]):
        lock_parent(run)
        wait = store_answer(run.pk, wait_id, values, action, principal.actor)
        if is_uncertain(wait.form):
            permissions.check_cancel(principal, run)
            _check_outputs(run, wait)
        detail = describe_answer(wait)
        audit_lines.record(principal, run, "run.answered", **detail)
        if is_uncertain(wait.form) and wait.action == STOP:
            cancel_run(principal, run)
    return wait


def _find_wait(run_id: UUID, wait_id: UUID) -> RunWait:
    rows = RunWait.objects.unscoped().filter(run_id=run_id, pk=wait_id, form__isnull=False)
    wait = rows.select_related("run").first()
    if wait is None:
        raise NotFound
    return wait


def store_answer(
    run_id: UUID, wait_id: UUID, values: Mapping[str, Json], action: str, actor: str
) -> RunWait:
    """Store an answer. The caller has checked that the actor may give it, and holds the transaction."""
    # The run is locked first, as by the worker that pauses it: it sees the answer, or this sees the pause.
    run = Run.objects.unscoped().select_for_update(of=("self",)).filter(pk=run_id).first()
    if run is None:
        raise NotFound
    wait = _find_wait(run_id, wait_id)
    if not is_open(wait, run) or run.workflow.is_archived:
        raise _build_refusal(wait, actor)
    wait.values, wait.action = check_answer(wait.form or {}, values, action)
    wait.answered_by, wait.answered_at = actor, timezone.now()
    wait.remind_at = wait.escalate_at = None
    wait.save(
        update_fields=["values", "action", "answered_by", "answered_at", "remind_at", "escalate_at"]
    )
    _continue(run)
    wait.run = run
    return wait


def _build_refusal(wait: RunWait, actor: str) -> WaitClosed:
    """Return why the question takes no answer. Who has an account hears who was faster."""
    was_answered = wait.answered_at is not None and not wait.is_timed_out
    if not was_answered or actor == BY_LINK or actor.startswith(EMAIL):
        return WaitClosed(was_answered=was_answered)
    return WaitClosed(was_answered=True, answered_by=name_answerers([wait])[wait.answered_by])


def _continue(run: Run) -> None:
    """Queue a run that is paused for an answer. A running one continues by itself, a debugged one when it is resumed."""
    pause = dict(run.pause or {})
    if run.status != RunStatus.PAUSED or pause.get("reason") not in _WAITING:
        return
    now = timezone.now()
    paused_for = now.timestamp() - float(pause.get("at") or now.timestamp())
    run.pause = {**pause, "slept": float(pause.get("slept") or 0) + paused_for}
    run.status, run.queued_at, run.wake_at = RunStatus.QUEUED, now, None
    add_event(run, RunResumed("answer", now.timestamp()))
    run.save(update_fields=["pause", "status", "queued_at", "wake_at", "last_seq"])
    transaction.on_commit(lambda: wake_worker(run.pk))
