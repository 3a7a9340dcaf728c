"""Runs started from the shell: by the operator, in a team of the machine's own."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from accounts.access import Principal, load_user_principal
from accounts.models import User
from accounts.services import create_team
from accounts.tenancy import tenant
from config.encryption.crypto import encrypt
from workflows.engine.language.document import Document, Json
from workflows.engine.language.start_form import check_start
from workflows.engine.testing.backends import Request
from workflows.execution.plans import prepare
from workflows.models import Conversation, Run, Workflow, WorkflowSecret
from workflows.services.chat.conversations import open_conversation, save_variables
from workflows.services.editor.snapshots import store_snapshot
from workflows.services.runs.runs import Order, Subject, queue_run


EMAIL = "shell@localhost"
WORKFLOW = "shell"


@dataclass(frozen=True, slots=True)
class Operator:
    """Who sits at the shell, as the database knows them."""

    principal: Principal
    team_id: UUID


def operator() -> Operator:
    """Made on first use; has no password, so nobody signs in as it."""
    user = User.objects.filter(email=EMAIL).first() or User.objects.create_user(EMAIL, name="Shell")
    if not load_user_principal(user).team_ids:
        create_team(owner=user, name="Shell")
    principal = load_user_principal(user)
    return Operator(principal, min(principal.team_ids))


def queue_request(who: Operator, request: Request) -> Run:
    """The document as it stands in the request: nothing of it has to be imported first.

    Raises DocumentInvalid and InputRejected before there is a run.
    """
    inputs = request.inputs
    prepare(request.document)
    if not request.checked:
        inputs = check_start(request.document, inputs)
    with tenant([who.team_id]):
        workflow = _workflow(who, request.document)
        document = _with_env(workflow, request.document, request.env)
        subject = Subject(str(request.system.get("user_id") or "shell"))
        return queue_run(
            who.principal,
            Order(
                workflow,
                store_snapshot(workflow, document),
                None,
                subject,
                inputs,
                query=request.system.get("query"),
                conversation=_conversation(who, workflow, subject, request),
                mocks=request.mocks or None,
                offline=request.offline,
                system=request.system,
            ),
        )


def _workflow(who: Operator, document: Document) -> Workflow:
    """One row a mode for all documents; which one a run is of says its snapshot."""
    found, _made = Workflow.objects.unscoped().get_or_create(
        team_id=who.team_id,
        name=WORKFLOW,
        mode=document.mode.value,
        defaults={"dialect": document.dialect.value},
    )
    return found


def _with_env(workflow: Workflow, document: Document, given: Mapping[str, Json]) -> Document:
    """Environment values of this run; those of secret variables go where secrets go."""
    kept = []
    for item in document.environment:
        value = given.get(item.name, item.value)
        if item.value_type == "secret" and value is not None:
            WorkflowSecret.objects.unscoped().update_or_create(
                team_id=workflow.team_id,
                workflow=workflow,
                area="environment",
                name=item.name,
                defaults={"secret": encrypt(str(value))},
            )
        kept.append(replace(item, value=value))
    return replace(document, environment=tuple(kept))


def _conversation(
    who: Operator, workflow: Workflow, subject: Subject, request: Request
) -> Conversation | None:
    """A chat has one; so has any other run that is given values for conversation variables."""
    if not workflow.is_chat and not request.document.conversation:
        return None
    talk = open_conversation(
        who.principal,
        workflow=workflow,
        subject=subject.id,
        key=request.system.get("conversation_id"),
    )
    if request.conversation:
        save_variables(talk, {**talk.variables, **request.conversation})
        talk.refresh_from_db(fields=["variables"])
    return talk
