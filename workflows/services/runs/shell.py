"""Queue the runs that the operator starts from the shell, in a team of their own."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from accounts.models import User
from accounts.principals import Principal, load_user_principal
from accounts.services import create_team
from accounts.tenancy import tenant
from config.encryption.crypto import encrypt
from workflows.engine.language.document import Document, Json
from workflows.engine.language.start_form import check_start_inputs
from workflows.engine.testing.backends import Request
from workflows.execution.plans import prepare_document
from workflows.models import Conversation, Run, Workflow, WorkflowSecret
from workflows.services.chat.conversations import open_conversation, save_variables
from workflows.services.editor.snapshots import store_snapshot
from workflows.services.runs.runs import RunRequest, Subject, queue_run


EMAIL = "shell@localhost"
WORKFLOW = "shell"


@dataclass(frozen=True, slots=True)
class Operator:
    """The account of the person at the shell, and its team."""

    principal: Principal
    team_id: UUID


def get_or_create_operator() -> Operator:
    """Return the operator. The first call creates the account, without a password, so that nobody can sign in to it."""
    user = User.objects.filter(email=EMAIL).first() or User.objects.create_user(EMAIL, name="Shell")
    if not load_user_principal(user).team_ids:
        create_team(owner=user, name="Shell")
    principal = load_user_principal(user)
    return Operator(principal, min(principal.team_ids))


def queue_request(operator: Operator, request: Request) -> Run:
    """Queue a run of the document in the request without importing the document.

    Raises DocumentInvalid and InputRejected before there is a run.
    """
    inputs = request.inputs
    prepare_document(request.document)
    if not request.checked:
        inputs = check_start_inputs(request.document, inputs)
    with tenant([operator.team_id]):
        workflow = _get_workflow(operator, request.document)
        document = _set_environment(workflow, request.document, request.env)
        subject = Subject(str(request.system.get("user_id") or "shell"))
        return queue_run(
            operator.principal,
            RunRequest(
                workflow,
                store_snapshot(workflow, document),
                None,
                subject,
                inputs,
                query=request.system.get("query"),
                conversation=_open_conversation(operator, workflow, subject, request),
                mocks=request.mocks or None,
                offline=request.offline,
                system=request.system,
            ),
        )


def _get_workflow(operator: Operator, document: Document) -> Workflow:
    """Return the workflow that all documents of a mode share. The document itself is in the run's snapshot."""
    workflow, _created = Workflow.objects.unscoped().get_or_create(
        team_id=operator.team_id,
        name=WORKFLOW,
        mode=document.mode.value,
        defaults={"dialect": document.dialect.value},
    )
    return workflow


def _set_environment(
    workflow: Workflow, document: Document, values: Mapping[str, Json]
) -> Document:
    """Return the document with this run's environment values, and store those of secret variables as secrets."""
    variables = []
    for variable in document.environment:
        value = values.get(variable.name, variable.value)
        if variable.value_type == "secret" and value is not None:
            WorkflowSecret.objects.unscoped().update_or_create(
                team_id=workflow.team_id,
                workflow=workflow,
                area="environment",
                name=variable.name,
                defaults={"secret": encrypt(str(value))},
            )
        variables.append(replace(variable, value=value))
    return replace(document, environment=tuple(variables))


def _open_conversation(
    operator: Operator, workflow: Workflow, subject: Subject, request: Request
) -> Conversation | None:
    """Open the conversation of a chat, or of a run that is given values for conversation variables."""
    if not workflow.is_chat and not request.document.conversation:
        return None
    conversation = open_conversation(
        operator.principal,
        workflow=workflow,
        subject=subject.id,
        key=request.system.get("conversation_id"),
    )
    if request.conversation:
        save_variables(conversation, {**conversation.variables, **request.conversation})
        conversation.refresh_from_db(fields=["variables"])
    return conversation
