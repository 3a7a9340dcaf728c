"""Amend many entries at once by hand: their category, their importance, or when they end. Undone as one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.utils.translation import gettext as _

from config.retry import retry_on_conflict
from memory.core.errors import InvalidInput, NotFound
from memory.core.records import StoreParams
from memory.core.scopes import life_in
from memory.core.values import check_params
from memory.models import Entry
from memory.models.entries import Operation
from memory.providers.postgres import bulk, rows
from memory.services.entries.forget import MOST_AT_ONCE
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import MemoryGateway
from memory.services.gateway.namespace_access import NamespaceAccess
from memory.services.gateway.single_namespace import get_shared_namespace


@dataclass(frozen=True, slots=True)
class Amendment:
    """Changes to many entries; a field without a value stays. ``ends`` says that ``lives_seconds`` counts: from now, or
    none for no end.
    """

    category: str | None = None
    importance: float | None = None
    ends: bool = False
    lives_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Amended:
    count: int
    change_id: UUID


@retry_on_conflict
def amend(
    caller: MemoryCaller,
    *,
    entry_ids: Sequence[UUID | str],
    amendment: Amendment,
    reason: str = "",
) -> Amended:
    """All of one namespace, or none."""
    if not 1 <= len(entry_ids) <= MOST_AT_ONCE:
        raise InvalidInput(f"entries: from 1 to {MOST_AT_ONCE} at once.")
    place = get_shared_namespace(caller, entry_ids)
    wanted = {UUID(str(entry_id)) for entry_id in entry_ids}
    _check(place, amendment)
    with MemoryGateway(caller).open_namespace("write", "memory.edited", namespace=place) as access:
        namespace = access.claim()
        rows.expire(namespace, access.now)
        chosen = list(rows.living(namespace).filter(pk__in=wanted).order_by("id"))
        if len(chosen) != len(wanted):
            raise NotFound(_("Memory not found. It may have been forgotten."))
        change = access.change(namespace, Operation.EDIT, len(chosen), reason)
        act = access.act(Operation.EDIT, reason, change.pk)
        bulk.revise(namespace, chosen, act, lambda entry_id: _amend(entry_id, amendment, access))
        ids = [str(entry_id.pk) for entry_id in chosen[:50]]
        access.detail.update(keys=len(chosen), entries=ids, change=str(change.pk))
        return Amended(len(chosen), change.pk)


def _check(place: str, amendment: Amendment) -> None:
    params = StoreParams(
        place,
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
        # No longer than where it is lets it: what is working memory is a day's.
        life = life_in(access.target.parsed.scope, amendment.lives_seconds, entry.tier)
        entry.expires_at = None if life is None else access.now + timedelta(seconds=life)
