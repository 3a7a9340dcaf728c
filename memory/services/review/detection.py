"""What new memories do to old ones: contradict, resemble, belong to. Noticed here, decided by people.

Found outside of any lock, since it compares much; a proposal says what it saw, so that what has
changed meanwhile is seen when it is applied.
"""

from collections.abc import Sequence

from config.ids import uuid7
from config.retry import retry_on_conflict
from memory.core.records import MemoryEntry, MemoryQuery, Tier
from memory.logic.curation.links import links
from memory.logic.entries.texts import texts_in
from memory.logic.review.contradictions import contradictions
from memory.logic.review.proposal_rules import to_link, to_merge, to_settle
from memory.logic.review.proposals import Proposal
from memory.services.curation.learning_rules import Learning
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import MemoryGateway
from memory.services.gateway.namespace_access import NamespaceAccess
from memory.services.review.proposals import keep_proposals


BY = "curation"
NEWEST = 300  # so many are asked whether they contradict
LINKED = 150  # and so many whether they belong together
ALIKE = 10  # found by search for each new one
# An account of a run says what happened then; two of them neither contradict nor replace each other.
OF_A_RUN = frozenset({"execution", "message", "note"})


@retry_on_conflict
def notice(
    caller: MemoryCaller,
    *,
    namespace: str,
    keys: Sequence[str],
    run_id: str,
    learning: Learning,
) -> int:
    """How many proposals came of it."""
    if not keys:
        return 0
    newest, alike = _around(caller, namespace, keys)
    found = _proposals(newest, alike, frozenset(keys))
    if not found:
        return 0
    with MemoryGateway(caller).open_namespace(
        "write", "memory.proposed", namespace=namespace
    ) as access:
        kept = keep_proposals(
            access, found, run_id=run_id, mode=learning.review, sampled=learning.sampled
        )
        access.detail["keys"] = kept
        return kept


def _around(
    caller: MemoryCaller, namespace: str, keys: Sequence[str]
) -> tuple[list[MemoryEntry], list[list[MemoryEntry]]]:
    """The newest of the namespace, and for each new one those that resemble it, itself first."""
    with MemoryGateway(caller).open_namespace(
        "view", "memory.listed", namespace=namespace
    ) as access:
        newest = access.store().recall(MemoryQuery(namespace, top_k=NEWEST))
        fresh = [one for one in newest if one.key in keys and one.category not in OF_A_RUN]
        alike = [[one, *_like(access, one)] for one in fresh]
        access.detail["keys"] = len(newest)
    return newest, alike


def _like(access: NamespaceAccess, entry: MemoryEntry) -> list[MemoryEntry]:
    text = " ".join(texts_in(entry.value))[:2_000]
    found = access.store().recall(MemoryQuery(entry.namespace, query_text=text, top_k=ALIKE))
    return [one for one in found if one.id != entry.id]


def _proposals(
    newest: Sequence[MemoryEntry], alike: Sequence[Sequence[MemoryEntry]], keys: frozenset[str]
) -> list[Proposal]:
    known = [one for one in newest if one.category not in OF_A_RUN and one.tier is Tier.LONG_TERM]
    settled = [
        to_settle(conflict, _new_id, by=BY)
        for group in alike
        for conflict in contradictions(group[0], known)
    ]
    taken = {_keys_of(one) for one in settled}
    merges = [
        one
        for group in alike
        for one in to_merge(group, _new_id, by=BY)
        if keys & _keys_of(one) and _keys_of(one) not in taken
    ]
    among = [one for one in newest if one.category not in OF_A_RUN][:LINKED]
    fresh = {one.id for one in among if one.key in keys}
    related = [one for one in links(among) if {one.one, one.other} & fresh]
    # What may become one entry is not linked to itself.
    together = [_keys_of(one) for one in (*settled, *merges)]
    linked = [
        one
        for one in to_link(related, among, _new_id, by=BY)
        if not any(_keys_of(one) <= pair for pair in together)
    ]
    return [*settled, *merges, *linked]


def _keys_of(proposal: Proposal) -> frozenset[str]:
    return frozenset(target.key for target in proposal.targets)


def _new_id() -> str:
    return str(uuid7())
