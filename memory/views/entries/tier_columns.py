"""A namespace's tiers side by side, and the moves between them."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.views.pagination import replace_query
from memory.core.records import MemoryEntry, Tier
from memory.forms.browsing import SearchForm
from memory.logic.entries.tiers import is_rejected
from memory.models import Namespace
from memory.models.entries import TierChoice
from memory.services.entries.bulk import BulkAction
from memory.services.recall.search import search_by_tier
from memory.views.entries.entry_details import TIER_HINTS
from memory.views.request_context import caller_of


@dataclass(frozen=True, slots=True)
class MoveShown:
    act: BulkAction
    label: str | Promise


@dataclass(frozen=True, slots=True)
class Card:
    entry: MemoryEntry
    rejected: bool
    moves: tuple[MoveShown, ...]


@dataclass(frozen=True, slots=True)
class Column:
    tier: Tier
    label: str
    hint: str | Promise
    cards: tuple[Card, ...]
    total: int
    url: str

    @property
    def more(self) -> int:
        return self.total - len(self.cards)


MOVES: dict[Tier, tuple[MoveShown, ...]] = {
    Tier.QUARANTINE: (
        MoveShown(BulkAction.APPROVE, _("Approve")),
        MoveShown(BulkAction.REJECT, _("Reject")),
    ),
    Tier.WORKING: (
        MoveShown(BulkAction.PROMOTE, _("Move to long-term")),
        MoveShown(BulkAction.QUARANTINE, _("Move to quarantine")),
    ),
    Tier.LONG_TERM: (MoveShown(BulkAction.QUARANTINE, _("Move to quarantine")),),
}


def columns_of(request: HttpRequest, row: Namespace, search: SearchForm) -> dict[str, Any]:
    found = search_by_tier(caller_of(request), namespace=row.text, search=search.build_search())
    labels = dict(TierChoice.choices)
    columns = [
        Column(
            tier,
            str(labels[tier.value]),
            TIER_HINTS[tier],
            tuple(_card(one) for one in page.entries),
            page.total,
            replace_query(request.GET, view="", tier=tier.value),
        )
        for tier, page in found.items()
    ]
    return {
        "body": "memory/entries/_tier_columns.html",
        "columns": columns,
        "total": sum(one.total for one in columns),
    }


def _card(entry: MemoryEntry) -> Card:
    rejected = entry.tier is Tier.QUARANTINE and is_rejected(entry)
    moves = tuple(
        one for one in MOVES[entry.tier] if not (rejected and one.act is BulkAction.REJECT)
    )
    return Card(entry, rejected, moves)
