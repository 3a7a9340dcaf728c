"""What accepting would change now, for many at once: the plans of proposals over one look at the store.

What another provider keeps is not asked for a page's sake: there a proposal shows what it saw.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from memory.core.policy import MemorySecurityPolicy
from memory.core.records import MemoryEntry, Tier
from memory.core.scopes import parse_namespace
from memory.logic.entries.tiers import Move, moved
from memory.logic.review.proposal_plans import Change, Diff, plan
from memory.logic.review.proposals import Target
from memory.models import Entry, Namespace, Proposal
from memory.providers.postgres.rows import entry_of
from memory.routing import external_provider
from memory.services.gateway.ingress_gate import MEANT_FOR
from memory.services.review.proposal_rows import proposed


Wanted = tuple[UUID, str]  # a namespace's id, a key
Present = Mapping[tuple[str, str], MemoryEntry]  # by namespace and key


def would_change(rows: Sequence[Proposal | Entry], now: datetime) -> list[Diff]:
    """In the order given. Called with the team known and what is shown admitted."""
    present = _found(rows, now) | _as_seen(rows)
    return [_diff(row, present) for row in rows]


def _diff(row: Proposal | Entry, present: Present) -> Diff:
    place = row.namespace.text
    if isinstance(row, Proposal):
        return plan(proposed(row), lambda key: present.get((place, key)))
    kept = moved(entry_of(row, place), Move.APPROVE, Tier.LONG_TERM)
    key = str(row.metadata.get(MEANT_FOR) or row.key)
    return Diff((Change(key, present.get((place, key)), kept),))


def _found(rows: Iterable[Proposal | Entry], now: datetime) -> dict[tuple[str, str], MemoryEntry]:
    """What may be recalled of all that the page is about, in one query."""
    wanted = {one for row in rows for one in _keys(row)}
    if not wanted:
        return {}
    names = {row.namespace_id: row.namespace.text for row in rows}
    fresh = Q(expires_at=None) | Q(expires_at__gt=now)
    entries = Entry.objects.unscoped().filter(
        fresh,
        namespace_id__in={place for place, _key in wanted},
        key__in={key for _place, key in wanted},
        deleted_at=None,
    )
    return {
        (names[one.namespace_id], one.key): entry_of(one, names[one.namespace_id])
        for one in entries.exclude(tier=Tier.QUARANTINE.value)
        if (one.namespace_id, one.key) in wanted
    }


def _keys(row: Proposal | Entry) -> Iterable[Wanted]:
    if isinstance(row, Entry):
        yield row.namespace_id, str(row.metadata.get(MEANT_FOR) or row.key)
        return
    yield from ((row.namespace_id, one["key"]) for one in row.targets)
    if row.new:
        yield row.namespace_id, row.new["key"]


def _as_seen(rows: Iterable[Proposal | Entry]) -> dict[tuple[str, str], MemoryEntry]:
    return {
        (row.namespace.text, one["key"]): _of(row.namespace, Target(**one))
        for row in rows
        if isinstance(row, Proposal) and _is_external(row.namespace)
        for one in row.targets
    }


def _is_external(row: Namespace) -> bool:
    named = parse_namespace(row.text)
    return external_provider(row.team_id, named, MemorySecurityPolicy()) is not None


def _of(row: Namespace, target: Target) -> MemoryEntry:
    return MemoryEntry("", row.text, target.key, value=target.value, revision=target.revision)
