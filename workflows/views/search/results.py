"""The results of the search, group by group. Each query finds rows and checks the permission at once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final
from uuid import UUID

from django.db.models import Case, Q, QuerySet, Value, When
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts import selectors as account_selectors
from accounts.access import Principal, can
from workflows import memory_app, selectors
from workflows.engine.nodes import find_appearance
from workflows.execution.kinds import load_kinds
from workflows.models import Node, Run
from workflows.run_filters import RunFilter
from workflows.templatetags.kind_words import get_kind_title
from workflows.views.search import destinations
from workflows.views.search.destinations import Destination


MAX_ROWS: Final = 6  # of a group
MAX_RECENT: Final = 4  # of a group, before anything is typed
MAX_SEARCHED_RUNS: Final = 500  # the newest
MAX_TITLE: Final = 160  # characters


@dataclass(frozen=True, slots=True)
class Result:
    """A line of the results. ``action`` is one of this browser; then there is no URL."""

    title: str | Promise
    url: str
    icon: str
    detail: str | Promise = ""
    at: datetime | None = None
    status: str = ""
    status_text: str = ""
    family: str = ""  # of a node kind
    action: str = ""


@dataclass(frozen=True, slots=True)
class ResultGroup:
    name: str
    title: str | Promise
    results: tuple[Result, ...]


@dataclass(frozen=True)
class Search:
    """Who searches in which team, and for what. An empty query asks for the most recent of each group."""

    principal: Principal
    team_id: UUID
    query: str

    @property
    def limit(self) -> int:
        return MAX_ROWS if self.query else MAX_RECENT

    @cached_property
    def memory_rows(self) -> Sequence["memory_app.ShortRow"]:
        """The memories and the knowledge pages, which are found together."""
        if not memory_app.is_on() or not can(self.principal, "memory.view", self.team_id):
            return ()
        caller = memory_app.MemoryCaller(self.principal, self.team_id)
        if self.query:
            return memory_app.search_rows(caller, self.query, limit=2 * self.limit)
        return memory_app.list_newest_rows(caller, limit=self.limit)


def search_everything(search: Search) -> list[ResultGroup]:
    """Return the groups with results, those whose first result begins with the query before the others.

    Without a query these are the recent rows, the actions and the pages.
    """
    groups = [
        ResultGroup(name, title, tuple(find(search)))
        for name, title, find in (GROUPS if search.query else RECENT_GROUPS)
    ]
    query = search.query.casefold()
    filled = [group for group in groups if group.results]
    return sorted(
        filled, key=lambda group: not str(group.results[0].title).casefold().startswith(query)
    )


def _find_workflows(search: Search) -> Iterator[Result]:
    rows = selectors.list_workflows(search.principal, team_id=search.team_id)
    if search.query:
        rows = rows.filter(
            Q(name__icontains=search.query) | Q(description__icontains=search.query)
        ).order_by(_rank_by_name("name", search.query), "-updated_at", "-id")
    for row in rows[: search.limit]:
        icon = "chat" if row.is_chat else "workflow"
        detail = row.get_mode_display()
        yield Result(
            row.name, reverse("workflows:detail", args=[row.pk]), icon, detail, row.updated_at
        )


def _find_nodes(search: Search) -> Iterator[Result]:
    kinds = load_kinds()
    workflows = selectors.list_workflows(search.principal, team_id=search.team_id)
    kind_names = [
        name for name in kinds if search.query.casefold() in get_kind_title(name, kinds).casefold()
    ]
    rows: QuerySet[Node] = Node.objects.visible_to(search.principal).filter(
        Q(title__icontains=search.query) | Q(kind__in=kind_names),
        workflow__in=workflows.order_by(),
        is_note=False,
    )
    rank = _rank_by_name("title", search.query)
    ordered = rows.select_related("workflow").order_by(rank, "-workflow__updated_at", "id")
    for row in ordered[: search.limit]:
        appearance = find_appearance(row.kind, kinds)
        url = f"{reverse('workflows:detail', args=[row.workflow_id])}?node={row.key}"
        title = row.title or get_kind_title(row.kind, kinds)
        yield Result(title, url, appearance.icon, row.workflow.name, family=appearance.family)


def _find_runs(search: Search) -> Iterator[Result]:
    rows = selectors.list_runs(search.principal).filter(team_id=search.team_id, parent_id=None)
    if search.query:
        newest = rows.values("pk")[:MAX_SEARCHED_RUNS]
        recent = Run.objects.visible_to(search.principal).filter(pk__in=newest)
        recent = recent.select_related("workflow").order_by("-created_at", "-id")
        rows = RunFilter(text=search.query).apply(recent)
    for row in rows[: search.limit]:
        yield Result(
            row.summary[:MAX_TITLE],
            reverse("workflows:run", args=[row.pk]),
            "run",
            row.workflow.name,
            row.created_at,
            status=row.status,
            status_text=row.status_text,
        )


def _find_memories(search: Search) -> Iterator[Result]:
    rows = [row for row in search.memory_rows if not row.is_page]
    for row in rows[: search.limit]:
        url = reverse("memory:entry", args=[row.entry_id])
        yield Result(row.text[:MAX_TITLE], url, "memory", row.namespace, row.changed_at)


def _find_knowledge_pages(search: Search) -> Iterator[Result]:
    rows = [row for row in search.memory_rows if row.is_page]
    for row in rows[: search.limit]:
        url = reverse("memory:knowledge_page", args=[row.entry_id])
        yield Result(row.text[:MAX_TITLE], url, "list", row.namespace, row.changed_at)


def _find_people(search: Search) -> Iterator[Result]:
    if not can(search.principal, "team.view", search.team_id):
        return
    team = account_selectors.find_team(search.principal, "team.view", search.team_id)
    members = account_selectors.list_members(search.principal, team, search=search.query)
    for row in members[: search.limit]:
        url = f"{reverse('accounts:team')}#member-{row.pk}"
        yield Result(row.user.name or row.user.email, url, "person", row.user.email)


def _find_pages(search: Search) -> Iterator[Result]:
    return _find_destinations(search, destinations.PAGES)


def _find_settings(search: Search) -> Iterator[Result]:
    return _find_destinations(search, destinations.SETTINGS)


def _find_actions(search: Search) -> Iterator[Result]:
    return _find_destinations(search, destinations.ACTIONS)


def _find_destinations(search: Search, offered: tuple[Destination, ...]) -> Iterator[Result]:
    matches: Iterable[Destination] = destinations.find_destinations(
        offered, search.principal, search.team_id, search.query
    )
    for item in matches:
        url = "" if item.action else item.url
        yield Result(item.label, url, item.icon, action=item.action)


def _rank_by_name(field: str, query: str) -> Case:
    """Return the order: names that begin with the query first, then those that contain it, then the rest."""
    return Case(
        When(**{f"{field}__istartswith": query}, then=Value(0)),
        When(**{f"{field}__icontains": query}, then=Value(1)),
        default=Value(2),
    )


Finder = Callable[[Search], Iterator[Result]]
Group = tuple[str, str | Promise, Finder]

GROUPS: Final[tuple[Group, ...]] = (
    ("actions", _("Actions"), _find_actions),
    ("workflows", _("Workflows"), _find_workflows),
    ("runs", _("Runs"), _find_runs),
    ("memories", _("Memories"), _find_memories),
    ("knowledge", _("Knowledge pages"), _find_knowledge_pages),
    ("nodes", _("Nodes"), _find_nodes),
    ("people", _("People"), _find_people),
    ("pages", _("Pages"), _find_pages),
    ("settings", _("Settings"), _find_settings),
)
RECENT_GROUPS: Final[tuple[Group, ...]] = (
    ("workflows", _("Recent workflows"), _find_workflows),
    ("runs", _("Recent runs"), _find_runs),
    ("memories", _("Recent memories"), _find_memories),
    ("actions", _("Actions"), _find_actions),
    ("pages", _("Pages"), _find_pages),
    ("settings", _("Settings"), _find_settings),
)
