"""A namespace's tiers side by side, and the moves between them."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from memory.core.records import MemoryEntry, Tier
from memory.forms_browsing import SearchForm
from memory.logic.tiers import is_rejected
from memory.models import Namespace
from memory.models.entries import TierChoice
from memory.services.bulk import Act
from memory.services.seeking import by_tier
from memory.views.asking import caller_of
from memory.views.paging import with_query
from memory.views.story import TIER_HINTS


@dataclass(frozen=True, slots=True)
class MoveShown:
    act: Act
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
    Tier.QUARANTINE: (MoveShown(Act.APPROVE, _("Approve")), MoveShown(Act.REJECT, _("Reject"))),
    Tier.WORKING: (
        MoveShown(Act.PROMOTE, _("Keep for good")),
        MoveShown(Act.QUARANTINE, _("Put into quarantine")),
    ),
    Tier.LONG_TERM: (MoveShown(Act.QUARANTINE, _("Put into quarantine")),),
}


def columns_of(request: HttpRequest, row: Namespace, search: SearchForm) -> dict[str, Any]:
    found = by_tier(caller_of(request), namespace=row.text, sought=search.sought())
    labels = dict(TierChoice.choices)
    columns = [
        Column(
            tier,
            str(labels[tier.value]),
            TIER_HINTS[tier],
            tuple(_card(one) for one in page.entries),
            page.total,
            with_query(request.GET, view="", tier=tier.value),
        )
        for tier, page in found.items()
    ]
    return {
        "body": "memory/_columns.html",
        "columns": columns,
        "total": sum(one.total for one in columns),
    }


def _card(entry: MemoryEntry) -> Card:
    rejected = entry.tier is Tier.QUARANTINE and is_rejected(entry)
    moves = tuple(one for one in MOVES[entry.tier] if not (rejected and one.act is Act.REJECT))
    return Card(entry, rejected, moves)
