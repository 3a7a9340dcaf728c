"""List the knowledge bases: namespaces with pages or with a name, and those to which a caller may write pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Q
from django.utils import timezone

from accounts.tenancy import reading
from memory import permissions
from memory.core.records import Tier
from memory.core.scopes import Scope, parse_namespace
from memory.logic.knowledge.pages import PAGE_CATEGORY, build_page_key
from memory.models import Entry, Namespace
from memory.models.conditions import build_any_of_condition
from memory.permissions import NamespaceTarget
from memory.services.gateway.caller import MemoryCaller, select_visible


TEAM_NAMESPACE = "global:default"


@dataclass(frozen=True, slots=True)
class KnowledgeBaseSummary:
    """A knowledge base with the number of its pages and the time of its last change."""

    row: Namespace
    pages: int
    updated_at: datetime


def list_knowledge_bases(caller: MemoryCaller) -> list[KnowledgeBaseSummary]:
    """Return the knowledge bases that the caller may view, the last changed first.

    A namespace counts as one if it has pages, or if it was created as one and is still empty.
    """
    with reading([caller.team_id]):
        namespaces = select_visible(caller, Namespace)
        unexpired = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
        pages = Entry.objects.unscoped().filter(
            unexpired,
            build_any_of_condition("namespace_id", namespaces.filter(entry_count__gt=0)),
            deleted_at=None,
            category=PAGE_CATEGORY,
            key__startswith=build_page_key(""),
        )
        counts = pages.exclude(tier=Tier.QUARANTINE).values("namespace_id")
        counts = counts.order_by().annotate(pages=Count("id"), newest=Max("updated_at"))
        by_id = {count["namespace_id"]: (count["pages"], count["newest"]) for count in counts}
        rows = namespaces.filter(~Q(name="") | Q(pk__in=by_id))
        summaries = [
            KnowledgeBaseSummary(row, *by_id.get(row.pk, (0, row.created_at))) for row in rows
        ]
    summaries.sort(key=lambda summary: summary.row.pk)
    return sorted(summaries, key=lambda summary: summary.updated_at, reverse=True)


def list_page_targets(caller: MemoryCaller) -> Sequence[tuple[str, Namespace | None]]:
    """Return the namespaces to which the caller may write pages: the team's, those of applications, and their own.

    The row is None for a namespace that doesn't exist yet.
    """
    with reading([caller.team_id]):
        namespaces = select_visible(caller, Namespace)
        global_namespaces = {
            row.text: row for row in namespaces.filter(scope=Scope.GLOBAL).order_by("text")
        }
        own_text = f"user:{caller.principal.user_id}"
        own_row = namespaces.filter(text=own_text).first()
    shared: list[tuple[str, Namespace | None]] = []
    if may_write_team_pages(caller):
        shared = [
            (TEAM_NAMESPACE, global_namespaces.pop(TEAM_NAMESPACE, None)),
            *global_namespaces.items(),
        ]
    return [*shared, (own_text, own_row)]


def may_write_team_pages(caller: MemoryCaller) -> bool:
    """Return whether the caller may write to the team's knowledge base, and so may create others."""
    target = NamespaceTarget(caller.team_id, parse_namespace(TEAM_NAMESPACE), None)
    return permissions.is_allowed(caller.principal, "write", target)


def find_knowledge_base(caller: MemoryCaller, text: str) -> Namespace | None:
    with reading([caller.team_id]):
        return select_visible(caller, Namespace).filter(text=text).first()
