"""Preview what accepting a whole page of review items would change now, by one query.

The entries of an external provider are not read; a proposal about them shows the values that it recorded.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from memory.core.policy import MemorySecurityPolicy
from memory.core.records import MemoryEntry, Tier
from memory.core.scopes import parse_namespace
from memory.logic.entries.tiers import TierAction, build_transition
from memory.logic.review.proposal_plans import EntryChange, ProposalDiff, plan_changes
from memory.logic.review.proposals import Target
from memory.models import Entry, Namespace, Proposal
from memory.providers.postgres.rows import build_entry
from memory.routing import find_external_provider
from memory.services.gateway.ingress_gate import TARGET_KEY
from memory.services.review.proposal_rows import to_proposal


EntryKey = tuple[UUID, str]  # a namespace's id, a key
EntriesByKey = Mapping[tuple[str, str], MemoryEntry]  # by namespace and key


def preview_changes(rows: Sequence[Proposal | Entry], now: datetime) -> list[ProposalDiff]:
    """Return what accepting each row would change. The caller has set the tenant and checked the permissions."""
    entries = _load_entries(rows, now) | _list_recorded_entries(rows)
    return [_build_diff(row, entries) for row in rows]


def _build_diff(row: Proposal | Entry, entries: EntriesByKey) -> ProposalDiff:
    namespace = row.namespace.text
    if isinstance(row, Proposal):
        return plan_changes(to_proposal(row), lambda key: entries.get((namespace, key)))
    approved = build_transition(build_entry(row, namespace), TierAction.APPROVE, Tier.LONG_TERM)
    key = str(row.metadata.get(TARGET_KEY) or row.key)
    return ProposalDiff((EntryChange(key, entries.get((namespace, key)), approved),))


def _load_entries(
    rows: Iterable[Proposal | Entry], now: datetime
) -> dict[tuple[str, str], MemoryEntry]:
    """Return the recallable entries that the rows would change, by one query."""
    keys = {key for row in rows for key in _list_keys(row)}
    if not keys:
        return {}
    texts = {row.namespace_id: row.namespace.text for row in rows}
    not_expired = Q(expires_at=None) | Q(expires_at__gt=now)
    entries = Entry.objects.unscoped().filter(
        not_expired,
        namespace_id__in={namespace_id for namespace_id, _key in keys},
        key__in={key for _namespace_id, key in keys},
        deleted_at=None,
    )
    return {
        (texts[entry.namespace_id], entry.key): build_entry(entry, texts[entry.namespace_id])
        for entry in entries.exclude(tier=Tier.QUARANTINE.value)
        if (entry.namespace_id, entry.key) in keys
    }


def _list_keys(row: Proposal | Entry) -> Iterable[EntryKey]:
    if isinstance(row, Entry):
        yield row.namespace_id, str(row.metadata.get(TARGET_KEY) or row.key)
        return
    yield from ((row.namespace_id, target["key"]) for target in row.targets)
    if row.new:
        yield row.namespace_id, row.new["key"]


def _list_recorded_entries(rows: Iterable[Proposal | Entry]) -> dict[tuple[str, str], MemoryEntry]:
    return {
        (row.namespace.text, target["key"]): _build_entry(row.namespace, Target(**target))
        for row in rows
        if isinstance(row, Proposal) and _is_external(row.namespace)
        for target in row.targets
    }


def _is_external(row: Namespace) -> bool:
    parsed = parse_namespace(row.text)
    return find_external_provider(row.team_id, parsed, MemorySecurityPolicy()) is not None


def _build_entry(row: Namespace, target: Target) -> MemoryEntry:
    return MemoryEntry("", row.text, target.key, value=target.value, revision=target.revision)
