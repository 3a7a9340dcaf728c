"""Amend many entries at once by hand: their category, their importance, or when they end. Undone as one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.utils.translation import gettext as _

from config.again import tried_again
from memory.core.errors import InvalidInput, NotFound
from memory.core.records import StoreParams
from memory.core.scopes import life_in
from memory.core.values import check_params
from memory.models import Entry
from memory.models.entries import Operation
from memory.providers.postgres import many, rows
from memory.services.caller import MemoryCaller
from memory.services.door import Door, opened
from memory.services.forget import MOST_AT_ONCE
from memory.services.one_place import shared_place


@dataclass(frozen=True, slots=True)
class Amendment:
    """What isn't given stays. ``ends`` says that ``lives_seconds`` counts: from now, or none for no end."""

    category: str | None = None
    importance: float | None = None
    ends: bool = False
    lives_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Amended:
    count: int
    change_id: UUID


@tried_again
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
    place = shared_place(caller, entry_ids)
    wanted = {UUID(str(one)) for one in entry_ids}
    _check(place, amendment)
    with opened(caller, "write", "memory.edited", namespace=place) as door:
        namespace = door.claim()
        rows.expire(namespace, door.now)
        chosen = list(rows.living(namespace).filter(pk__in=wanted).order_by("id"))
        if len(chosen) != len(wanted):
            raise NotFound(_("There is no such memory; it may be forgotten."))
        change = door.change(namespace, Operation.EDIT, len(chosen), reason)
        act = door.act(Operation.EDIT, reason, change.pk)
        many.revise(namespace, chosen, act, lambda one: _amend(one, amendment, door))
        ids = [str(one.pk) for one in chosen[:50]]
        door.detail.update(keys=len(chosen), entries=ids, change=str(change.pk))
        return Amended(len(chosen), change.pk)


def _check(place: str, amendment: Amendment) -> None:
    given = StoreParams(
        place,
        "key",
        None,
        category=amendment.category or "fact",
        importance=0.5 if amendment.importance is None else amendment.importance,
        ttl_seconds=amendment.lives_seconds,
    )
    check_params(given)


def _amend(entry: Entry, amendment: Amendment, door: Door) -> None:
    if amendment.category is not None:
        entry.category = amendment.category
    if amendment.importance is not None:
        entry.importance = amendment.importance
    if amendment.ends:
        # No longer than where it is lets it: what is working memory is a day's.
        life = life_in(door.place.named.scope, amendment.lives_seconds, entry.tier)
        entry.expires_at = None if life is None else door.now + timedelta(seconds=life)
