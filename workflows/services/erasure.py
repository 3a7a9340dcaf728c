"""Erase and export the workflow data of a person: conversations, tasks, and runs for that person."""

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from django.db.models import Model, Q, QuerySet

from workflows.errors import StillRunning
from workflows.models import (
    Conversation,
    DryRunChange,
    Message,
    Run,
    RunEvent,
    RunPartial,
    RunWait,
    Step,
    StepIntent,
    StepPart,
    Task,
)
from workflows.models.run import RunStatus


# The models whose rows belong to a run and are deleted with it.
RUN_MODELS: tuple[type[Model], ...] = (
    *(Step, StepPart, RunEvent, RunPartial, StepIntent),
    *(RunWait, DryRunChange),
)


def match_person(subject: str) -> Q:
    """Return the condition for the rows of a person and of the test users that the person created."""
    condition = Q(subject=subject)
    try:
        UUID(subject)
    except ValueError:
        return condition
    return condition | Q(subject__endswith=f"@{subject}")  # see accounts.personas


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


def erase_person(team_id: UUID, subject: str, *, dry_run: bool) -> Mapping[str, int]:
    """Delete the person's rows, unless it is a dry run, and return the number of rows in each table.

    Raises StillRunning if one of the person's runs is queued or running. A paused run is deleted with what it waits for.
    """
    rows_of_person = match_person(subject)
    runs = Run.objects.unscoped().filter(rows_of_person, team_id=team_id)
    conversations = Conversation.objects.unscoped().filter(rows_of_person, team_id=team_id)
    tasks = Task.objects.unscoped().filter(rows_of_person, team_id=team_id)
    # The rows of a run or conversation were checked with it, so their plain managers suffice.
    querysets: list[QuerySet[Any]]
    querysets = [model._base_manager.filter(run__in=runs) for model in RUN_MODELS]
    querysets += [Message._base_manager.filter(conversation__in=conversations)]
    querysets += [runs, conversations, tasks]
    counts = {rows.model._meta.db_table: rows.count() for rows in querysets}
    if not dry_run:
        # A worker that executes one of these runs holds its row; a worker that claims one waits for this transaction.
        statuses = list(runs.select_for_update().values_list("status", flat=True))
        if any(status in (RunStatus.QUEUED, RunStatus.RUNNING) for status in statuses):
            raise StillRunning
        for rows in (tasks, runs, conversations):
            rows.delete()
    return counts
