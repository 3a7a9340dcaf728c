"""Erase and export the workflow data of a person: conversations, tasks, and runs for that person."""

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from django.db.models import Model, Q

from workflows.errors import StillRunning
from workflows.models import (
    Conversation,
    DryRunChange,
    Message,
    Run,
    RunEvent,
    RunPartial,
    Step,
    StepIntent,
    Task,
)
from workflows.models.run import ENDED


def match_person(subject: str) -> Q:
    """Return the condition for rows of this person and of the test personas they play.

    A persona's id ends with the id of the person who plays it.
    """
    condition = Q(subject=subject)
    try:
        UUID(subject)
    except ValueError:
        return condition
    return condition | Q(subject__endswith=f"@{subject}")


def export_person(team_id: UUID, subject: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the person's conversations with their messages one by one for an export."""
    conversations = Conversation.objects.unscoped().filter(match_person(subject), team_id=team_id)
    for conversation in conversations.select_related("workflow").order_by("created_at", "id"):
        messages = Message.objects.unscoped().filter(conversation=conversation).order_by("number")
        turns = messages.values("number", "query", "answer", "created_at")
        yield (
            "conversation",
            {
                "id": conversation.key,
                "workflow": conversation.workflow.name,
                "name": conversation.name,
                "subject": conversation.subject,
                "variables": conversation.variables,
                "began_at": conversation.created_at.isoformat(),
                "turns": [{**turn, "created_at": turn["created_at"].isoformat()} for turn in turns],
            },
        )


# Dependent rows are counted before the run or conversation with which they are deleted.
_RUN_MODELS: tuple[type[Model], ...] = (Step, RunEvent, RunPartial, StepIntent, DryRunChange)


def erase_person(team_id: UUID, subject: str, do: bool) -> Mapping[str, int]:
    """Return the number of rows in each table, and delete them if ``do`` is true.

    Raises StillRunning if one of the person's runs is still running.
    """
    person = match_person(subject)
    runs = Run.objects.unscoped().filter(person, team_id=team_id)
    conversations = Conversation.objects.unscoped().filter(person, team_id=team_id)
    tasks = Task.objects.unscoped().filter(person, team_id=team_id)
    counts = {_get_table_name(model): _count_rows(model, run__in=runs) for model in _RUN_MODELS}
    counts |= {_get_table_name(Message): _count_rows(Message, conversation__in=conversations)}
    counts |= {
        _get_table_name(model): rows.count()
        for model, rows in ((Run, runs), (Conversation, conversations), (Task, tasks))
    }
    if do:
        # A worker that executes one of these runs holds its row; a worker that claims one waits for this transaction.
        states = list(runs.select_for_update().values_list("status", flat=True))
        if any(status not in ENDED for status in states):
            raise StillRunning
        for rows in (tasks, runs, conversations):
            rows.delete()
    return counts


def _count_rows(model: type[Model], **whose: Any) -> int:
    return model._base_manager.filter(**whose).count()  # admitted with the run or conversation


def _get_table_name(model: type[Model]) -> str:
    return model._meta.db_table
