"""The content filter before storing, with what the namespace contains: its recent, rejected and conflicting entries.

``memory.logic.entries.ingress`` decides; this module applies its decision to the namespace. A refusal is an error, so
that it is audited; what the filter changed in admitted content is in the audit entry of the write.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from memory.core.entry_codec import CONTENT, get_state
from memory.core.errors import NotAdmitted
from memory.core.records import Json, MemoryEntry, MemoryQuery, StoreParams, Tier
from memory.logic.entries.held_entries import TARGET_KEY as TARGET_KEY
from memory.logic.entries.held_entries import hold_entry
from memory.logic.entries.ingress import (
    Incoming,
    IngressDecision,
    IngressLimits,
    IngressOutcome,
    ScreeningResult,
    decide_ingress,
    screen_params,
)
from memory.logic.entries.origins import ContentOrigin, parse_origin
from memory.logic.entries.tiers import (
    TierAction,
    find_promotion_reason,
    is_verified,
    protect_existing,
)
from memory.logic.entries.write_batch import find_entry
from memory.models import Namespace
from memory.providers.postgres import rows
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.namespace_access import NamespaceAccess


LIMITS: Final = IngressLimits()
MAX_REJECTED: Final = 200  # only the newest rejections count; content that was rejected years ago may be proposed again

FindEntry = Callable[[str], MemoryEntry | None]


class Writer(StrEnum):
    """The kind of principal that writes. A run counts as a run, not as the person who started it."""

    RUN = "run"
    KEY = "key"
    PERSON = "person"


# The origin of content that names none. Content that a program writes is untrusted.
DEFAULT_ORIGINS: Final = {
    Writer.RUN: ContentOrigin.MODEL,
    Writer.KEY: ContentOrigin.TOOL,
    Writer.PERSON: ContentOrigin.PERSON,
}


@dataclass(frozen=True, slots=True)
class NamespaceContents:
    """The contents of a namespace, as far as the filter needs them, and whether it has a quarantine (``can_hold``).

    ``find_entry`` returns the living entry with a key.
    """

    find_entry: FindEntry
    recent: Sequence[MemoryEntry] = ()
    rejected: Sequence[Json] = ()
    can_hold: bool = True


@dataclass(frozen=True, slots=True)
class Admission:
    """The parameters to store, and what the filter adds to the audit entry."""

    params: StoreParams
    detail: Mapping[str, Json]


def check_ingress(
    params: StoreParams, load: Callable[[], NamespaceContents], writer: Writer
) -> Admission:
    """Check new content, and return the parameters to store. Raise NotAdmitted if the content is rejected.

    Secrets are removed for every writer, and untrusted content with instructions is held for review. ``load`` is called
    if the namespace has to be read.
    """
    if params.tier is not Tier.WORKING:
        return _check_content(params, load, _resolve_origin(params, writer))
    contents, origin = load(), parse_origin(params.metadata.get("origin"), DEFAULT_ORIGINS[writer])
    incoming = Incoming(params, origin, contents.recent, contents.rejected, limits=LIMITS)
    decision = decide_ingress(incoming)
    stored, is_held = decision.params, decision.outcome is IngressOutcome.QUARANTINE
    if stored is None or (is_held and not contents.can_hold):
        raise _build_refusal(decision)
    if is_held:
        return Admission(_hold_if_in_use(stored, contents), _build_detail(decision))
    stored = protect_existing(stored, contents.find_entry(stored.key))
    return Admission(_keep_if_verified(stored, contents), _build_detail(decision))


def check_amendment(
    params: StoreParams, load: Callable[[], NamespaceContents], writer: Writer
) -> Admission:
    """Check the new content of an existing entry. Content that needs a review gets a key of its own."""
    if params.tier is Tier.QUARANTINE:
        return Admission(screen_params(params, _resolve_origin(params, writer)).params, {})
    return _check_content(params, load, _resolve_origin(params, writer))


def load_contents(access: NamespaceAccess, namespace: Namespace | None) -> NamespaceContents:
    """Load the contents of a namespace, which the caller has locked until the content is written."""
    store = access.open_store()

    if access.external is not None:
        return NamespaceContents(
            lambda key: find_entry(store, access.text, key),
            store.recall(MemoryQuery(access.text, top_k=LIMITS.recent_count)),
            can_hold=False,
        )
    if namespace is None:
        return NamespaceContents(lambda key: None)
    newest_first = ("-updated_at", "-id")
    # What holds no more may become true again: a former entry makes no new statement a repetition.
    visible = rows.find_visible(namespace, access.now, holding_at=access.now)
    recent = visible.order_by(*newest_first)
    quarantined = rows.find_living(namespace).filter(tier=Tier.QUARANTINE).order_by(*newest_first)
    rejected = quarantined.filter(metadata__review=str(TierAction.REJECT))

    def find_living(key: str) -> MemoryEntry | None:
        unexpired = rows.find_living(namespace).exclude(expires_at__lte=access.now)
        entry = unexpired.filter(key=key).first()
        return rows.build_entry(entry, namespace.text) if entry else None

    return NamespaceContents(
        find_living,
        [rows.build_entry(entry, namespace.text) for entry in recent[: LIMITS.recent_count]],
        list(rejected.values_list("value", flat=True)[:MAX_REJECTED]),
    )


def get_writer(caller: MemoryCaller) -> Writer:
    if caller.reach is not None:
        return Writer.RUN
    return Writer.KEY if caller.principal.kind == "key" else Writer.PERSON


def _resolve_origin(params: StoreParams, writer: Writer) -> ContentOrigin:
    """Return the origin of the content. Content that a person writes counts as their own, even if they copied it."""
    default = DEFAULT_ORIGINS[writer]
    if writer is Writer.PERSON:
        return default
    return parse_origin(params.metadata.get("origin"), default)


def _check_content(
    params: StoreParams, load: Callable[[], NamespaceContents], origin: ContentOrigin
) -> Admission:
    decision = screen_params(params, origin)
    stored = decision.params
    detail = _build_detail(decision) if decision.findings else {}
    if stored.tier is not Tier.QUARANTINE:
        return Admission(stored, detail)
    contents = load()
    if params.tier is not Tier.QUARANTINE and not contents.can_hold:
        raise _build_refusal(decision)
    return Admission(_hold_if_in_use(stored, contents), detail)


def _hold_if_in_use(params: StoreParams, contents: NamespaceContents) -> StoreParams:
    """Return held content with a separate key if an entry in use has its key, so that it doesn't replace the entry."""
    existing = contents.find_entry(params.key)
    if existing is None or existing.tier is Tier.QUARANTINE:
        return params
    return hold_entry(params.key, params)


def _keep_if_verified(params: StoreParams, contents: NamespaceContents) -> StoreParams:
    """Return verified working memory as long-term memory without expiry. In an external namespace, which no sweep
    promotes, this is also done with content that qualifies for a promotion.
    """
    if params.tier is not Tier.WORKING:
        return params
    entry = MemoryEntry("", params.namespace, params.key, **get_state(params, CONTENT))
    if is_verified(entry) or (not contents.can_hold and find_promotion_reason(entry)):
        return replace(params, tier=Tier.LONG_TERM, ttl_seconds=None)
    return params


def _build_detail(decision: IngressDecision | ScreeningResult) -> dict[str, Json]:
    return {"ingress": str(decision.outcome), "reasons": _list_reasons(decision)}


def _build_refusal(decision: IngressDecision | ScreeningResult) -> NotAdmitted:
    reasons = "; ".join(
        f"{finding.reason} ({finding.detail})" if finding.detail else str(finding.reason)
        for finding in decision.findings
    )
    return NotAdmitted(f"Rejected by the content filter: {reasons}", tuple(_list_reasons(decision)))


def _list_reasons(decision: IngressDecision | ScreeningResult) -> list[str]:
    return [str(finding.reason) for finding in decision.findings]
