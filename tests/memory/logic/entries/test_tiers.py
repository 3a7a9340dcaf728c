"""Three tiers: who may move where, what is promoted, and that nothing verified is lost by expiry."""

from dataclasses import replace
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.core.errors import InvalidInput
from memory.core.records import MemoryEntry, MemoryQuery, StoreParams, Tier
from memory.logic.entries.tiers import (
    TRANSITIONS,
    WORKING_TTL,
    PromotionReason,
    TierAction,
    build_transition,
    find_promotion_reason,
    is_verified,
    plan_promotions,
    protect_existing,
    set_default_ttl,
)
from tests.memory.logic.support import NAMESPACE, START, Ticking, provider, quick
from tests.support.cases import for_each


def entry(**changes: Any) -> MemoryEntry:
    made = MemoryEntry(
        "e1",
        NAMESPACE,
        "k",
        value="Alice likes tea",
        tier=Tier.WORKING,
        updated_at=START,
        expires_at=START + WORKING_TTL,
    )
    return replace(made, **changes)


def test_working_memory_lives_a_day():
    """seed 2, working memory: TTL 24 hours."""
    assert (
        set_default_ttl(StoreParams(NAMESPACE, "k", value=1, tier=Tier.WORKING)).ttl_seconds
        == 86_400
    )
    assert (
        set_default_ttl(
            StoreParams(NAMESPACE, "k", value=1, tier=Tier.WORKING, ttl_seconds=5)
        ).ttl_seconds
        == 5
    )
    assert set_default_ttl(StoreParams(NAMESPACE, "k", value=1)).ttl_seconds is None


@for_each("tier, move, to", list(product(Tier, TierAction, Tier)))
def test_move_is_made_only_where_the_table_has_it(tier: Tier, move: TierAction, to: Tier):
    one = entry(tier=tier)
    if to in TRANSITIONS.get((tier, move), ()):
        params = build_transition(one, move, to, reason="looks right")
        assert (params.tier, params.metadata["review"]) == (to, str(move))
        assert params.metadata["review_reason"] == "looks right"
    else:
        with pytest.raises(InvalidInput):
            build_transition(one, move, to)


def test_approved_entry_lives_as_its_new_tier_does():
    held = entry(tier=Tier.QUARANTINE, expires_at=None)

    assert build_transition(held, TierAction.APPROVE, Tier.WORKING).ttl_seconds == 86_400
    assert build_transition(held, TierAction.APPROVE, Tier.LONG_TERM).ttl_seconds is None


PROMOTED: list[tuple[MemoryEntry, int, PromotionReason | None]] = [
    (entry(metadata={"verified": True}), 0, PromotionReason.BY_HAND),
    (entry(metadata={"proofs": 2}), 0, PromotionReason.BY_EVIDENCE),
    (entry(), 2, PromotionReason.BY_USE),
    (entry(), 1, None),
    (entry(importance=0.7), 0, PromotionReason.BY_RULE),
    (entry(importance=0.7, category="message"), 0, None),
    (entry(importance=0.69), 0, None),
    (entry(tier=Tier.LONG_TERM, importance=1), 9, None),
    (entry(tier=Tier.QUARANTINE, metadata={"verified": True}), 0, None),
    (entry(metadata={"review": "reject", "proofs": 9}), 9, None),
]


@for_each("one, use, expected", PROMOTED)
def test_promotion_is(one: MemoryEntry, use: int, expected: PromotionReason | None):
    assert find_promotion_reason(one, use) == expected


def test_settling_looks_at_what_ends_soon_and_at_nothing_else():
    ends, later, gone = (
        entry(id=name, importance=0.9, expires_at=START + timedelta(hours=hours))
        for name, hours in (("a", 1), ("b", 5), ("c", 0))
    )
    fades = entry(id="d", importance=0.1, expires_at=START + timedelta(hours=1))

    settled = plan_promotions([ends, later, gone, fades, entry(expires_at=None)], START)

    assert settled == [(ends, PromotionReason.BY_RULE)]


def test_settling_asks_how_an_entry_was_used():
    ends = entry(expires_at=START + timedelta(hours=1))

    settled = plan_promotions([ends], START, count_runs=lambda _: 3)

    assert settled == [(ends, PromotionReason.BY_USE)]


def test_working_write_over_a_verified_entry_brings_its_value_only():
    verified = entry(tier=Tier.LONG_TERM, importance=0.9, expires_at=None)
    write = StoreParams(NAMESPACE, "k", value="new", tier=Tier.WORKING, ttl_seconds=60)

    kept = protect_existing(write, verified)

    assert (kept.value, kept.tier, kept.ttl_seconds) == ("new", Tier.LONG_TERM, None)
    assert kept.importance == 0.9
    assert protect_existing(write, None) is write
    assert protect_existing(write, entry()) is write


def test_working_write_over_a_long_term_entry_with_an_end_leaves_it_its_end():
    present = entry(tier=Tier.LONG_TERM, expires_at=START + timedelta(days=30))
    write = StoreParams(NAMESPACE, "k", value="new", tier=Tier.WORKING, ttl_seconds=60)

    kept = protect_existing(write, present)

    assert (kept.tier, kept.ttl_seconds) == (Tier.LONG_TERM, 30 * 86_400)


def test_verified_entry_is_not_quarantined_by_a_write():
    write = StoreParams(NAMESPACE, "k", value="new", tier=Tier.QUARANTINE)

    with pytest.raises(InvalidInput):
        protect_existing(write, entry(tier=Tier.LONG_TERM))


class Life:
    """A namespace over days: what people and the hourly sweep do to it."""

    def __init__(self) -> None:
        self.clock = Ticking()
        self.entries = provider(self.clock)

    def store(self, key: str, tier: Tier) -> None:
        write = set_default_ttl(StoreParams(NAMESPACE, key, value="said again", tier=tier))
        self.entries.store(protect_existing(write, self._present(key)))

    def verify(self, key: str, _tier: Tier) -> None:
        present = self._present(key)
        if present and present.tier is Tier.WORKING:
            marked = {"verified": True}
            self.entries.store(
                set_default_ttl(
                    StoreParams(
                        NAMESPACE, key, value=present.value, metadata=marked, tier=Tier.WORKING
                    )
                )
            )

    def wait(self, _key: str, _tier: Tier) -> None:
        """Seven hours; the sweep's margin is two, and it comes every one."""
        for _ in range(7):
            self.clock.now += timedelta(hours=1)
            found = self.entries.recall(MemoryQuery(NAMESPACE))
            for one, _why in plan_promotions(found, self.clock.now):
                self.entries.store(build_transition(one, TierAction.PROMOTE, Tier.LONG_TERM))

    def verified(self) -> set[str]:
        found = self.entries.recall(MemoryQuery(NAMESPACE))
        return {one.key for one in found if is_verified(one)}

    def _present(self, key: str) -> MemoryEntry | None:
        found = self.entries.recall(MemoryQuery(NAMESPACE, key=key))
        return found[0] if found else None


ACTS = st.tuples(
    st.sampled_from([Life.store, Life.verify, Life.wait]),
    st.sampled_from(["k1", "k2"]),
    st.sampled_from([Tier.WORKING, Tier.LONG_TERM]),
)


@quick
@given(st.lists(ACTS, max_size=25))
def test_nothing_verified_is_lost_by_expiry(acts: list[Any]):
    """spec §5: nothing verified is lost by expiry, in whatever order things happen."""

    def live() -> None:
        life = Life()
        verified: set[str] = set()
        for act, key, tier in acts:
            act(life, key, tier)
            left = life.verified()
            assert verified <= left
            verified = left

    live()
