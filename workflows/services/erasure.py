"""Erase and export the workflow data of a person: conversations, tasks, files, and runs for that person."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final
from uuid import UUID

from django.db.models import F, Model, Q, QuerySet

from workflows.errors import StillRunning
from workflows.execution.usage.counting import count_team
from workflows.files.removal import remove_files
from workflows.models import (
    Conversation,
    DataCase,
    DryRunChange,
    Feedback,
    IdempotencyKey,
    Message,
    ModelUsage,
    Run,
    RunCommit,
    RunPartial,
    RunUsage,
    RunWait,
    Step,
    StepPart,
    StoredFile,
    Task,
)
from workflows.models.run import RunStatus


# The models whose rows belong to a run and are deleted with it.
RUN_MODELS: tuple[type[Model], ...] = (
    *(Step, StepPart, RunCommit, RunPartial),
    *(RunWait, DryRunChange, Feedback),
)

# A worker may hold a run with one of these statuses, so that nobody erases it.
UNDER_WAY: Final = frozenset({RunStatus.QUEUED, RunStatus.RUNNING})


def match_person(subject: str) -> Q:
    """Return the condition for the rows of a person and of the test users that the person created."""
    condition = Q(subject=subject)
    try:
        UUID(subject)
    except ValueError:
        return condition
    return condition | Q(subject__endswith=f"@{subject}")  # see accounts.personas


def match_author(subject: str) -> Q:
    """Return the condition for the feedback that an account gave on other people's runs."""
    try:
        return Q(created_by_id=UUID(subject))
    except ValueError:
        return Q(pk__in=[])


def export_person(team_id: UUID, subject: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the person's conversations with their messages, files and feedback one by one for an export."""
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
    for file in list_present_files(team_id, match_person(subject)).order_by("created_at", "id"):
        yield (
            "file",
            {
                "id": str(file.pk),
                "name": file.name,
                "type": file.media_type,
                "size": file.size,
                "sha256": file.sha256,
                "stored_at": file.created_at.isoformat(),
            },
        )
    runs = Run.objects.unscoped().filter(match_person(subject), team_id=team_id)
    condition = Q(run__in=runs) | match_author(subject)
    feedback_rows = Feedback.objects.unscoped().filter(condition, team_id=team_id)
    for feedback in feedback_rows.order_by("created_at", "id"):
        yield (
            "feedback",
            {
                "run": str(feedback.run_id),
                "rating": feedback.rating,
                "text": feedback.text,
                "created_at": feedback.created_at.isoformat(),
            },
        )


def check_erasable(team_id: UUID, subject: str) -> None:
    """Raise StillRunning if one of the person's runs is queued or running."""
    runs = Run.objects.unscoped().filter(match_person(subject), team_id=team_id)
    if runs.filter(status__in=UNDER_WAY).exists():
        raise StillRunning


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
    feedback = Feedback.objects.unscoped().filter(match_author(subject), team_id=team_id)
    querysets += [feedback.exclude(run__in=runs)]
    cases = DataCase.objects.unscoped().filter(rows_of_person, team_id=team_id)
    querysets += [cases.exclude(subject="")]
    answers = IdempotencyKey.objects.unscoped().filter(
        Q(object_id__in=runs.values("pk")) | Q(object_id__in=tasks.values("pk")), team_id=team_id
    )
    files = list_present_files(team_id, rows_of_person)
    querysets += [answers, runs, conversations, tasks, files]
    counts: Counter[str] = Counter()
    for rows in querysets:
        counts[rows.model._meta.db_table] += rows.count()
    if not dry_run:
        # A worker that executes one of these runs holds its row; a worker that claims one waits for this transaction.
        statuses = list(runs.select_for_update().values_list("status", flat=True))
        if any(status in UNDER_WAY for status in statuses):
            raise StillRunning
        count_team(team_id)  # the numbers outlive the runs, but not whom they were for
        for rows in (answers, feedback, cases.exclude(subject=""), tasks, runs, conversations):
            rows.delete()
        remove_files(team_id, files)
        forget_usage_of(team_id, rows_of_person)
    return counts


def list_present_files(team_id: UUID, rows_of_person: Q) -> QuerySet[StoredFile]:
    """Return the person's files, without those whose removal has begun: their rows name nobody any more."""
    rows = StoredFile.objects.unscoped().filter(rows_of_person, team_id=team_id)
    return rows.filter(removed_at__isnull=True)


def forget_usage_of(team_id: UUID, rows_of_person: Q) -> None:
    """Remove the person from the usage of each day. The numbers stay, as those of nobody."""
    for model in (RunUsage, ModelUsage):
        # A day's row of nobody may exist, so the person's rows are added to it instead of renamed.
        rows = model.objects.unscoped().filter(rows_of_person, team_id=team_id)
        for row in rows.exclude(subject="").order_by("id"):
            _add_to_nobody(row)
            row.delete()


def _add_to_nobody(row: RunUsage | ModelUsage) -> None:
    model = type(row)
    keys = {
        *("team", "day", "workflow_id", "api_key_id", "channel", "latency_bucket"),
        *("provider", "model"),
    }
    fields = [field.name for field in model._meta.concrete_fields]
    same = {name: getattr(row, name) for name in fields if name in keys}
    sums = {name: getattr(row, name) for name in fields if name not in keys | {"id", "subject"}}
    existing = model._base_manager.filter(**same, subject="")
    if not existing.update(**{name: F(name) + value for name, value in sums.items()}):
        model._base_manager.create(**same, **sums, subject="")
