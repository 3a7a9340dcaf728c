"""Read the current state of the watched drafts from the rows, in one poll for all tabs of a web process.

Each poll also checks whether every tab may still watch its draft.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from django.db.models import Count, Max, Q
from django.utils import timezone

from accounts.services.holders import Holder, load_principals
from accounts.tenancy import tenant
from workflows import permissions
from workflows.execution.events.run_feed import UNFINISHED
from workflows.live.tabs import Watch
from workflows.models import Comment, Run, Workflow


RECENT = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class DraftNews:
    """The state of the watched drafts by workflow id, and the watches that are still allowed."""

    revisions: dict[UUID, int] = field(default_factory=dict)
    comments: dict[UUID, str] = field(default_factory=dict)  # markers that change with any comment
    admitted: frozenset[Watch] = frozenset()
    runs: tuple["RunNews", ...] = ()


@dataclass(frozen=True, slots=True)
class RunNews:
    """The status of a run that is unfinished or has just ended, and the people who may see the run."""

    id: str
    workflow_id: UUID
    status: str
    people: frozenset[UUID | None]


def load_news(team_ids: Collection[UUID], watches: Collection[Watch]) -> DraftNews:
    """Return the news of the watched drafts. An archived workflow has none, and nobody may watch it."""
    workflow_ids = {watch.workflow_id for watch in watches}
    with tenant(team_ids):
        rows = Workflow.objects.unscoped().filter(pk__in=workflow_ids, archived_at=None)
        workflows = {row.pk: row for row in rows}
        return DraftNews(
            revisions={pk: workflow.revision for pk, workflow in workflows.items()},
            comments=_load_comment_marks(workflows),
            admitted=_list_admitted(workflows, watches),
            runs=_load_runs(workflows),
        )


def _load_comment_marks(workflow_ids: Collection[UUID]) -> dict[UUID, str]:
    rows = (
        Comment.objects.unscoped()
        .filter(workflow_id__in=workflow_ids)
        .values("workflow_id")
        .annotate(count=Count("pk"), newest=Max("changed_at"))
        .order_by("workflow_id")
    )
    return {row["workflow_id"]: f"{row['count']}:{row['newest'].timestamp()}" for row in rows}


def _list_admitted(workflows: dict[UUID, Workflow], watches: Collection[Watch]) -> frozenset[Watch]:
    """Return the watches that the current permissions and sessions still allow."""
    holders = {watch: Holder(watch.user_id, watch.session) for watch in watches}
    principals = load_principals(set(holders.values()))
    return frozenset(
        watch
        for watch, holder in holders.items()
        if watch.workflow_id in workflows
        and (principal := principals.get(holder))
        and permissions.may_view(principal, workflows[watch.workflow_id])
    )


def _load_runs(workflow_ids: Collection[UUID]) -> tuple[RunNews, ...]:
    rows = Run.objects.unscoped().filter(
        Q(status__in=UNFINISHED) | Q(finished_at__gt=timezone.now() - RECENT),
        workflow_id__in=workflow_ids,
    )
    columns = ("started_by_id", "subject_user_id", "api_key__created_by_id")
    newest = rows.order_by("created_at", "id").values_list("pk", "workflow_id", "status", *columns)
    return tuple(
        RunNews(str(pk), workflow_id, status, frozenset(people))
        for pk, workflow_id, status, *people in newest[:500]
    )
