"""Messages, their files and the feedback on them, as Dify's clients know them.

A message is a turn of a conversation, by its own id. The answer of a run without a conversation has the id of the run.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db.models import QuerySet

from accounts.principals import Principal
from workflows import selectors
from workflows.dify_api.answers import read_answer
from workflows.dify_api.apps import App, make_end_user_id
from workflows.dify_api.bodies import FeedbackBody, FeedbacksQuery, MessagesQuery
from workflows.dify_api.calls import to_seconds
from workflows.dify_api.errors import NO_MESSAGE, DifyError, parse_uuid, refuse_as_missing
from workflows.engine.language.document import Json
from workflows.engine.language.values import get_file_attribute
from workflows.models import Conversation, Feedback, Message, Run, StepPart
from workflows.models.reports.feedback import Rating
from workflows.models.run import RunStatus
from workflows.services.chat.follow_ups import suggest_follow_ups
from workflows.services.chat.suggestions import offers_follow_ups
from workflows.services.runs.citations import Citation, load_citations, serialize_citations
from workflows.services.runs.feedback import give_feedback, take_feedback_back
from workflows.services.runs.runs import Subject


RATINGS: Final[Mapping[str, Rating]] = {"like": Rating.UP, "dislike": Rating.DOWN}
RATING_NAMES: Final = {rating.value: name for name, rating in RATINGS.items()}
TOOL_CALL: Final = "agent-tool"


@dataclass(frozen=True, slots=True)
class Turn:
    """A message that a request names: its run, and its conversation if it has one."""

    id: str
    run: Run
    conversation: Conversation | None = None


def list_page(app: App, conversation: Conversation, query: MessagesQuery) -> dict[str, Json]:
    """Return the newest messages, or those before ``first_id``, in the order in which they were sent."""
    rows = Message.objects.visible_to(app.principal).filter(conversation=conversation)
    if query.first_id:
        first_id = parse_uuid(query.first_id)
        first = rows.filter(pk=first_id).first() if first_id else None
        if first is None:
            raise refuse_as_missing("First Message Not Exists.")
        rows = rows.filter(number__lt=first.number)
    page = list(rows.select_related("run").order_by("-number")[: query.limit + 1])
    rows_of_page = page[: query.limit][::-1]
    return {
        "limit": query.limit,
        "has_more": len(page) > query.limit,
        "data": _describe_all(app, conversation, rows_of_page),
    }


def find_turn(app: App, subject: Subject, text: str, action: str) -> Turn:
    """Return the person's message. Raises DifyError, and records the attempt, if it is not theirs."""
    message_id = parse_uuid(text)
    turn = _find_turn(app, message_id) if message_id else None
    if turn is None or turn.run.subject != subject.id:
        app.record_refusal(action, "message", text)
        raise refuse_as_missing(NO_MESSAGE)
    return turn


def rate(app: App, subject: Subject, turn: Turn, body: FeedbackBody) -> None:
    """Store the person's feedback. Without a rating, the earlier one is taken back."""
    author = make_author(app, subject.id)
    if body.rating is None:
        take_feedback_back(app.principal, turn.run, author=author)
        return
    give_feedback(
        app.principal, turn.run, rating=RATINGS[body.rating], text=body.content, author=author
    )


def list_feedback(app: App, query: FeedbacksQuery) -> dict[str, Json]:
    """Return the feedback on all messages of the app that belong to its programs, newest first."""
    runs = selectors.list_runs(app.principal, workflow=app.workflow).order_by()
    rows = Feedback.objects.visible_to(app.principal).filter(run__in=runs.values("pk"))
    start = (query.page - 1) * query.limit
    page = list(rows.order_by("-created_at", "-id")[start : start + query.limit])
    messages = Message.objects.visible_to(app.principal).select_related("conversation")
    by_run = {each.run_id: each for each in messages.filter(run__in=[row.run_id for row in page])}
    subjects = dict(
        Run.objects.visible_to(app.principal)
        .filter(pk__in=[row.run_id for row in page])
        .values_list("pk", "subject")
    )
    return {
        "data": [
            _describe_feedback(app, row, by_run.get(row.run_id), subjects.get(row.run_id, ""))
            for row in page
        ]
    }


def suggest(app: App, turn: Turn) -> list[str]:
    """Return what the person may ask after a message. Raises DifyError where the app suggests nothing."""
    features = app.document.features
    if not offers_follow_ups(features):
        raise DifyError(400, "bad_request", "Suggested Questions Is Disabled.")
    rows = Message.objects.visible_to(app.principal).select_related("conversation", "run")
    message = rows.filter(run=turn.run).first()
    return suggest_follow_ups(app.principal, features, message) if message else []


def make_author(app: App, subject: str) -> str:
    """Return the author of feedback that a program passes on from a person, whichever of its keys it uses."""
    return f"end_user:{make_end_user_id(app.workflow.pk, subject)}"


def _find_turn(app: App, message_id: UUID) -> Turn | None:
    rows = Message.objects.visible_to(app.principal).select_related("conversation", "run__workflow")
    message = rows.filter(pk=message_id, conversation__workflow=app.workflow).first()
    if message is not None:
        run = app.find_run(str(message.run_id)) if message.run_id else None
        return Turn(str(message.pk), run, message.conversation) if run else None
    run = app.find_run(str(message_id))
    return Turn(str(message_id), run, run.conversation) if run else None


def _describe_all(app: App, conversation: Conversation, rows: Sequence[Message]) -> list[Json]:
    runs = [row.run for row in rows if row.run is not None]
    feedback = _load_feedback(app, runs, conversation.subject)
    citations = load_citations(app.principal, runs)
    thoughts = _load_thoughts(app.principal, rows)
    parents = _find_parents(app.principal, conversation, rows)
    return [
        _describe(
            conversation,
            row,
            parents.get(row.number),
            feedback.get(row.run_id),
            citations.get(row.run_id, ()) if row.run_id else (),
            thoughts.get(row.run_id, []),
        )
        for row in rows
    ]


def _describe(
    conversation: Conversation,
    row: Message,
    parent: UUID | None,
    feedback: str | None,
    citations: Sequence[Citation],
    thoughts: list[Json],
) -> Json:
    run = row.run
    sources = [each for each in serialize_citations(citations) if each["is_available"]]
    has_failed = run is not None and run.status == RunStatus.FAILED
    return {
        "id": str(row.pk),
        "conversation_id": conversation.key,
        "parent_message_id": str(parent) if parent else None,
        "inputs": run.inputs if run else {},
        "query": row.query,
        "answer": row.answer or (read_answer(run) if run and run.outputs else ""),
        "message_files": _describe_files(run),
        "feedback": {"rating": feedback} if feedback else None,
        "retriever_resources": sources,
        "agent_thoughts": thoughts,
        "created_at": to_seconds(row.created_at),
        "status": "error" if has_failed else "normal",
        "error": (run.error or None) if run else None,
        "workflow_run_id": str(run.pk) if run else None,
    }


def _describe_files(run: Run | None) -> list[Json]:
    """Return the files that came with the message, and those of its answer."""
    if run is None:
        return []
    answer_files = (run.outputs or {}).get("files") or ()
    sides = (("user", run.system.get("files") or ()), ("assistant", answer_files))
    return [
        {
            "id": str(file.get("id") or file.get("related_id") or ""),
            "filename": get_file_attribute(file, "name"),
            "type": file.get("type"),
            "url": file.get("url"),
            "mime_type": file.get("mime_type"),
            "size": file.get("size"),
            "transfer_method": file.get("transfer_method"),
            "belongs_to": side,
            "upload_file_id": file.get("related_id"),
        }
        for side, files in sides
        for file in files
        if isinstance(file, Mapping)
    ]


def _load_feedback(app: App, runs: Iterable[Run], subject: str) -> Mapping[UUID | None, str]:
    rows = Feedback.objects.visible_to(app.principal).filter(
        run__in=[run.pk for run in runs], actor=make_author(app, subject)
    )
    return {row.run_id: RATING_NAMES[row.rating] for row in rows}


def _load_thoughts(
    principal: Principal, rows: Iterable[Message]
) -> Mapping[UUID | None, list[Json]]:
    """Return by run the calls of tools that its agents made."""
    messages = {row.run_id: row for row in rows if row.run_id}
    parts = StepPart.objects.visible_to(principal).filter(run__in=list(messages), kind=TOOL_CALL)
    thoughts: dict[UUID | None, list[Json]] = {}
    for part in parts.order_by("run_id", "started_at", "id"):
        of_run = thoughts.setdefault(part.run_id, [])
        tool = str(part.inputs.get("tool") or part.inputs.get("name") or part.part)
        of_run.append(
            {
                "id": str(part.pk),
                "chain_id": None,
                "message_id": str(messages[part.run_id].pk),
                "position": len(of_run) + 1,
                "thought": "",
                "tool": tool,
                "tool_labels": {},
                "tool_input": json.dumps(part.inputs.get("arguments") or {}, ensure_ascii=False),
                "observation": json.dumps(part.outputs, ensure_ascii=False),
                "files": [],
                "message_files": [],
                "created_at": int(part.started_at),
            }
        )
    return thoughts


def _find_parents(
    principal: Principal, conversation: Conversation, rows: Sequence[Message]
) -> Mapping[int, UUID]:
    """Return by number the id of the message before."""
    numbers = [row.number - 1 for row in rows]
    before: QuerySet[Message] = Message.objects.visible_to(principal)
    pairs = before.filter(conversation=conversation, number__in=numbers)
    return {number + 1: pk for number, pk in pairs.values_list("number", "pk")}


def _describe_feedback(app: App, row: Feedback, message: Message | None, subject: str) -> Json:
    is_of_person = row.created_by_id is None
    return {
        "id": str(row.pk),
        "app_id": str(app.workflow.pk),
        "conversation_id": message.conversation.key if message else None,
        "message_id": str(message.pk if message else row.run_id),
        "rating": RATING_NAMES[row.rating],
        "content": row.text or None,
        "from_source": "user" if is_of_person else "admin",
        "from_end_user_id": str(make_end_user_id(app.workflow.pk, subject))
        if is_of_person
        else None,
        "from_account_id": str(row.created_by_id) if row.created_by_id else None,
        "created_at": row.created_at.isoformat(),
        "updated_at": row.updated_at.isoformat(),
    }
