"""News about the watched drafts, read from the rows: one poll for all tabs of a web process.

The bus only says when to poll sooner. Each poll also checks whether every tab may still watch.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import timedelta
from importlib import import_module
from uuid import UUID

from django.conf import settings
from django.db.models import Count, Max, Q
from django.utils import timezone

from accounts.models import Membership, Role, User
from accounts.principals import UserPrincipal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.execution.events.run_feed import UNFINISHED
from workflows.live.seats import Watch
from workflows.models import Comment, Run, Workflow


RECENT = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class DraftNews:
    revisions: dict[UUID, int] = field(default_factory=dict)
    comments: dict[UUID, str] = field(default_factory=dict)  # changes with each change of a comment
    admitted: frozenset[Watch] = frozenset()
    runs: tuple["RunNews", ...] = ()


@dataclass(frozen=True, slots=True)
class RunNews:
    """A run, and the people it concerns."""

    id: str
    workflow_id: UUID
    status: str
    people: frozenset[UUID | None]


def load_news(team_ids: Collection[UUID], watches: Collection[Watch]) -> DraftNews:
    drafts = {workflow_id for workflow_id, _user, _session in watches}
    with tenant(team_ids):
        rows = Workflow.objects.unscoped().filter(pk__in=drafts, archived_at=None)
        drafts_by_id = {row.pk: row for row in rows}
        return DraftNews(
            revisions={pk: row.revision for pk, row in drafts_by_id.items()},
            comments=_load_comment_marks(drafts_by_id),
            admitted=_list_admitted(drafts_by_id, watches),
            runs=_load_runs(drafts_by_id),
        )


def _load_comment_marks(draft_ids: Collection[UUID]) -> dict[UUID, str]:
    rows = (
        Comment.objects.unscoped()
        .filter(workflow_id__in=draft_ids)
        .values("workflow_id")
        .annotate(count=Count("pk"), last=Max("changed_at"))
        .order_by("workflow_id")
    )
    return {row["workflow_id"]: f"{row['count']}:{row['last'].timestamp()}" for row in rows}


def _list_admitted(drafts: dict[UUID, Workflow], watches: Collection[Watch]) -> frozenset[Watch]:
    """Return the watches that are still allowed, by the current permissions and roles."""
    people = {user_id for _workflow, user_id, _session in watches}
    users = {user.pk: user for user in User.objects.filter(pk__in=people, is_active=True)}
    roles: dict[UUID, dict[UUID, Role]] = {}
    members = Membership.objects.unscoped().filter(user_id__in=people)
    for user_id, team_id, role in members.values_list("user_id", "team_id", "role"):
        roles.setdefault(user_id, {})[team_id] = Role(role)
    open_sessions = _list_open_sessions({watch[2] for watch in watches if watch[2]})

    def may(watch: Watch) -> bool:
        workflow_id, user_id, session = watch
        if workflow_id not in drafts or user_id not in users:
            return False
        principal = UserPrincipal(users[user_id], roles.get(user_id, {}))
        is_in = not session or session in open_sessions
        return is_in and permissions.may_view(principal, drafts[workflow_id])

    return frozenset(watch for watch in watches if may(watch))


def _list_open_sessions(keys: set[str]) -> set[str]:
    """Return the sessions that are still signed in."""
    store = import_module(settings.SESSION_ENGINE).SessionStore
    if not hasattr(store, "get_model_class"):
        # Not in the database, so each session is checked separately.
        return {key for key in keys if store().exists(key)}
    rows = store.get_model_class().objects.filter(pk__in=keys, expire_date__gt=timezone.now())
    return set(rows.values_list("pk", flat=True))


def _load_runs(draft_ids: Collection[UUID]) -> tuple[RunNews, ...]:
    rows = Run.objects.unscoped().filter(
        Q(status__in=UNFINISHED) | Q(finished_at__gt=timezone.now() - RECENT),
        workflow_id__in=draft_ids,
    )
    columns = ("started_by_id", "subject_user_id", "api_key__created_by_id")
    newest = rows.order_by("created_at", "id").values_list("pk", "workflow_id", "status", *columns)
    return tuple(
        RunNews(str(pk), workflow_id, status, frozenset(people))
        for pk, workflow_id, status, *people in newest[:500]
    )
