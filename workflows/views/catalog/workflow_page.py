"""The template context of a workflow's page, with its chat pane or its run form, and readers of the form's fields."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.http import HttpRequest

from accounts.errors import NotFound
from accounts.personas import strip_player
from accounts.principals import Principal
from config.ids import normalize_identifier
from workflows import permissions, selectors
from workflows.engine.language.document import Document, Json, NodeSpec
from workflows.engine.language.memory_usage import list_memory_scopes
from workflows.execution.kinds import load_kinds
from workflows.files.shown import ShownFile
from workflows.forms import build_input_fields, build_message_choice
from workflows.models import Conversation, Feedback, Run, Workflow
from workflows.models.documents import from_json
from workflows.samples import SAMPLES_BY_SLUG
from workflows.services.chat.suggestions import offers_follow_ups
from workflows.services.chat.wishes_to_forget import (
    NO_WISHES,
    Wishes,
    is_dry_run,
    load_wishes,
)
from workflows.services.editor.drafts import list_problems, load_draft
from workflows.services.files.linked import load_linked_files
from workflows.services.models.mappings import load_directory_for
from workflows.services.runs.citations import Citation, load_citations
from workflows.services.runs.feedback import load_own_feedback
from workflows.services.runs.memory_streams import MemoryStream
from workflows.services.runs.runs import VersionChoice, check_external_user, resolve_subject
from workflows.views.chat.addresses import MemberChatUrls, TurnUrls
from workflows.views.chat.empty_answers import EmptyAnswer, load_empty_answers
from workflows.views.chat.failure_texts import (
    Remedy,
    describe_failure,
    describe_no_answer,
    find_remedy,
    list_failure_texts,
    load_failed_titles,
)
from workflows.views.chat.pane_memories import PaneMemories, load_pane_memories
from workflows.views.chat.start_fields import build_fields_context
from workflows.views.chat.turns import get_answer
from workflows.views.request_context import read_text
from workflows.views.runs.answering_models import (
    NO_ANSWERS,
    RunAnswers,
    load_run_answers,
    split_reasoning,
)


MAX_RECENT_RUNS = 8
MAX_RECENT_PEOPLE = 6
MAX_TURNS = 50
MAX_EARLIER = 8
MAX_SUGGESTIONS = 4
# The form field beside the inputs; no input has a dot in its name.
GROUP_FIELD = "sys.group_id"


@dataclass(frozen=True, slots=True)
class PaneTurn:
    """A query and its answer in the chat pane; ``end_texts`` are shown when the run of a live turn ends."""

    run_id: UUID
    query: str
    answer: str
    is_live: bool
    failed: bool
    end_texts: Mapping[str, str]
    no_answer: str = ""  # in place of an answer without text
    status: str = ""
    memories: PaneMemories | None = None
    in_sandbox: bool = False
    pinned: str = ""  # ids of the pinned nodes, separated by spaces
    has_questions: bool = False  # the run has paused, perhaps for an answer
    answers: RunAnswers = NO_ANSWERS
    reasoning: str = ""
    feedback: Feedback | None = None  # the reader's own
    files: Sequence[Json] = ()  # of the message
    answer_files: Sequence[Json] = ()
    linked_files: Mapping[UUID, ShownFile] = field(default_factory=dict)  # that the answer shows
    citations: Sequence[Citation] = ()
    remedy: Remedy | None = None
    wishes: Wishes = NO_WISHES
    urls: TurnUrls | None = None
    last_event: int = 0  # the number of the last event when the page was made
    empty_answers: Sequence[EmptyAnswer] = ()
    offers_follow_ups: bool = False  # whether what to ask next is loaded below it

    @property
    def has_no_memories(self) -> bool:
        """Return whether no memory was recalled or stored, or not yet."""
        return self.memories is None or self.memories.is_empty

    @property
    def has_nothing_to_explain(self) -> bool:
        return self.has_no_memories and not self.empty_answers


def build_workflow_context(
    request: HttpRequest, principal: Principal, workflow: Workflow
) -> dict[str, Any]:
    """Build the context with the chat pane of a chat, or with the run form of another workflow."""
    document = get_document(principal, workflow)
    models = load_directory_for(workflow.team_id, document.nodes)
    problems = list_problems(workflow, document, models)
    visible_runs = Run.objects.visible_to(principal).filter(workflow=workflow)
    runs = list(visible_runs.select_related("workflow", "subject_user")[:MAX_RECENT_RUNS])
    context = {
        "workflow": workflow,
        "document": document,
        "models": models,
        "problems": problems,
        "has_errors": any(problem.is_error for problem in problems),
        "can_edit": permissions.may_edit(principal, workflow),
        "can_run": permissions.may_start(principal, workflow),
        "runs": runs,
        "person": read_person(request.GET),
    }
    if workflow.is_chat:
        return context | build_pane_context(request.GET, principal, workflow, document)
    person = read_person(request.GET)
    subject = resolve_subject(principal, person).id if person else None
    last_run = find_last_run(principal, workflow, subject) if context["can_run"] else None
    return context | {
        "last_run": last_run,
        "started": last_run,
        "fields": build_input_fields(
            document,
            last_inputs=_find_last_inputs(principal, runs) or _get_trial_inputs(workflow),
        ),
        "by_conversation": "conversation" in list_memory_scopes(document, load_kinds()),
        **build_group_context(request.GET, document),
    }


def _find_last_inputs(principal: Principal, runs: Sequence[Run]) -> Mapping[str, Json]:
    """Return the inputs of the last run that the caller started from a page, to prefill the form."""
    own_runs = (r for r in runs if r.started_by_id == principal.user_id and r.api_key_id is None)
    return next((run.inputs for run in own_runs), {})


def _get_trial_inputs(workflow: Workflow) -> Mapping[str, Json]:
    """Return the inputs of a sample's first test case, so that a copy that nobody has run yet can be run at once."""
    sample = SAMPLES_BY_SLUG.get(workflow.sample or "")
    return sample.trial_inputs if sample else {}


def choose_version(principal: Principal, workflow: Workflow) -> VersionChoice | None:
    """Return the version that the page runs: "draft" for editors, or None for the published version."""
    return "draft" if permissions.may_edit(principal, workflow) else None


def load_published_document(workflow: Workflow) -> Document | None:
    version = workflow.published_version
    return from_json(version.snapshot.document) if version else None


def get_document(principal: Principal, workflow: Workflow) -> Document:
    """Return the document that the page shows and runs: the draft if the caller may edit or nothing is published."""
    published = workflow.published_version
    if published is None or choose_version(principal, workflow) == "draft":
        return load_draft(workflow)
    return from_json(published.snapshot.document)


def get_node(document: Document, node_id: str) -> NodeSpec:
    """Return the node with this id; raise NotFound if there is none."""
    node = next((node for node in document.nodes if node.id == node_id), None)
    if node is None:
        raise NotFound
    return node


def build_pane_context(
    query: Mapping[str, str], principal: Principal, workflow: Workflow, document: Document
) -> dict[str, Any]:
    """Build the context of the pane with the requested conversation, by default that of the person's last run.

    It is empty with ``new``, and if the conversation isn't the person's own.
    """
    person = read_person(query)
    subject = resolve_subject(principal, person or None).id
    conversation = find_conversation(principal, workflow, subject, read_text(query, "conversation"))
    last_run = find_last_run(principal, workflow, subject, conversation)
    if conversation is None and last_run and not {"conversation", "new"} & query.keys():
        conversation = last_run.conversation
    return {
        "last_run": last_run,
        "person": person,
        **build_group_context(query, document),
        "people": list_recent_people(principal, workflow),
        "conversation": conversation,
        "messages_of_conversation": list_pane_turns(principal, workflow, document, conversation)
        if conversation
        else [],
        "earlier": selectors.list_recent_conversations(
            principal,
            workflow,
            subject,
            excluded_key=conversation.key if conversation else "",
            limit=MAX_EARLIER,
        ),
        "opening": get_opening(document),
        "remembers_users": "user" in list_memory_scopes(document, load_kinds()),
        "suggestions": list_suggestions(document),
        "file_choice": build_message_choice(document),
        **build_fields_context(
            document,
            last_run.inputs if last_run else _get_trial_inputs(workflow),
            is_new=conversation is None,
        ),
    }


def find_conversation(
    principal: Principal, workflow: Workflow, subject: str, key: str
) -> Conversation | None:
    """Return the conversation that ``open_conversation`` would continue, or None if it belongs to another person."""
    if not key:
        return None
    visible = Conversation.objects.visible_to(principal)
    rows = visible.filter(workflow=workflow, subject=subject, key=normalize_identifier(key))
    return rows.first()


def find_last_run(
    principal: Principal,
    workflow: Workflow,
    subject: str | None = None,
    conversation: Conversation | None = None,
) -> Run | None:
    """Return the last run that the caller started on a page, for this person, and in this conversation if there is one."""
    runs = Run.objects.visible_to(principal).filter(
        workflow=workflow, started_by_id=principal.user_id, api_key=None, parent=None
    )
    if subject is not None:
        runs = runs.filter(subject=subject)
    if conversation is not None:
        runs = runs.filter(conversation=conversation)
    return runs.select_related("conversation").order_by("-created_at", "-id").first()


def read_person(data: Mapping[str, str]) -> str:
    """Return the id of the requested external user, or an empty string for the caller.

    An invalid id is rejected and never taken for the caller, because another person's messages would then be stored in
    the caller's memory.
    """
    person = read_text(data, "person")
    return check_external_user(person) if person else ""


def build_group_context(data: Mapping[str, str], document: Document) -> dict[str, Any]:
    """Return the requested group, and whether runs need one because the workflow has group memory."""
    return {"by_group": uses_groups(document), "group": read_text(data, GROUP_FIELD)}


def uses_groups(document: Document) -> bool:
    return "workflow" in list_memory_scopes(document, load_kinds())


def read_memory_stream(data: Mapping[str, str]) -> MemoryStream | None:
    """Return the memory stream of the group that a form requests; None without a group."""
    group = read_text(data, GROUP_FIELD)
    return MemoryStream(group) if group else None


def list_pane_turns(
    principal: Principal, workflow: Workflow, document: Document, conversation: Conversation
) -> list[PaneTurn]:
    """Return the last turns, built from runs: a pending run has no message yet, and a failed run never gets one."""
    runs = Run.objects.visible_to(principal).filter(conversation=conversation)
    return build_pane_turns(principal, workflow, document, list(reversed(runs[:MAX_TURNS])))


def build_pane_turns(
    principal: Principal, workflow: Workflow, document: Document, runs: Sequence[Run]
) -> list[PaneTurn]:
    """Build the turns of these runs, the newest last. ``document`` is the one that the page shows."""
    can_edit = permissions.may_edit(principal, workflow)
    end_texts = list_failure_texts(can_edit=can_edit)
    titles = load_failed_titles(principal, runs)
    memories = load_pane_memories(principal, runs)
    wishes = load_wishes(
        principal,
        workflow.team_id,
        [
            event
            for run in runs
            if run.pk in memories and not is_dry_run(run)
            for event in memories[run.pk].wishes
        ],
    )
    answers = load_run_answers(principal, runs)
    texts = {run.pk: split_reasoning(get_answer(run)) for run in runs}
    feedback = load_own_feedback(principal, runs)
    citations = load_citations(principal, runs)
    linked_files = load_linked_files(principal, [texts[run.pk][0] for run in runs])
    empty_answers = load_empty_answers(principal, runs)
    newest = runs[-1] if runs and offers_follow_ups(document.features) else None
    return [
        PaneTurn(
            run_id=run.pk,
            query=str(run.system.get("query", "")),
            answer=describe_failure(run, can_edit=can_edit, titles=titles)
            if _has_failed(run)
            else texts[run.pk][0],
            is_live=not run.has_ended,
            failed=_has_failed(run),
            end_texts=end_texts,
            no_answer=describe_no_answer(run, end_texts),
            status=run.status,
            memories=memories.get(run.pk),
            in_sandbox=(run.debug or {}).get("memory") == "sandbox",
            pinned=" ".join(run.mocks or {}),
            has_questions=run.pause is not None,
            answers=answers.get(run.pk, NO_ANSWERS),
            reasoning=texts[run.pk][1] or answers.get(run.pk, NO_ANSWERS).reasoning,
            feedback=feedback.get(run.pk),
            files=run.system.get("files") or (),
            answer_files=(run.outputs or {}).get("files") or (),
            linked_files=linked,
            citations=citations.get(run.pk, ()),
            remedy=find_remedy(run, can_edit=can_edit),
            wishes=wishes.get(run.pk, NO_WISHES),
            urls=MemberChatUrls(workflow.pk).get_turn(run.pk),
            last_event=run.last_seq,
            empty_answers=empty_answers.get(run.pk, ()),
            offers_follow_ups=run is newest,
        )
        for run, linked in zip(runs, linked_files, strict=True)
    ]


def _has_failed(run: Run) -> bool:
    return run.has_ended and bool(run.error)


def list_recent_people(principal: Principal, workflow: Workflow) -> Sequence[str]:
    """Return the external users for whom the caller ran the workflow, last used first."""
    runs = Run.objects.visible_to(principal).filter(
        workflow=workflow, started_by_id=principal.user_id, subject_user__isnull=True
    )
    subjects = runs.order_by("-created_at", "-id").values_list("subject", flat=True)[:200]
    return list(dict.fromkeys(map(strip_player, subjects)))[:MAX_RECENT_PEOPLE]


def get_opening(document: Document) -> str:
    """Return the opening statement of a chat; empty if there is none."""
    opening = document.features.get("opening_statement")
    return opening if isinstance(opening, str) and opening.strip() else ""


def list_suggestions(document: Document) -> list[str]:
    questions = document.features.get("suggested_questions")
    return list(map(str, questions[:MAX_SUGGESTIONS])) if isinstance(questions, list) else []
