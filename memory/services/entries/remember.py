"""Store an entry. An entry with the same key is overwritten, and its old value stays as a revision."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from config.retry import retry_on_conflict
from memory.core.policy import check_bound, check_value
from memory.core.recall.selection import get_category
from memory.core.records import Json, MemoryEntry, MemoryQuery, Source, StoreParams, Tier
from memory.core.scope_kinds import SeenBy
from memory.core.scopes import compute_lifetime, parse_tier
from memory.core.values import check_params
from memory.logic.entries.known_statements import find_known_entry
from memory.logic.profile import keep_prompt_use
from memory.models import Entry, Namespace
from memory.models.entries import Operation
from memory.permissions import get_guest_id
from memory.providers.postgres import rows
from memory.services.gateway import ingress_gate
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import hash_key, open_namespace
from memory.services.gateway.marks import mark_value
from memory.services.gateway.namespace_access import NamespaceAccess, NamespaceLookup


# The kinds of namespaces that belong to the key of another installation, if it wrote them: nobody else can read them.
_OWN_OF_GUESTS: Final = frozenset({SeenBy.PARTICIPANTS, SeenBy.RUN})


@retry_on_conflict
def remember(
    caller: MemoryCaller,
    *,
    key: str,
    value: Json,
    scope: str | None = None,
    namespace: str | None = None,
    metadata: Mapping[str, Json] | None = None,
    category: str | None = None,
    tier: str = "long_term",
    ttl_seconds: float | None = None,
    reason: str = "",
    source: Source | None = None,
    raw: bool = False,
    once: bool = False,
    lookup: NamespaceLookup | None = None,
    **content: Any,  # the other fields of EntryContent
) -> MemoryEntry:
    """Store an entry after the content filter has checked it, and return it as it was stored.

    ``source`` is trusted, so interfaces for untrusted callers must not pass it. ``raw`` skips the filter, for callers
    that have their own. Only another installation that stores its memory here passes both a key and a ``source``; in
    its own namespaces, which only it can read, it is such a caller. With ``once`` a statement that is known already is not
    stored again, and its entry is returned. Writes that share a ``lookup`` share a transaction: see ``open_namespace``.
    Raise NotAdmitted if the filter rejects the content.
    """
    is_provider = source is not None and get_guest_id(caller.principal) is not None
    with open_namespace(
        caller, "write", "memory.stored", scope=scope, namespace=namespace, lookup=lookup
    ) as access:
        raw = raw or (is_provider and access.target.parsed.seen_by in _OWN_OF_GUESTS)
        if ttl_seconds is None:
            ttl_seconds = _compute_lifetime(access, "" if raw or is_provider else tier)
        params = StoreParams(
            namespace=access.text,
            key=key,
            value=value,
            metadata=metadata or {},
            category=category or get_category(metadata or {}),
            tier=parse_tier(tier),
            ttl_seconds=ttl_seconds,
            source=_complete_source(source or Source(), caller),
            **content,
        )
        check_bound(access.policy, params.value, key=params.key, metadata=params.metadata)
        check_params(params)
        # External namespaces have a row, too, with the owner; its lock makes writers wait for each other.
        context = access.build_context(Operation.STORE, reason)
        row, state = access.claim_to_write(params.key, context)
        if not is_provider:  # the other installation has its person's choices
            params = _follow_previous(access, params, state, raw=raw)
        if not raw:
            params = _admit(access, row, params, is_provider=is_provider)
        if once and (existing := _find_known_entry(access, params, state)) is not None:
            return existing
        size = check_value(access.policy, params.value, key=params.key, metadata=params.metadata)
        access.detail.update(key=hash_key(params.key), bytes=size, keys=1)
        if access.external is not None:
            return _store_externally(access, params)
        return _store(access, row, params, context, state)


def _follow_previous(
    access: NamespaceAccess, params: StoreParams, state: rows.WriteState | None, *, raw: bool
) -> StoreParams:
    """Return the parameters with what holds on of the entry that has the key now: how it is used, and its review."""
    previous = _find_previous(access, params.key, state)
    params = keep_prompt_use(params, previous)
    return params if raw else mark_value(params, previous, access.caller)


def _find_previous(
    access: NamespaceAccess, key: str, state: rows.WriteState | None
) -> MemoryEntry | Entry | None:
    """Return the entry that has the key now."""
    if access.external is None:
        return state.entry if state else None
    return next(iter(access.open_store().recall(MemoryQuery(access.text, key=key))), None)


def _store(
    access: NamespaceAccess,
    row: Namespace,
    params: StoreParams,
    context: rows.WriteContext,
    state: rows.WriteState | None,
) -> MemoryEntry:
    entry, before = rows.write(row, params, context, access.policy, state)
    access.detail.update(entry=str(entry.pk), before=before, after=entry.revision)
    return rows.build_entry(entry, access.text)


def _store_externally(access: NamespaceAccess, params: StoreParams) -> MemoryEntry:
    entry = access.open_store().store(params)
    access.detail.update(entry=entry.id, before=entry.revision - 1, after=entry.revision)
    return entry


def _compute_lifetime(access: NamespaceAccess, tier: str) -> float | None:
    return compute_lifetime(access.target.parsed.scope, None, tier)


def _admit(
    access: NamespaceAccess, row: Namespace, params: StoreParams, *, is_provider: bool
) -> StoreParams:
    """Return the parameters that the content filter lets through. Raise NotAdmitted if it rejects them.

    The other installation has decided what is worth keeping, so that only its content is checked.
    """
    load = partial(ingress_gate.load_contents, access, row)
    writer = ingress_gate.get_writer(access.caller)
    check = ingress_gate.check_amendment if is_provider else ingress_gate.check_ingress
    admission = check(params, load, writer)
    access.detail.update(admission.detail)
    return admission.params


def _find_known_entry(
    access: NamespaceAccess, params: StoreParams, state: rows.WriteState | None
) -> MemoryEntry | None:
    """Return the entry that has the statement already, and note it in the audit entry."""
    if params.tier is Tier.QUARANTINE:
        return None
    is_new_key = state is not None and state.key == params.key and state.entry is None
    known_entry = find_known_entry(params, access.open_store(), access.now, is_new_key=is_new_key)
    if known_entry is not None:
        access.detail.update(key=hash_key(known_entry.key), keys=0, known=known_entry.id)
    return known_entry


def _complete_source(source: Source, caller: MemoryCaller) -> Source:
    """Return the source with the missing actor, run and node taken from the caller."""
    return replace(
        source,
        actor=source.actor or caller.principal.actor,
        run_id=source.run_id or caller.origin.run_id,
        node_id=source.node_id or caller.origin.node_id,
    )
