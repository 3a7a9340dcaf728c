"""Starting and stopping runs: check, write the row, audit, and wake a worker after the commit."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.errors import NotFound
from accounts.models import User
from accounts.personas import find_key_id, find_player, make_key_subject, make_persona_id
from accounts.principals import get_key_id
from accounts.tenancy import tenant
from workflows import permissions
from workflows.engine.language.document import Json
from workflows.engine.language.memory_usage import scopes_of
from workflows.engine.language.start_form import check_start
from workflows.engine.runtime.events import RunFinished
from workflows.engine.runtime.step_records import RunStatus as EngineStatus
from workflows.engine.runtime.step_records import StepRecord
from workflows.engine.testing.mocks import Mocks
from workflows.errors import InvalidValue, WorkflowArchived
from workflows.execution.debugging.reused_steps import copy_steps, insert_typed_values
from workflows.execution.driver import STOPPED
from workflows.execution.events.bus import announce_cancel
from workflows.execution.journal.codec import to_event_data
from workflows.execution.kinds import load_kinds
from workflows.models import Conversation, Run, RunEvent, Snapshot, Step, Version, Workflow
from workflows.models.documents import from_json
from workflows.models.run import RunStatus
from workflows.services import audit_lines
from workflows.services.chat.conversations import add_message, open_conversation
from workflows.services.editor.snapshots import take_snapshot
from workflows.services.runs.memory_streams import Stream, system_of
from workflows.tasks import wake_worker


Which = Literal["published", "draft"]

# An outside person's id becomes part of a namespace; see memory.core.scopes.
_SUBJECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+=-]{0,79}")


@dataclass(frozen=True, slots=True)
class Subject:
    """The person a run is for: an account of ours, or somebody an API key names."""

    id: str
    user_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be run, once everything about it has been checked."""

    workflow: Workflow
    snapshot: Snapshot
    version: Version | None
    subject: Subject
    inputs: Mapping[str, Json]
    query: str | None = None
    conversation: Conversation | None = None
    mocks: Mapping[str, Json] | None = None
    offline: bool = False
    system: Mapping[str, Json] = field(default_factory=dict)
    # For runs that are looked into, see ``services.debugging``: how, which steps of an earlier run
    # are kept, and which were typed in.
    debug: Mapping[str, Json] | None = None
    kept: Sequence[Step] = ()
    kept_from: Run | None = None
    given: Sequence[StepRecord] = ()


def start_run(
    principal: Principal,
    *,
    workflow: Workflow,
    inputs: Mapping[str, Json] | None = None,
    query: str | None = None,
    conversation: Conversation | str | None = None,
    subject: str | None = None,
    version: Which | Version | None = None,
    mocks: Mapping[str, Json] | None = None,
    offline: bool = False,
    stream: Stream | None = None,
) -> Run:
    """Queue a run of the published version, or of the draft where there is none.

    ``conversation`` is the one to go on with, by row or key. Without it a chat opens a new one, and
    so does a workflow that remembers by conversation. Raises InputRejected naming the fields that
    don't fit, NotFound for what isn't theirs.
    """
    permissions.check_run(principal, workflow)
    if workflow.is_archived:
        raise WorkflowArchived
    with tenant([workflow.team_id]):
        return queue_run(
            principal,
            order_run(
                principal,
                workflow=workflow,
                inputs=inputs,
                query=query,
                conversation=conversation,
                person=subject_of(principal, subject),
                version=version,
                mocks=mocks,
                offline=offline,
                stream=stream,
            ),
        )


def order_run(
    principal: Principal,
    *,
    workflow: Workflow,
    inputs: Mapping[str, Json] | None,
    query: str | None,
    conversation: Conversation | str | None,
    person: Subject,
    version: Which | Version | None,
    mocks: Mapping[str, Json] | None,
    offline: bool,
    stream: Stream | None = None,
) -> Order:
    """Everything checked, the conversation opened. The caller holds the transaction."""
    snapshot, pinned = pinned_snapshot(principal, workflow, version)
    document = from_json(snapshot.document)
    checked = check_start(document, inputs or {})
    if mocks:
        Mocks(mocks)  # raises NodeFailed for what isn't a mock
    if workflow.is_chat and not (query or "").strip():
        raise InvalidValue(_("A chat workflow needs a message."), field="query")
    talk = None
    if (
        workflow.is_chat
        or conversation is not None
        or "conversation" in scopes_of(document, load_kinds())
    ):
        talk = _conversation(principal, workflow, conversation, person)
    system = system_of(principal, workflow, stream)
    return Order(workflow, snapshot, pinned, person, checked, query, talk, mocks, offline, system)


def queue_run(principal: Principal, order: Order) -> Run:
    """The run's row, which is also the outbox: what dies after the commit loses nothing."""
    with tenant([order.workflow.team_id]):
        run = Run(
            team_id=order.workflow.team_id,
            workflow=order.workflow,
            snapshot=order.snapshot,
            version=order.version,
            conversation=order.conversation,
            subject=order.subject.id,
            subject_user_id=order.subject.user_id,
            started_by_id=principal.user_id,
            api_key_id=get_key_id(principal),
            actor=principal.actor,
            inputs=dict(order.inputs),
            mocks=order.mocks,
            offline=order.offline,
            debug=order.debug,
            queued_at=timezone.now(),
        )
        run.system = _system(order, run)
        run.save(force_insert=True)
        if order.kept_from is not None:
            copy_steps(run, order.kept_from, order.kept)
        if order.given:
            insert_typed_values(run, order.given)
        if order.conversation is not None and order.query is not None:
            add_message(order.conversation, run=run, query=order.query, answer="")
            run.system = _system(order, run)  # which turn of the conversation it is
            run.save(update_fields=["system"])
        audit_lines.note(principal, run, "run.started", workflow=str(order.workflow.pk))
        transaction.on_commit(lambda: wake_worker(run.pk))
    return run


def cancel_run(principal: Principal, run: Run) -> Run:
    """Stop it: at once while nobody drives it, within a second when a worker does.

    A run that has ended stays as it ended. Asked twice, nothing more happens.
    """
    permissions.check_cancel(principal, run)
    with tenant([run.team_id]):
        locked = Run.objects.unscoped().select_for_update(of=("self",)).get(pk=run.pk)
        if locked.has_ended or locked.cancel_requested_at is not None:
            return locked
        locked.cancel_requested_at = timezone.now()
        if locked.status == RunStatus.RUNNING:
            locked.save(update_fields=["cancel_requested_at"])
            transaction.on_commit(lambda: announce_cancel(locked.pk))
        else:
            _stop_unheld(locked)
        audit_lines.note(principal, locked, "run.cancelled")
    return locked


def subject_of(principal: Principal, named: str | None) -> Subject:
    """Whom the run is for. An account is only ever named by being it.

    A key names outside people. A member plays test persons, who are theirs alone.
    """
    own = str(principal.user_id) if principal.user_id else None
    if named is None or named == own:
        if principal.user_id is not None:
            return Subject(str(principal.user_id), principal.user_id)
        key_id = get_key_id(principal)
        return Subject(make_key_subject(key_id) if key_id else principal.actor)
    named = outside_person(named)
    if _is_account(named):
        raise NotFound(field="user")
    player, key = find_player(named), find_key_id(named)
    if player is not None and player != principal.user_id:
        raise NotFound(field="user")  # another member's test person, whoever asks
    if key is not None and key != get_key_id(principal):
        raise NotFound(field="user")  # another programme itself
    if principal.user_id is not None and player is None:
        named = outside_person(make_persona_id(named, principal.user_id))
    return Subject(named)


def outside_person(named: str) -> str:
    """An outside person's id as it is; raises InvalidValue for what could be none."""
    if not _SUBJECT.fullmatch(named):
        raise InvalidValue(
            _(
                "A user ID has 1 to 80 letters, digits or . _ @ + = - and starts with a letter or digit."
            ),
            field="user",
        )
    return named


def _is_account(named: str) -> bool:
    try:
        wanted = UUID(named)
    except ValueError:
        return False
    return User.objects.filter(pk=wanted).exists()


def pinned_snapshot(
    principal: Principal, workflow: Workflow, version: Which | Version | None
) -> tuple[Snapshot, Version | None]:
    """What exactly runs. Somebody who may not see drafts of others' making runs what is published."""
    if isinstance(version, Version):
        if version.workflow_id != workflow.pk:
            raise NotFound
        return version.snapshot, version
    published = workflow.published_version
    if version == "published" and published is None:
        raise InvalidValue(_("This workflow has not been published yet."))
    if version == "draft" or published is None:
        permissions.check_view(principal, workflow)
        return take_snapshot(workflow), None
    return published.snapshot, published


def _conversation(
    principal: Principal, workflow: Workflow, given: Conversation | str | None, person: Subject
) -> Conversation:
    key = given.key if isinstance(given, Conversation) else given
    return open_conversation(
        principal, workflow=workflow, subject=person.id, subject_user_id=person.user_id, key=key
    )


def _system(order: Order, run: Run) -> dict[str, Json]:
    """``sys.*``: who, where and what was said. The row is the only source of a run's identity."""
    known: dict[str, Json] = {
        "user_id": order.subject.id,
        "app_id": str(order.workflow.pk),
        "workflow_id": str(order.workflow.pk),
        "workflow_run_id": str(run.pk),
        "files": [],
    }
    if order.query is not None:
        known["query"] = order.query
    if order.conversation is not None:
        known["conversation_id"] = order.conversation.key
        known["dialogue_count"] = order.conversation.dialogue_count
    return {**known, **order.system}


def _stop_unheld(run: Run) -> None:
    """Nobody drives it, and with the row locked nobody can begin to."""
    run.status = RunStatus.STOPPED
    run.error = STOPPED
    run.attempt += 1
    run.last_seq += 1
    run.wake_at = None
    run.finished_at = timezone.now()
    run.elapsed = (run.finished_at - run.started_at).total_seconds() if run.started_at else 0.0
    run.save()
    finished = RunFinished(EngineStatus.STOPPED.value, error=STOPPED)
    RunEvent.objects.create(
        team_id=run.team_id,
        run=run,
        seq=run.last_seq,
        name=finished.name,
        data=to_event_data(finished),
    )
