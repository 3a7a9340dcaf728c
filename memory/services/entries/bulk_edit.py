"""Amend many entries by hand as one change: their category, importance or expiry."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from config.retry import retry_on_conflict
from memory.core.records import StoreParams
from memory.core.scopes import compute_lifetime
from memory.core.values import check_params
from memory.models import Entry
from memory.models.entries import Operation
from memory.providers.postgres import bulk, rows
from memory.services.entries.forget import check_entry_count
from memory.services.entries.tiers import list_entries_by_id
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import get_shared_namespace, open_namespace
from memory.services.gateway.namespace_access import NamespaceAccess


@dataclass(frozen=True, slots=True)
class Amendment:
    """Changes to many entries. A field that is None stays; ``lives_seconds`` only counts with ``sets_expiry``."""

    category: str | None = None
    importance: float | None = None
    sets_expiry: bool = False
    lives_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class AmendResult:
    count: int
    change_id: UUID


@retry_on_conflict
def amend(
    caller: MemoryCaller,
    *,
    entry_ids: Sequence[UUID | str],
    amendment: Amendment,
    reason: str = "",
) -> AmendResult:
    """Amend the entries, all or none. Raise InvalidInput if they are not all in one namespace."""
    check_entry_count(entry_ids)
    text = get_shared_namespace(caller, entry_ids)
    _check_amendment(text, amendment)
    with open_namespace(caller, "write", "memory.edited", namespace=text) as access:
        namespace = access.claim()
        rows.expire(namespace, access.now)
        entries = list_entries_by_id(namespace, entry_ids, access.now)
        change = access.record_change(namespace, Operation.EDIT, len(entries), reason)
        context = access.build_context(Operation.EDIT, reason, change.pk)
        bulk.revise(
            namespace, entries, context, lambda entry: _apply_amendment(entry, amendment, access)
        )
        ids = [str(entry.pk) for entry in entries[:50]]
        access.detail.update(keys=len(entries), entries=ids, change=str(change.pk))
        return AmendResult(len(entries), change.pk)


def _check_amendment(namespace: str, amendment: Amendment) -> None:
    params = StoreParams(
        namespace,
        "key",
        value=None,
        category=amendment.category or "fact",
        importance=0.5 if amendment.importance is None else amendment.importance,
        ttl_seconds=amendment.lives_seconds,
    )
    check_params(params)


def _apply_amendment(entry: Entry, amendment: Amendment, access: NamespaceAccess) -> None:
    if amendment.category is not None:
        entry.category = amendment.category
    if amendment.importance is not None:
        entry.importance = amendment.importance
    if amendment.sets_expiry:
        # Working memory lives a day if nothing else is chosen, and the scope limits every lifetime.
        lifetime = compute_lifetime(access.target.parsed.scope, amendment.lives_seconds, entry.tier)
        entry.expires_at = None if lifetime is None else access.now + timedelta(seconds=lifetime)
