"""Edit an entry by hand: only what is named changes, and only if nobody was quicker."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext as _

from config.again import tried_again
from memory.core.errors import AlreadyExists, NotFound
from memory.core.policy import check_value
from memory.core.records import Json, MemoryEntry, Source, StoreParams
from memory.core.scoped import tier_named
from memory.core.values import check_params
from memory.models import Entry
from memory.models.entries import Operation
from memory.providers.postgres import rows
from memory.services import gate
from memory.services.caller import MemoryCaller
from memory.services.door import Door, entry_place, key_hash, opened


class _Unchanged:
    pass


UNCHANGED: Final = _Unchanged()


class RevisionConflict(AlreadyExists):
    """The entry was changed in the meantime."""


@tried_again
def edit(
    caller: MemoryCaller,
    *,
    entry_id: UUID | str,
    if_revision: int,
    value: Json | _Unchanged = UNCHANGED,
    metadata: Mapping[str, Json] | None = None,
    category: str | None = None,
    tier: str | None = None,
    importance: float | None = None,
    reason: str = "",
) -> MemoryEntry:
    """Its end, if it has one, stays. What has to wait for a person is kept beside it, in quarantine,
    and is what is given back; the entry is as it was."""
    changes = {"metadata": metadata, "category": category, "importance": importance}
    with opened(caller, "write", "memory.edited", namespace=entry_place(caller, entry_id)) as door:
        namespace = door.claim()
        rows.expire(namespace, door.now)
        entry = rows.living(namespace).filter(pk=UUID(str(entry_id))).first()
        if entry is None:
            raise NotFound(_("There is no such memory; it may be forgotten."))
        check_revision(entry, if_revision)
        params = _params(door, entry, value, tier, changes)
        check_params(params)
        if not isinstance(value, _Unchanged) or metadata is not None or tier is not None:
            who, changed = gate.who_writes(caller), params
            let_in = gate.amended(changed, lambda: gate.at_door(door, namespace), who)
            params = let_in.params
            door.detail.update(let_in.detail)
        door.detail.update(key=key_hash(params.key), bytes=check_value(door.policy, params.value))
        act = door.act(Operation.EDIT if params.key == entry.key else Operation.STORE, reason)
        entry, before = rows.write(namespace, params, act, door.policy)
        door.detail.update(entry=str(entry.pk), before=before, after=entry.revision, keys=1)
        return rows.entry_of(entry, namespace.text)


def check_revision(entry: Entry, if_revision: int) -> None:
    if entry.revision != if_revision:
        raise RevisionConflict(
            f"The entry was changed in the meantime: it is at revision {entry.revision}, "
            f"not {if_revision}."
        )


def _params(
    door: Door,
    entry: Entry,
    value: Json | _Unchanged,
    tier: str | None,
    changes: Mapping[str, Any],  # what was given, by field
) -> StoreParams:
    kept: dict[str, Any] = {
        "metadata": entry.metadata,
        "category": entry.category,
        "importance": entry.importance,
    }
    given = {name: change for name, change in changes.items() if change is not None}
    left = (entry.expires_at - door.now).total_seconds() if entry.expires_at else None
    return StoreParams(
        namespace=door.text,
        key=entry.key,
        value=entry.value if isinstance(value, _Unchanged) else value,
        tier=tier_named(tier or entry.tier),
        ttl_seconds=left,
        source=Source(door.caller.principal.actor, entry.source_run, entry.source_node),
        **{**kept, **given},
    )
