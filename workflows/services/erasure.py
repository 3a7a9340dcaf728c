"""Erase and export the workflow data of a person: conversations, tasks, files, and runs for that person."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from operator import or_
from typing import Any, Final
from uuid import UUID

from django.db.models import F, Model, Q, QuerySet
from django.db.models.fields.json import KT

from accounts.tenancy import TenantModel
from workflows.engine.answerers import EMAIL, MEMBER
from workflows.errors import StillRunning
from workflows.execution.history.test_calls import forget_test_calls
from workflows.execution.idempotency_keys import get_expiry
from workflows.execution.usage.counting import count_team
from workflows.files.removal import remove_files
from workflows.models import (
    Comment,
    Conversation,
    DataCase,
    DryRunChange,
    EvaluationResult,
    Feedback,
    IdempotencyKey,
    Message,
    ModelUsage,
    Pin,
    Run,
    RunCommit,
    RunPartial,
    RunUsage,
    RunWait,
    Step,
    StepPart,
    StoredFile,
    Task,
    Trigger,
)
from workflows.models.run import PINS_OF, RunStatus


_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
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
    account_id = _find_account_id(subject)
    return Q(pk__in=[]) if account_id is None else Q(created_by_id=account_id)


def _find_account_id(subject: str) -> UUID | None:
    try:
        return UUID(subject)
    except ValueError:
        return None


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
    if _Person(team_id, subject).runs.filter(status__in=UNDER_WAY).exists():
        raise StillRunning


@dataclass(frozen=True, slots=True)
class _Person:
    """The person whose rows are erased, in one team."""

    team_id: UUID
    subject: str

    @property
    def rows(self) -> Q:
        return match_person(self.subject)

    def select(self, model: type[TenantModel], condition: Q | None = None) -> QuerySet[Any]:
        """Return the rows with this condition, by default those that name the person."""
        rows: QuerySet[Any] = model.objects.unscoped()
        return rows.filter(self.rows if condition is None else condition, team_id=self.team_id)

    @property
    def runs(self) -> QuerySet[Run]:
        """The runs for the person, and those for others whose pinned outputs are from such runs."""
        # As text, because the column has JSON as it was written, in which nothing can be looked up by its value.
        is_copy = Q(people__contains=json.dumps(self.subject))
        if (
            _find_account_id(self.subject) is not None
        ):  # those of the test users that the person created
            is_copy |= Q(people__contains=f'@{self.subject}"')
        rows = Run.objects.unscoped().alias(people=KT(f"debug__{PINS_OF}"))
        return rows.filter(self.rows | is_copy, team_id=self.team_id)


def _select_of_runs(model: type[Model], person: _Person) -> QuerySet[Any]:
    # The rows of a run or conversation were checked with it, so their plain managers suffice.
    return model._base_manager.filter(run__in=person.runs)


def _select_messages(person: _Person) -> QuerySet[Any]:
    own = Q(conversation__in=person.select(Conversation))
    return Message._base_manager.filter(own | Q(run__in=person.runs))


def _select_stored_replies(person: _Person) -> QuerySet[Any]:
    ids = (rows.values("pk") for rows in (person.runs, person.select(Task)))
    about_cases = Q(pk__in=_list_replies_about_cases(person))
    return person.select(
        IdempotencyKey, reduce(or_, (Q(object_id__in=pks) for pks in ids)) | about_cases
    )


def _list_replies_about_cases(person: _Person) -> list[UUID]:
    """Return the ids of stored answers that have results of the person's cases: such an answer is a list of several."""
    results = EvaluationResult._base_manager.filter(
        case__in=person.select(DataCase), evaluation__created_at__gte=get_expiry()
    )
    ids = {str(pk) for pk in results.values_list("pk", flat=True)}
    rows = person.select(IdempotencyKey, Q(object_id=None)).values_list("pk", "body") if ids else ()
    return [pk for pk, body in rows if not ids.isdisjoint(_ID.findall(body))]


def _select_feedback(person: _Person) -> QuerySet[Any]:
    return person.select(Feedback, Q(run__in=person.runs) | match_author(person.subject))


def _select_files(person: _Person) -> QuerySet[Any]:
    return list_present_files(person.team_id, person.rows)


def _select_test_calls(person: _Person) -> QuerySet[Any]:
    """Return the triggers with a test call that started a run for the person, or for which the person waited."""
    condition = Q(test_run_id__in=person.runs.values("pk"))
    if (account_id := _find_account_id(person.subject)) is not None:
        condition |= Q(listener=account_id)
    return person.select(Trigger, condition & Q(test_call__isnull=False))


# The models whose rows belong to a run and are deleted with it.
RUN_MODELS: Final[tuple[type[Model], ...]] = (
    *(Step, StepPart, RunCommit, RunPartial),
    *(RunWait, DryRunChange, Feedback),
)
# The person's rows of each model. Pins and cases name the person if they were made from a run for them.
_SELECTIONS: Final[dict[type[Model], Callable[[_Person], QuerySet[Any]]]] = {
    **{model: partial(_select_of_runs, model) for model in RUN_MODELS},
    **{
        model: partial(_Person.select, model=model) for model in (DataCase, Pin, Task, Conversation)
    },
    Run: lambda person: person.runs,
    Feedback: _select_feedback,
    Message: _select_messages,
    IdempotencyKey: _select_stored_replies,
    StoredFile: _select_files,
    Trigger: _select_test_calls,
}
# What is deleted itself, in this order; the rest is deleted with it, and files with their content.
_DELETED: Final[tuple[type[Model], ...]] = (
    *(IdempotencyKey, Feedback, DataCase, Pin),
    *(Task, Message, Run, Conversation),
)
_USAGE: Final[tuple[type[RunUsage | ModelUsage], ...]] = (RunUsage, ModelUsage)
# The models in which an erasure looks for the person.
ERASED_MODELS: Final[tuple[type[Model], ...]] = (*_SELECTIONS, *_USAGE)


def erase_person(team_id: UUID, subject: str, *, dry_run: bool) -> Mapping[str, int]:
    """Delete the person's rows, unless it is a dry run, and return the number of rows in each table.

    Raises StillRunning if one of the person's runs is queued or running. A paused run is deleted with what it waits for.
    """
    person = _Person(team_id, subject)
    selected = {model: select(person) for model, select in _SELECTIONS.items()}
    counts = {model._meta.db_table: rows.count() for model, rows in selected.items()}
    if not dry_run:
        # A worker that executes one of these runs holds its row; a worker that claims one waits for this transaction.
        statuses = list(person.runs.select_for_update().values_list("status", flat=True))
        if any(status in UNDER_WAY for status in statuses):
            raise StillRunning
        forget_test_calls(selected[Trigger])
        count_team(team_id)  # the numbers outlive the runs, but not whom they were for
        for model in _DELETED:
            selected[model].delete()
        remove_files(team_id, selected[StoredFile])
        forget_usage_of(team_id, person.rows)
    return counts


def count_kept(team_id: UUID, subject: str) -> Mapping[str, int]:
    """Count what has words of the person and belongs to others: answers to questions of their runs, comments for the team,
    and runs for others that the person's runs began by calling this installation.
    """
    person = _Person(team_id, subject)
    answered = Q(answered_by=f"{EMAIL}{subject}")
    comments = person.select(Comment, Q(pk__in=[]))
    if (account_id := _find_account_id(subject)) is not None:
        answered |= Q(answered_by=f"{MEMBER}{account_id}")
        comments = person.select(Comment, Q(author=account_id, deleted_at=None))
    answers = person.select(RunWait, answered).exclude(run__in=person.runs)
    called_runs = person.select(Run, Q(called_by_start__in=person.runs.values("pk")))
    counts = {
        RunWait._meta.db_table: answers.count(),
        Comment._meta.db_table: comments.count(),
        Run._meta.db_table: called_runs.exclude(person.rows).count(),
    }
    return {table: count for table, count in counts.items() if count}


def list_present_files(team_id: UUID, rows_of_person: Q) -> QuerySet[StoredFile]:
    """Return the person's files, without those whose removal has begun: their rows name nobody any more."""
    rows = StoredFile.objects.unscoped().filter(rows_of_person, team_id=team_id)
    return rows.filter(removed_at__isnull=True)


def forget_usage_of(team_id: UUID, rows_of_person: Q) -> None:
    """Remove the person from the usage of each day. The numbers stay, as those of nobody."""
    for model in _USAGE:
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
