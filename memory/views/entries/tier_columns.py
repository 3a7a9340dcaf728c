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
from memory.templatetags.memory_values import TIER_HINTS
from memory.views.request_context import build_caller


@dataclass(frozen=True, slots=True)
class MoveButton:
    action: BulkAction
    label: str | Promise


@dataclass(frozen=True, slots=True)
class TierCard:
    entry: MemoryEntry
    is_rejected: bool
    moves: tuple[MoveButton, ...]


@dataclass(frozen=True, slots=True)
class TierColumn:
    tier: Tier
    label: str
    hint: str | Promise
    cards: tuple[TierCard, ...]
    total: int
    url: str

    @property
    def hidden_count(self) -> int:
        return self.total - len(self.cards)


MOVES: dict[Tier, tuple[MoveButton, ...]] = {
    Tier.QUARANTINE: (
        MoveButton(BulkAction.APPROVE, _("Approve")),
        MoveButton(BulkAction.REJECT, _("Reject")),
    ),
    Tier.WORKING: (
        MoveButton(BulkAction.PROMOTE, _("Move to long-term")),
        MoveButton(BulkAction.QUARANTINE, _("Move to quarantine")),
    ),
    Tier.LONG_TERM: (MoveButton(BulkAction.QUARANTINE, _("Move to quarantine")),),
}


def build_columns_context(
    request: HttpRequest, row: Namespace, search: SearchForm
) -> dict[str, Any]:
    caller, query = build_caller(request), search.build_search()
    pages_by_tier = search_by_tier(caller, namespace=row.text, search=query)
    labels = dict(TierChoice.choices)
    columns = [
        TierColumn(
            tier,
            str(labels[tier.value]),
            TIER_HINTS[tier],
            tuple(map(_build_card, page.entries)),
            page.total,
            replace_query(request.GET, view="", tier=tier.value),
        )
        for tier, page in pages_by_tier.items()
    ]
    return {
        "body": "memory/entries/_tier_columns.html",
        "columns": columns,
        "total": sum(column.total for column in columns),
    }


def _build_card(entry: MemoryEntry) -> TierCard:
    is_entry_rejected = entry.tier is Tier.QUARANTINE and is_rejected(entry)
    moves = tuple(
        button
        for button in MOVES[entry.tier]
        if not (is_entry_rejected and button.action is BulkAction.REJECT)
    )
    return TierCard(entry, is_entry_rejected, moves)
