"""Start and cancel runs: check the request, write the row, record it, and wake a worker after the commit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypedDict, Unpack
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.errors import NotFound
from accounts.models import User
from accounts.personas import (
    find_player,
    find_service_account_id,
    is_visitor_subject,
    make_persona_id,
    make_service_subject,
)
from accounts.principals import get_key_id, get_service_account_id, get_visitor
from accounts.tenancy import tenant
from config.ids import is_identifier, normalize_identifier
from config.monitoring.request_ids import get_request_id
from workflows import permissions
from workflows.engine.language.document import Json
from workflows.engine.language.memory_usage import list_memory_scopes
from workflows.engine.language.start_form import check_start_inputs
from workflows.engine.runtime.events import Event, RunFinished
from workflows.engine.runtime.step_records import RunStatus as EngineStatus
from workflows.engine.runtime.step_records import StepRecord
from workflows.engine.testing.mocks import Mocks
from workflows.engine.triggers.calls import TriggerCall
from workflows.errors import INVALID_IDENTIFIER, InvalidValue, NotPublished, WorkflowArchived
from workflows.execution.called_runs import note_call
from workflows.execution.debugging.reused_steps import (
    copy_steps,
    insert_typed_values,
    load_redactor,
)
from workflows.execution.driver import STOPPED
from workflows.execution.events.bus import announce_cancel
from workflows.execution.journal.codec import to_event_data
from workflows.execution.journal.mocks import mask_mocks
from workflows.execution.kinds import load_kinds
from workflows.execution.ports.client_calls import ORDINARY_CALL, ClientCall
from workflows.models import Conversation, Run, RunEvent, Snapshot, Step, Version, Workflow
from workflows.models.conversation import new_key
from workflows.models.documents import read_document
from workflows.models.run import Channel, RunStatus
from workflows.services import audit_lines
from workflows.services.budgets.checks import reserve_start
from workflows.services.chat.conversations import add_message, open_conversation
from workflows.services.editor.snapshots import take_snapshot
from workflows.services.files.inputs import attach_files, resolve_inputs, resolve_message_files
from workflows.services.runs import document_checks
from workflows.services.runs.child_runs import lock_parent, settle_relatives
from workflows.services.runs.memory_streams import MemoryStream, build_stream_variables
from workflows.services.runs.queue_room import check_queue_room
from workflows.tasks import wake_worker


VersionChoice = Literal["published", "draft"]


@dataclass(frozen=True)
class InputMarks:
    """A run that is started again, or in part, knows this of its inputs from the run before it.

    It is whether they, or that it began, came from outside, and the words of memories in them.
    """

    has_untrusted_inputs: bool = False
    is_chosen_by_untrusted: bool = False
    memories: Sequence[str] = ()

    @classmethod
    def of(cls, run: Run) -> "InputMarks":
        return cls(run.has_untrusted_inputs, run.is_chosen_by_untrusted, run.memories_in_inputs)


NO_MARKS: Final = InputMarks()


@dataclass(frozen=True, slots=True)
class Subject:
    """The person a run is for: an account, or an external user whom an API key names."""

    id: str
    user_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class RunRequest:
    """The values of a run that is to be queued, checked and with its conversation opened."""

    workflow: Workflow
    snapshot: Snapshot
    version: Version | None
    subject: Subject
    inputs: Mapping[str, Json] = field(default_factory=dict)
    query: str | None = None
    files: Sequence[Json] = ()  # of the message
    conversation: Conversation | None = None
    channel: Channel | None = None
    client_call: ClientCall = ORDINARY_CALL
    trace_id: str = ""
    mocks: Mapping[str, Json] | None = None
    offline: bool = False
    system: Mapping[str, Json] = field(default_factory=dict)
    marks: InputMarks = NO_MARKS
    # For debug runs: the options, the reused steps with the earlier run, and the steps with typed values.
    debug: Mapping[str, Json] | None = None
    reused_steps: Sequence[Step] = ()
    reused_run: Run | None = None
    typed_steps: Sequence[StepRecord] = ()


class RunArguments(TypedDict, total=False):
    """The arguments of ``check_request``. ``conversation`` is the key of the conversation to continue.

    With the messages of a ``client_call``, the run has no stored conversation. Inputs that the workflow doesn't take are
    dropped unless ``refuse_unknown_inputs`` is set.
    """

    inputs: Mapping[str, Json] | None
    refuse_unknown_inputs: bool
    query: str | None
    files: Sequence[Json]
    conversation: str | None
    channel: Channel | None
    client_call: ClientCall
    trace_id: str
    mocks: Mapping[str, Json] | None
    offline: bool
    stream: MemoryStream | None
    trigger: TriggerCall | None
    marks: InputMarks


def start_run(
    principal: Principal,
    *,
    workflow: Workflow,
    subject: str | None = None,
    version: VersionChoice | Version | None = None,
    **arguments: Unpack[RunArguments],
) -> Run:
    """Queue a run of the given version; by default of the published one, or of the draft if there is none.

    Without a ``conversation``, a chat or a workflow that remembers by conversation opens a new one. Raises DocumentInvalid
    for a workflow with errors, InputRejected with the invalid fields, or NotFound for a conversation that the principal
    may not use.
    """
    check_startable(principal, workflow)
    with tenant([workflow.team_id]):
        person = resolve_subject(principal, subject)
        snapshot, selected = select_snapshot(principal, workflow, version)
        request = RunRequest(workflow, snapshot, selected, person)
        return queue_run(principal, check_request(principal, request, **arguments))


def check_startable(principal: Principal, workflow: Workflow) -> None:
    """Raise NotAllowed or WorkflowArchived unless the principal may start runs of the workflow now."""
    permissions.check_run(principal, workflow)
    if workflow.is_archived:
        raise WorkflowArchived


def check_request(
    principal: Principal,
    request: RunRequest,
    *,
    inputs: Mapping[str, Json] | None = None,
    refuse_unknown_inputs: bool = False,
    query: str | None = None,
    files: Sequence[Json] = (),
    conversation: str | None = None,
    channel: Channel | None = None,
    client_call: ClientCall = ORDINARY_CALL,
    trace_id: str = "",
    mocks: Mapping[str, Json] | None = None,
    offline: bool = False,
    stream: MemoryStream | None = None,
    trigger: TriggerCall | None = None,
    marks: InputMarks = NO_MARKS,
) -> RunRequest:
    """Check the document and the arguments, open the conversation, and return the request with them.

    Runs in the caller's transaction. Raises DocumentInvalid with every error of the document.
    """
    workflow, document = request.workflow, read_document(request.snapshot)
    document_checks.check_document(workflow, request.snapshot, document)
    person = request.subject.id
    root = trigger.node_id if trigger is not None else None
    checked_inputs = check_start_inputs(
        document,
        resolve_inputs(principal, person, document, inputs or {}, root),
        root,
        refuse_unknown=refuse_unknown_inputs,
    )
    if mocks:
        Mocks(mocks)  # raises NodeFailed for an invalid mock
    if workflow.is_chat and not (query or "").strip():
        raise InvalidValue(_("A chat workflow needs a message."), field="query")
    has_conversation = (
        workflow.is_chat
        or conversation is not None
        or "conversation" in list_memory_scopes(document, load_kinds())
    )
    is_stored = has_conversation and client_call.messages is None
    return replace(
        request,
        inputs=checked_inputs,
        query=query,
        files=resolve_message_files(principal, person, document, files),
        conversation=(_open_conversation(principal, request, conversation) if is_stored else None),
        channel=channel,
        client_call=client_call,
        trace_id=trace_id,
        mocks=mocks,
        offline=offline,
        system={
            **build_stream_variables(principal, workflow, document, stream),
            **(_build_client_conversation(client_call) if has_conversation else {}),
            **(trigger.to_system_variables() if trigger is not None else {}),
        },
        marks=marks,
    )


def queue_run(principal: Principal, request: RunRequest) -> Run:
    """Store the run with its first steps, and wake a worker after the commit. Workers also find the row without that.

    Runs in the caller's tenant, whose end takes back what a refused run has counted. Raises QueueFull if too many runs of
    the team wait, and CallNotAllowed for a call of this installation by a run whose start may begin no more.
    """
    reserve_start(principal, request.workflow.team_id)
    check_queue_room(request.workflow.team_id)
    run = Run(
        team_id=request.workflow.team_id,
        workflow=request.workflow,
        snapshot=request.snapshot,
        version=request.version,
        conversation=request.conversation,
        subject=request.subject.id,
        subject_user_id=request.subject.user_id,
        started_by_id=principal.user_id,
        api_key_id=get_key_id(principal),
        actor=principal.actor,
        client_call=request.client_call.dump(),
        channel=request.channel or (Channel.API if principal.kind == "key" else Channel.PAGE),
        request_id=get_request_id(),
        trace_id=request.trace_id,
        inputs=dict(request.inputs),
        offline=request.offline,
        has_untrusted_inputs=request.marks.has_untrusted_inputs,
        is_chosen_by_untrusted=request.marks.is_chosen_by_untrusted,
        memories_in_inputs=list(request.marks.memories),
        debug=request.debug,
        queued_at=timezone.now(),
    )
    if request.mocks:
        run.mocks = mask_mocks(request.mocks, load_redactor(run))
    note_call(run)
    run.system = _build_system_variables(request, run)
    run.save(force_insert=True)
    attach_files(principal, run)
    if request.reused_run is not None:
        copy_steps(run, request.reused_run, request.reused_steps)
    if request.typed_steps:
        insert_typed_values(run, request.typed_steps)
    if request.conversation is not None and request.query is not None:
        add_message(request.conversation, run=run, query=request.query, answer="")
    audit_lines.record(principal, run, "run.started", workflow=str(request.workflow.pk))
    transaction.on_commit(lambda: wake_worker(run.pk))
    return run


def cancel_run(principal: Principal, run: Run) -> Run:
    """Cancel the run: at once if no worker executes it, otherwise within a second.

    A run that has ended stays unchanged. Cancelling twice changes nothing.
    """
    permissions.check_cancel(principal, run)
    with tenant([run.team_id]):
        lock_parent(run)
        locked = Run.objects.unscoped().select_for_update(of=("self",)).get(pk=run.pk)
        if locked.has_ended or locked.cancel_requested_at is not None:
            return locked
        locked.cancel_requested_at = timezone.now()
        if locked.status == RunStatus.RUNNING:
            locked.save(update_fields=["cancel_requested_at"])
            transaction.on_commit(lambda: announce_cancel(locked.pk))
        else:
            stop_unclaimed(locked)
            settle_relatives(locked)
        audit_lines.record(principal, locked, "run.cancelled")
    return locked


def add_event(run: Run, event: Event) -> None:
    """Add an event, whose number the caller saves with the run. The caller has locked a run that no worker executes."""
    run.last_seq += 1
    RunEvent.objects.create(
        team_id=run.team_id, run=run, seq=run.last_seq, name=event.name, data=to_event_data(event)
    )


def resolve_subject(principal: Principal, user_id: str | None) -> Subject:
    """Return the subject of a run, by default the principal. Raises NotFound for an account other than the principal's.

    An API key may name external users, and a member test users, who belong to that member alone.
    """
    account_id = str(principal.user_id) if principal.user_id else None
    if user_id is None or user_id == account_id:
        if principal.user_id is not None:
            return Subject(str(principal.user_id), principal.user_id)
        if visitor := get_visitor(principal):
            return Subject(visitor)
        program_id = get_service_account_id(principal)
        own_subject = make_service_subject(program_id) if program_id else principal.actor
        return Subject(own_subject)
    user_id = check_external_user(user_id)
    if _is_account(user_id) or _is_other_visitor(principal, user_id):
        raise NotFound(field="user")
    player, owner = find_player(user_id), find_service_account_id(user_id)
    if player is not None and player != principal.user_id:
        raise NotFound(field="user")  # another member's test user
    if owner is not None and owner != get_service_account_id(principal):
        raise NotFound(field="user")  # another service account of the team
    if principal.user_id is not None and player is None:
        user_id = make_persona_id(user_id, principal.user_id)
        if not is_identifier(user_id):
            # The id of the member is added to the name, and both together must be an identifier.
            message = _("user: too long. The name of a test person has 43 characters at most.")
            raise InvalidValue(message, field="user")
    return Subject(user_id)


def _is_other_visitor(principal: Principal, user_id: str) -> bool:
    """Return whether the id is that of a visitor of a public page, whom nobody else may name."""
    return is_visitor_subject(user_id) and user_id != get_visitor(principal)


def check_external_user(user_id: str) -> str:
    """Return the normalized id. Raises InvalidValue if it can't be the id of an external user."""
    user_id = normalize_identifier(user_id)
    if not is_identifier(user_id):
        raise InvalidValue(INVALID_IDENTIFIER, field="user")
    return user_id


def _is_account(user_id: str) -> bool:
    try:
        account_id = UUID(user_id)
    except ValueError:
        return False
    return User.objects.filter(pk=account_id).exists()


def select_snapshot(
    principal: Principal, workflow: Workflow, version: VersionChoice | Version | None
) -> tuple[Snapshot, Version | None]:
    """Return the snapshot to run and its version, which is None for the draft. By default select the published one.

    Raises NotAllowed if that is the draft and the principal may not start it.
    """
    if isinstance(version, Version):
        return version.snapshot, version
    published = workflow.published_version
    if version == "published" and published is None:
        raise NotPublished
    if version == "draft" or published is None:
        permissions.check_start_draft(principal, workflow)
        return take_snapshot(workflow), None
    return published.snapshot, published


def _open_conversation(principal: Principal, request: RunRequest, key: str | None) -> Conversation:
    return open_conversation(
        principal,
        workflow=request.workflow,
        subject=request.subject.id,
        subject_user_id=request.subject.user_id,
        key=key,
    )


def _build_client_conversation(call: ClientCall) -> dict[str, Json]:
    """Return the variables of a conversation that its client keeps, and that has no row here."""
    if call.messages is None:
        return {}
    return {"conversation_id": new_key(), "dialogue_count": len(call.list_turns())}


def _build_system_variables(request: RunRequest, run: Run) -> dict[str, Json]:
    """Return the run's system variables ``sys.*``, from which the engine and memory take its identity."""
    system: dict[str, Json] = {
        "user_id": request.subject.id,
        "app_id": str(request.workflow.pk),
        "workflow_id": str(request.workflow.pk),
        "workflow_run_id": str(run.pk),
        "files": [*request.files],
    }
    if request.query is not None:
        system["query"] = request.query
    if request.conversation is not None:
        system["conversation_id"] = request.conversation.key
        system["dialogue_count"] = request.conversation.dialogue_count
    return {**system, **request.system}


def stop_unclaimed(run: Run, reason: str = STOPPED) -> None:
    """Stop a run that no worker executes; its row is locked, so no worker can claim it."""
    run.status = RunStatus.STOPPED
    run.error = reason
    run.attempt += 1
    run.wake_at = None
    run.finished_at = timezone.now()
    run.elapsed = (run.finished_at - run.started_at).total_seconds() if run.started_at else 0.0
    add_event(run, RunFinished(EngineStatus.STOPPED.value, error=reason))
    run.save()
