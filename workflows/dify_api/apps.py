"""The app that a request is about. The key selects it: an app is a workflow, and its published version is what runs.

A person is named by ``user``, the caller's own text. It decides whose conversations, messages and files a request may
touch: everything else doesn't exist for it, and the attempt is recorded.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from uuid import UUID

from django.http import HttpRequest

from accounts import audit
from accounts.errors import NotFound
from accounts.principals import Principal, get_principal
from accounts.tenancy import tenant
from workflows import selectors
from workflows.dify_api.errors import (
    NO_CONVERSATION,
    TEAM_KEY,
    UNPUBLISHED,
    USER_MISSING,
    DifyError,
    parse_uuid,
    refuse_as_missing,
    refuse_parameter,
)
from workflows.engine.language.document import Document
from workflows.models import Conversation, Run, Version, Workflow
from workflows.models.documents import read_document
from workflows.services.runs.runs import Subject, resolve_subject


CHAT, WORKFLOW, COMPLETION = "advanced-chat", "workflow", "completion"
# The mode that a route needs → the error of an app with another one.
_WRONG_MODES: Final = {
    CHAT: ("not_chat_app", "Please check if your app mode matches the right API route."),
    WORKFLOW: ("not_workflow_app", "Please check if your app mode matches the right API route."),
    COMPLETION: (
        "not_completion_app",
        "Please check if your Completion app mode matches the right API route.",
    ),
}


@dataclass(frozen=True)
class App:
    """The workflow that a key selects, for the service account of this key."""

    principal: Principal
    workflow: Workflow

    @property
    def mode(self) -> str:
        return CHAT if self.workflow.is_chat else WORKFLOW

    @cached_property
    def version(self) -> Version:
        """The published version. Raises DifyError for a workflow without one: a draft is never run by programs."""
        if self.workflow.published_version is None:
            raise DifyError(400, "app_unavailable", UNPUBLISHED)
        return self.workflow.published_version

    @cached_property
    def document(self) -> Document:
        return read_document(self.version.snapshot)

    def find_version(self, text: str) -> Version:
        """Return the version that a caller pins by the ``workflow_id`` of an earlier answer."""
        version_id = parse_uuid(text)
        if version_id is None:
            raise DifyError(400, "bad_request", f"Invalid workflow_id: {text[:80]}")
        versions = selectors.list_versions(self.principal, self.workflow)
        version = versions.filter(pk=version_id).first()
        if version is None:
            raise refuse_as_missing(f"Workflow not found with id: {version_id}")
        return version

    def find_subject(self, user: str | None) -> Subject:
        return resolve_subject(self.principal, read_user(user))

    def find_conversation(self, subject: Subject, text: str, action: str) -> Conversation:
        """Return the person's conversation. Raises DifyError, and records the attempt, if it is not theirs."""
        if parse_uuid(text) is None:
            message = f"{text[:80]} is not a valid conversation_id."
            raise refuse_parameter(message, "conversation_id")
        rows = Conversation.objects.visible_to(self.principal).select_related("workflow", "api_key")
        conversation = rows.filter(
            workflow=self.workflow, subject=subject.id, key=text.strip()
        ).first()
        if conversation is None:
            self.record_refusal(action, "conversation", text)
            raise refuse_as_missing(NO_CONVERSATION)
        return conversation

    def find_run(self, text: str) -> Run | None:
        """Return a run of the app that a key of this service account started, or None."""
        run_id = parse_uuid(text)
        if run_id is None:
            return None
        rows = selectors.list_runs(self.principal, workflow=self.workflow)
        return rows.select_related("workflow", "version", "conversation").filter(pk=run_id).first()

    def record_refusal(self, action: str, kind: str, text: str) -> None:
        """Record that somebody asked for a thing that is not theirs, or that isn't there."""
        with tenant([self.workflow.team_id]):
            audit.record(
                team_id=self.workflow.team_id,
                actor=self.principal.actor,
                actor_kind=self.principal.kind,
                action="access.refused",
                subject=f"{kind}:{parse_uuid(text) or '?'}",
                detail={"op": action},
                success=False,
            )


def open_app(request: HttpRequest, *modes: str, verb: str = "view") -> App:
    """Return the app of the request's key. Raises DifyError for a team's key, and for an app of another mode."""
    principal = get_principal(request)
    if principal.workflow_id is None:
        raise DifyError(403, "forbidden", TEAM_KEY)
    try:
        workflow = selectors.find_workflow(principal, principal.workflow_id, verb)
    except NotFound:
        raise DifyError(403, "forbidden", "The app no longer exists.") from None
    if workflow.is_archived:
        raise DifyError(403, "forbidden", "The app's API service has been disabled.")
    app = App(principal, workflow)
    check_mode(app, modes)
    return app


def check_mode(app: App, modes: Sequence[str]) -> None:
    """Raise DifyError unless the app has one of the modes. A workflow also serves what Dify calls a completion app."""
    served = {app.mode, COMPLETION} if app.mode == WORKFLOW else {app.mode}
    if modes and served.isdisjoint(modes):
        code, message = _WRONG_MODES[modes[0]]
        raise DifyError(400, code, message)


def read_user(user: str | None) -> str:
    """Return the user that a request names. Raises DifyError without one: there is no user that all callers share."""
    if user is None or not user.strip():
        raise refuse_parameter(USER_MISSING, "user")
    return user


def make_end_user_id(workflow_id: UUID, subject: str) -> UUID:
    """Return the id of a person in an app. ``people.find_end_user`` computes the same in the database."""
    text = f"{workflow_id}:{subject}".encode()
    return UUID(hashlib.md5(text, usedforsecurity=False).hexdigest())
