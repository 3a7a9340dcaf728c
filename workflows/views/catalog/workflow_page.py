"""What the page of one workflow shows; the chat pane and the run form are parts of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.utils.translation import gettext as _

from accounts.personas import strip_player
from accounts.principals import Principal
from workflows import permissions, selectors
from workflows.engine.language.document import Document, Json
from workflows.engine.language.memory_usage import list_memory_scopes
from workflows.engine.language.validation import validate
from workflows.forms import build_input_fields
from workflows.models import Conversation, Run, Workflow
from workflows.models.documents import from_json
from workflows.services.editor.drafts import draft_document
from workflows.services.kinds import installed_kinds
from workflows.services.runs.memory_streams import MemoryStream
from workflows.services.runs.runs import VersionChoice, check_external_user, resolve_subject
from workflows.views.chat.failure_texts import sentences, titles_of, told
from workflows.views.request_context import typed


RECENT_RUNS = 8
RECENT_PEOPLE = 6
TURNS_SHOWN = 50
EARLIER_SHOWN = 8
# The form field beside the inputs; no input has a dot in its name.
GROUP = "sys.group_id"


@dataclass(frozen=True, slots=True)
class Turn:
    """One question and its answer in the chat pane; ``ends``: what the page says of a live one's end."""

    run_id: UUID
    query: str
    answer: str
    is_live: bool
    failed: bool
    ends: Mapping[str, str]
    in_sandbox: bool = False
    pinned: str = ""  # ids of the nodes whose results were pinned, with blanks between


def workflow_page(request: HttpRequest, principal: Principal, workflow: Workflow) -> dict[str, Any]:
    document = document_for(principal, workflow)
    problems = list(validate(document, installed_kinds()))
    mine = Run.objects.visible_to(principal).filter(workflow=workflow)
    runs = list(mine.select_related("workflow", "subject_user")[:RECENT_RUNS])
    context = {
        "workflow": workflow,
        "document": document,
        "problems": problems,
        "has_errors": any(p.severity == "error" for p in problems),
        "can_edit": permissions.may_edit(principal, workflow),
        "can_run": permissions.may_run(principal, workflow),
        "runs": runs,
        "person": person_of(request.GET),
    }
    if workflow.is_chat:
        return context | chat_pane(request.GET, principal, workflow, document)
    return context | {
        "fields": build_input_fields(document, last=_last_inputs(principal, runs)),
        "by_conversation": "conversation" in list_memory_scopes(document, installed_kinds()),
        **group_asked(request.GET, document),
    }


def _last_inputs(principal: Principal, runs: Sequence[Run]) -> Mapping[str, Json]:
    """What this person gave the newest run they started from a page: the form begins with it."""
    own = (r for r in runs if r.started_by_id == principal.user_id and r.api_key_id is None)
    return next((run.inputs for run in own), {})


def version_for(principal: Principal, workflow: Workflow) -> VersionChoice | None:
    """What a run from the page runs: the draft one may change, else what is published."""
    return "draft" if permissions.may_edit(principal, workflow) else None


def document_for(principal: Principal, workflow: Workflow) -> Document:
    """What the page shows, which is what it runs."""
    published = workflow.published_version
    if published is None or version_for(principal, workflow) == "draft":
        return draft_document(workflow)
    return from_json(published.snapshot.document)


def chat_pane(
    asked: Mapping[str, str], principal: Principal, workflow: Workflow, document: Document
) -> dict[str, Any]:
    """The conversation asked for, if it is one of this person's; else an empty pane."""
    person = person_of(asked)
    subject = resolve_subject(principal, person or None).id
    conversation = find_conversation(principal, workflow, subject, typed(asked, "conversation"))
    return {
        "person": person,
        **group_asked(asked, document),
        "people": people_of(principal, workflow),
        "conversation": conversation,
        "messages_of_conversation": turns_of(principal, workflow, conversation)
        if conversation
        else [],
        "earlier": selectors.list_recent_conversations(
            principal,
            workflow,
            subject,
            excluded_key=conversation.key if conversation else "",
            limit=EARLIER_SHOWN,
        ),
        "opening": _opening(document),
        "suggestions": _suggestions(document),
    }


def find_conversation(
    principal: Principal, workflow: Workflow, subject: str, key: str
) -> Conversation | None:
    """As ``open_conversation`` would go on with it: another person's is none, also one's own other self's."""
    if not key:
        return None
    visible = Conversation.objects.visible_to(principal)
    return visible.filter(workflow=workflow, subject=subject, key=key).first()


def person_of(data: Mapping[str, str]) -> str:
    """The outside person asked for; nothing for oneself.

    What could be no id is refused, never taken for oneself: that would put a stranger's words into
    one's own memory.
    """
    named = typed(data, "person")
    return check_external_user(named) if named else ""


def group_asked(data: Mapping[str, str], document: Document) -> dict[str, Any]:
    """Whether its runs need a group, because it remembers as a workflow; and the one typed or linked to."""
    return {
        "by_group": "workflow" in list_memory_scopes(document, installed_kinds()),
        "group": typed(data, GROUP),
    }


def stream_of(data: Mapping[str, str]) -> MemoryStream | None:
    """Whose the workflow's own memory is in the run that a form asks for."""
    group = typed(data, GROUP)
    return MemoryStream(group) if group else None


def turns_of(principal: Principal, workflow: Workflow, conversation: Conversation) -> list[Turn]:
    """From the runs, not the messages: a run under way has no message yet, a failed one never."""
    runs = Run.objects.visible_to(principal).filter(conversation=conversation)
    return turns_from(principal, workflow, list(reversed(runs[:TURNS_SHOWN])))


def turns_from(principal: Principal, workflow: Workflow, runs: Sequence[Run]) -> list[Turn]:
    can_edit = permissions.may_edit(principal, workflow)
    ends, titles = sentences(can_edit=can_edit), titles_of(principal, runs)
    return [
        Turn(
            run_id=run.pk,
            query=str(run.system.get("query", "")),
            answer=told(run, can_edit=can_edit, titles=titles)
            if _failed(run)
            else str((run.outputs or {}).get("answer", "")),
            is_live=not run.has_ended,
            failed=_failed(run),
            ends=ends,
            in_sandbox=(run.debug or {}).get("memory") == "sandbox",
            pinned=" ".join(run.mocks or {}),
        )
        for run in runs
    ]


def _failed(run: Run) -> bool:
    return run.has_ended and bool(run.error)


def people_of(principal: Principal, workflow: Workflow) -> Sequence[str]:
    """Outside persons this member was in tests of this workflow, newest first."""
    runs = Run.objects.visible_to(principal).filter(
        workflow=workflow, started_by_id=principal.user_id, subject_user__isnull=True
    )
    newest = runs.order_by("-created_at", "-id").values_list("subject", flat=True)[:200]
    return list(dict.fromkeys(map(strip_player, newest)))[:RECENT_PEOPLE]


def _opening(document: Document) -> str:
    words = document.features.get("opening_statement")
    if isinstance(words, str) and words.strip():
        return words
    return _("Send a message to see which nodes run and what is remembered.")


def _suggestions(document: Document) -> list[str]:
    found = document.features.get("suggested_questions")
    return [str(s) for s in found[:4]] if isinstance(found, list) else []
