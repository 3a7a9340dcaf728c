"""What workflows keep of a person: their conversations, their tasks, and the runs that were for them."""

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from django.db.models import Model, Q

from workflows.errors import StillRunning
from workflows.models import (
    Conversation,
    Message,
    Run,
    RunEvent,
    RunPartial,
    Step,
    StepIntent,
    Task,
    WouldBe,
)
from workflows.models.run import ENDED


def of_person(subject: str) -> Q:
    """Rows of theirs, and of the test persons they play, whose ids end with the player's."""
    theirs = Q(subject=subject)
    try:
        UUID(subject)
    except ValueError:
        return theirs
    return theirs | Q(subject__endswith=f"@{subject}")


def known_of(team_id: UUID, subject: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Their conversations with what was said, one after the other, for who takes them along."""
    talks = Conversation.objects.unscoped().filter(of_person(subject), team_id=team_id)
    for talk in talks.select_related("workflow").order_by("created_at", "id"):
        said = Message.objects.unscoped().filter(conversation=talk).order_by("number")
        turns = said.values("number", "query", "answer", "created_at")
        yield (
            "conversation",
            {
                "id": talk.key,
                "workflow": talk.workflow.name,
                "name": talk.name,
                "subject": talk.subject,
                "variables": talk.variables,
                "began_at": talk.created_at.isoformat(),
                "turns": [{**turn, "created_at": turn["created_at"].isoformat()} for turn in turns],
            },
        )


# In this order: what hangs on a run or a conversation goes with it, and is counted before.
_OF_RUNS: tuple[type[Model], ...] = (Step, RunEvent, RunPartial, StepIntent, WouldBe)


def erase_person(team_id: UUID, subject: str, do: bool) -> Mapping[str, int]:
    """Rows of each table; gone, if so asked. Nothing goes while a run of theirs is going on."""
    theirs = of_person(subject)
    runs = Run.objects.unscoped().filter(theirs, team_id=team_id)
    talks = Conversation.objects.unscoped().filter(theirs, team_id=team_id)
    tasks = Task.objects.unscoped().filter(theirs, team_id=team_id)
    found = {_table(model): _of(model, run__in=runs) for model in _OF_RUNS}
    found |= {_table(Message): _of(Message, conversation__in=talks)}
    found |= {
        _table(model): rows.count()
        for model, rows in ((Run, runs), (Conversation, talks), (Task, tasks))
    }
    if do:
        # Whoever drives one of them holds its row, and who would claim one comes after us.
        states = list(runs.select_for_update().values_list("status", flat=True))
        if any(status not in ENDED for status in states):
            raise StillRunning
        for rows in (tasks, runs, talks):
            rows.delete()
    return found


def _of(model: type[Model], **whose: Any) -> int:
    return model._base_manager.filter(**whose).count()  # admitted with the run or conversation


def _table(model: type[Model]) -> str:
    return model._meta.db_table
