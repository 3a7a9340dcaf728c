"""A call of a webhook starts a run of the published version, or, while somebody waits for it, of the draft."""

import hashlib
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import ValidationError

from accounts.access import Principal
from accounts.errors import AccountsFault, NotFound
from accounts.tenancy import tenant
from workflows.engine.errors import EngineFault
from workflows.engine.language.document import Json
from workflows.engine.triggers.calls import TriggerCall
from workflows.engine.triggers.webhooks import Authentication, WebhookConfig
from workflows.errors import (
    CallRefused,
    KeyInUse,
    KeyReused,
    TriggerStopped,
    WorkflowFault,
)
from workflows.models import Run, Trigger
from workflows.models.run import Channel
from workflows.services import idempotency
from workflows.services.files.uploading import upload_file
from workflows.services.idempotency import ClaimedKey, StoredAnswer
from workflows.services.runs.runs import VersionChoice, start_run
from workflows.services.triggers.addresses import read_secret
from workflows.services.triggers.keys import load_trigger_principal
from workflows.services.triggers.requests import (
    SIGNATURE_HEADER,
    CallValues,
    ReceivedCall,
    check_call,
    choose_answer_type,
    read_values,
)


IDEMPOTENCY_HEADER: Final = "Idempotency-Key"
# What a call may do wrong, or what may keep a run from starting. The trigger's page shows the last of them.
FAULTS: Final = (AccountsFault, EngineFault, WorkflowFault)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a call, as the node draws it."""

    status: int
    body: str
    content_type: str
    run_id: UUID | None = None
    is_replayed: bool = False


def receive_call(trigger: Trigger, call: ReceivedCall) -> Answer:
    """Start a run with the call and return the answer. A repeated call with an Idempotency-Key gets the first answer.

    Raises NotFound while the webhook isn't published, TriggerStopped while it is switched off, and CallRefused.
    """
    if not trigger.is_published or trigger.workflow.is_archived:
        raise NotFound
    try:
        answer = _start(trigger, call)
    except FAULTS as fault:
        note_error(trigger, fault)
        raise
    if answer.run_id is not None:
        note_run(trigger, answer.run_id)
    return answer


def _start(trigger: Trigger, call: ReceivedCall) -> Answer:
    if not trigger.is_on:
        raise TriggerStopped
    config = read_config(trigger.settings)
    check_call(config, call, read_secret(trigger))
    principal = load_trigger_principal(trigger)
    with tenant([trigger.team_id]):
        claimed = _claim_key(principal, trigger, call)
        if isinstance(claimed, StoredAnswer):
            content_type = choose_answer_type(claimed.body)
            return Answer(claimed.status, claimed.body, content_type, is_replayed=True)
        if config.authentication is Authentication.SIGNATURE:
            _claim_signature(principal, trigger, call)
        run = start_run_of_call(principal, trigger, read_values(config, call), version="published")
        answer = build_answer(config, run)
        if claimed is not None:
            idempotency.store_answer(
                claimed, status=answer.status, body=answer.body, object_id=run.pk
            )
    return answer


def start_run_of_call(
    principal: Principal, trigger: Trigger, values: CallValues, *, version: VersionChoice
) -> Run:
    """Store the files of a call and start a run with its values. Raises InputRejected, which names what is missing."""
    inputs: dict[str, Json] = dict(values.values)
    for name, upload in values.files.items():
        file = upload_file(principal, trigger.team_id, upload, workflow=trigger.workflow)
        inputs[name] = {"id": str(file.pk)}
    return start_run(
        principal,
        workflow=trigger.workflow,
        version=version,
        inputs=inputs,
        channel=Channel.WEBHOOK,
        trigger=TriggerCall(trigger.node_id, values.whole_call),
    )


def read_config(settings: object) -> WebhookConfig:
    """Return the settings of a webhook. Raises TriggerStopped if a newer release rejects what an older one accepted."""
    try:
        return WebhookConfig.model_validate(settings)
    except ValidationError as error:
        message = _("The settings of this trigger are no longer valid. Publish the workflow again.")
        raise TriggerStopped(message) from error


def build_answer(config: WebhookConfig, run: Run) -> Answer:
    body = config.response_body if config.response_body.strip() else f'{{"run_id": "{run.pk}"}}'
    return Answer(config.status_code, body, choose_answer_type(body), run.pk)


def note_run(trigger: Trigger, run_id: UUID) -> None:
    """Note the last run in a transaction of its own, so that calls of the same webhook don't wait for each other."""
    with tenant([trigger.team_id]):
        Trigger.objects.unscoped().filter(pk=trigger.pk).update(
            last_at=timezone.now(), last_run_id=run_id
        )


def note_error(trigger: Trigger, error: Exception) -> None:
    with tenant([trigger.team_id]):
        Trigger.objects.unscoped().filter(pk=trigger.pk).update(
            error=describe_error(error), error_at=timezone.now()
        )


def describe_error(error: Exception) -> str:
    """Return the message of an error, with the fields that are at fault."""
    problems = getattr(error, "problems", ())
    texts = [problem.message for problem in problems] or [str(error) or type(error).__name__]
    return "; ".join(texts)[:1000]


def _claim_key(
    principal: Principal, trigger: Trigger, call: ReceivedCall
) -> ClaimedKey | StoredAnswer | None:
    key = call.headers.get(IDEMPOTENCY_HEADER)
    if key is None:
        return None
    # Under a name of the trigger's own: two webhooks of a workflow have the same sender.
    name = f"{trigger.pk} {idempotency.check_key(key)}"
    return idempotency.claim_key(
        principal, trigger.team_id, key=_hash(name), digest=_compute_digest(call)
    )


def _claim_signature(principal: Principal, trigger: Trigger, call: ReceivedCall) -> None:
    """Raise CallRefused if this signature was accepted before: somebody repeats a call that they saw."""
    name = f"{trigger.pk} signature {call.headers[SIGNATURE_HEADER]}"
    try:
        idempotency.claim_key(
            principal, trigger.team_id, key=_hash(name), digest=_compute_digest(call)
        )
    except (KeyInUse, KeyReused) as error:
        message = _("This call has been accepted already. Sign each call with a time of its own.")
        raise CallRefused(message, status=409) from error


def _compute_digest(call: ReceivedCall) -> str:
    query = sorted(call.query.items())
    return _hash(f"{call.method} {call.content_type} {query}\n".encode() + call.body)


def _hash(text: str | bytes) -> str:
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()
