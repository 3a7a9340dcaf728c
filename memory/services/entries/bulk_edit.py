"""Amends many entries by hand as one change: their category, importance or expiry."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.utils.translation import gettext as _

from config.retry import retry_on_conflict
from memory.core.errors import InvalidInput, NotFound
from memory.core.records import StoreParams
from memory.core.scopes import compute_lifetime
from memory.core.values import check_params
from memory.models import Entry
from memory.models.entries import Operation
from memory.providers.postgres import bulk, rows
from memory.services.entries.forget import MAX_ENTRIES
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import get_shared_namespace, open_namespace
from memory.services.gateway.namespace_access import NamespaceAccess


@dataclass(frozen=True, slots=True)
class Amendment:
    """Changes to many entries; a field without a value stays. ``lives_seconds`` counts only if ``ends`` is set: from
    now, or None for no expiry.
    """

    category: str | None = None
    importance: float | None = None
    ends: bool = False
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
    """Amend all of the entries, which have to be in one namespace, or none."""
    if not 1 <= len(entry_ids) <= MAX_ENTRIES:
        raise InvalidInput(f"entries: from 1 to {MAX_ENTRIES} at once.")
    text = get_shared_namespace(caller, entry_ids)
    wanted_ids = {UUID(str(entry_id)) for entry_id in entry_ids}
    _check(text, amendment)
    with open_namespace(caller, "write", "memory.edited", namespace=text) as access:
        namespace = access.claim()
        rows.expire(namespace, access.now)
        rows_to_amend = list(rows.find_living(namespace).filter(pk__in=wanted_ids).order_by("id"))
        if len(rows_to_amend) != len(wanted_ids):
            raise NotFound(_("Memory not found. It may have been forgotten."))
        change = access.change(namespace, Operation.EDIT, len(rows_to_amend), reason)
        context = access.build_context(Operation.EDIT, reason, change.pk)
        bulk.revise(
            namespace,
            rows_to_amend,
            context,
            lambda entry_id: _amend(entry_id, amendment, access),
        )
        ids = [str(entry_id.pk) for entry_id in rows_to_amend[:50]]
        access.detail.update(keys=len(rows_to_amend), entries=ids, change=str(change.pk))
        return AmendResult(len(rows_to_amend), change.pk)


def _check(namespace: str, amendment: Amendment) -> None:
    params = StoreParams(
        namespace,
        "key",
        value=None,
        category=amendment.category or "fact",
        importance=0.5 if amendment.importance is None else amendment.importance,
        ttl_seconds=amendment.lives_seconds,
    )
    check_params(params)


def _amend(entry: Entry, amendment: Amendment, access: NamespaceAccess) -> None:
    if amendment.category is not None:
        entry.category = amendment.category
    if amendment.importance is not None:
        entry.importance = amendment.importance
    if amendment.ends:
        # The expiry may not exceed the limit of the entry's tier: a day for working memory.
        life = compute_lifetime(access.target.parsed.scope, amendment.lives_seconds, entry.tier)
        entry.expires_at = None if life is None else access.now + timedelta(seconds=life)
