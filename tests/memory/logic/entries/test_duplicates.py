"""Duplicates: what is the same again, what only looks so, and what merging keeps."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.core.records import MemoryEntry, Source, StoreParams, Tier
from memory.logic.entries.duplicates import (
    Duplicate,
    Likeness,
    compare_values,
    count_evidence,
    differs_by_negation,
    find_duplicate,
    measure_similarity,
    merge_duplicate,
)
from memory.logic.review.contradictions import (
    Claim,
    ContradictionKind,
    find_conflict,
    find_contradictions,
    parse_claim,
)
from tests.memory.logic.support import NAMESPACE, START, quick
from tests.support.cases import for_each


SAME, NEAR, DIFFERENT = Likeness.SAME, Likeness.NEAR, Likeness.DIFFERENT

PAIRS: list[tuple[Any, Any, Likeness]] = [
    ("User prefers dark mode", "user prefers  dark mode.", SAME),
    ("The user prefers dark mode", "User prefers the dark mode!", SAME),
    ("User doesn't eat meat", "User does not eat meat", SAME),
    ("Café opens at 9", "cafe\u0301 opens at 9", SAME),
    ("ｄａｒｋ mode please", "dark\u200b mode", SAME),
    ("用户喜欢深色模式", "用户喜欢深色模式。", SAME),
    ("用户喜欢深色的模式", "用户喜欢深色模式", SAME),
    ("👍", "👍", SAME),
    ("Alice likes green tea from Japan", "Alice really likes green tea from Japan", NEAR),
    ("We deploy every Friday from the main branch", "We deploy every Friday from main", NEAR),
    ("用户每周五下午从主分支部署到生产环境", "用户每周五下午从主分支部署到生产", NEAR),
    # Numbers
    ("The meeting is at 3 pm in room 12", "The meeting is at 4 pm in room 12", DIFFERENT),
    ("Paid 3 apples and 5 pears", "Paid 5 apples and 3 pears", DIFFERENT),
    ("Invoice 1001 was paid in full by Ann", "Invoice 1002 was paid in full by Ann", DIFFERENT),
    ("The budget of the team is large", "The budget of the 2 team is large", DIFFERENT),
    ("我们每周开两次会讨论进度", "我们每周开三次会讨论进度", DIFFERENT),
    ("version 1.2 is out", "version 1.3 is out", DIFFERENT),
    # Negation and limits
    ("Alice eats meat on most days", "Alice eats no meat on most days", DIFFERENT),
    ("The API is stable for public use", "The API isn't stable for public use", DIFFERENT),
    ("He can come to the big party", "He cannot come to the big party", DIFFERENT),
    ("用户喜欢喝咖啡和红茶", "用户不喜欢喝咖啡和红茶", DIFFERENT),
    ("Bob is the owner of the shop", "Bob was the owner of the shop", DIFFERENT),
    ("Ann works at the bank in Lyon", "Ann formerly works at the bank in Lyon", DIFFERENT),
    ("Backups run nightly on all hosts", "Backups run nightly on almost all hosts", DIFFERENT),
    # Another word, another order, another person
    ("Alice pays Bob", "Bob pays Alice", DIFFERENT),
    ("The client calls the server over TLS", "The server calls the client over TLS", DIFFERENT),
    ("我喜欢猫", "我喜欢狗", DIFFERENT),
    ("Tom's car is red", "Tom's car is blue", DIFFERENT),
    ("I told her about the plan today", "I told him about the plan today", DIFFERENT),
    ("Alice lives in Paris", "Alice lives in Paris with two dogs and a cat", DIFFERENT),
    ("👍", "👎", DIFFERENT),
    ("", "👎", DIFFERENT),
    # Values that are no texts
    ({"city": "Paris", "n": 1}, {"n": 1.0, "city": "paris "}, SAME),
    ({"city": "Paris"}, {"city": "Lyon"}, DIFFERENT),
    ({"city": "Paris"}, {"town": "Paris"}, DIFFERENT),
    ([1, 2], [1, 2], SAME),
    ([1, 2], [2, 1], DIFFERENT),
    ({"learnings": ["Use TLS"]}, {"learnings": ["use TLS."]}, SAME),
    ({"learnings": ["Use TLS"]}, {"learnings": ["use TLS.", "And more"]}, DIFFERENT),
    (True, 1, DIFFERENT),
    ("1", 1, DIFFERENT),
]


@for_each("one, other, expected", PAIRS)
def test_two_values_are(one: Any, other: Any, expected: Likeness):
    assert compare_values(one, other) is expected
    assert compare_values(other, one) is expected


@quick
@given(st.text(max_size=60), st.text(max_size=60))
def test_likeness_takes_any_text_both_ways_round(one: str, other: str):
    assert compare_values(one, one) is SAME
    assert compare_values(one, other) is compare_values(other, one)


@quick
@given(
    st.lists(
        st.sampled_from(["red", "green", "blue", "tea", "cat", "7", "42", "not", "不", "猫"]),
        max_size=8,
    )
)
def test_changing_a_number_always_makes_it_another_text(words: list[str]):
    one, other = " ".join([*words, "7"]), " ".join([*words, "8"])

    assert compare_values(one, other) is DIFFERENT


def entry(value: Any, **changes: Any) -> MemoryEntry:
    made = MemoryEntry(
        id="e1",
        namespace=NAMESPACE,
        key="k1",
        value=value,
        created_at=START,
        updated_at=START,
        source=Source(run_id="run1", node_id="n"),
    )
    return replace(made, **changes)


def params(value: Any, **changes: Any) -> StoreParams:
    made = StoreParams(NAMESPACE, "k2", value=value, source=Source(run_id="run2", node_id="n"))
    return replace(made, **changes)


def test_duplicate_is_found_the_same_before_the_near():
    near = entry("Alice really likes green tea from Japan", id="e2", key="near")
    same = entry("alice likes green tea from Japan.", id="e1", key="same")

    found = find_duplicate(params("Alice likes green tea from Japan"), [near, same])

    assert found is not None
    assert (found.entry.key, found.likeness) == ("same", SAME)


NO_DUPLICATES = [
    ("another namespace", {"namespace": "user:bob"}, {}),
    ("another category", {"category": "error"}, {}),
    ("the same key is replaced anyway", {"key": "k2"}, {}),
    ("quarantine is apart", {"tier": Tier.QUARANTINE}, {}),
    ("quarantine proves nothing", {}, {"tier": Tier.QUARANTINE}),
    ("a chat repeats itself", {"category": "message"}, {"category": "message"}),
    ("pages have their own rules", {"category": "page"}, {"category": "page"}),
]


@pytest.mark.parametrize(("_why", "of_entry", "of_params"), NO_DUPLICATES)
def test_no_duplicate_where(_why: str, of_entry: dict[str, Any], of_params: dict[str, Any]):
    known = entry("Alice likes tea", **of_entry)

    assert find_duplicate(params("Alice likes tea", **of_params), [known]) is None


def merge(known: MemoryEntry, new: StoreParams) -> StoreParams:
    found = find_duplicate(new, [known])
    assert found is not None
    return merge_duplicate(found, new)


def test_merging_adds_a_proof_and_keeps_the_key():
    kept = merge(entry("Alice likes tea"), params("alice likes tea"))

    assert (kept.key, kept.value) == ("k1", "alice likes tea")
    assert kept.metadata == {"proofs": 2, "proved_by": ["run1/n/", "run2/n/"]}


def test_merging_again_counts_on():
    once = merge(entry("Alice likes tea"), params("Alice likes tea"))
    known = entry(once.value, metadata=once.metadata)

    again = merge(known, params("Alice likes tea", source=Source(run_id="run3", node_id="n")))

    assert count_evidence(entry("x", metadata=again.metadata)) == 3


def test_retry_of_the_same_step_proves_nothing():
    once = merge(entry("Alice likes tea"), params("Alice likes tea"))
    retried = merge(entry(once.value, metadata=once.metadata), params("Alice likes tea"))

    assert retried.metadata["proofs"] == 2


def test_merging_keeps_the_fuller_wording():
    long = "Alice really likes green tea from Japan"
    short = "Alice likes green tea from Japan"

    assert merge(entry(long), params(short)).value == long
    assert merge(entry(short), params(long)).value == long


def test_merging_never_demotes():
    verified = entry("Alice likes tea", tier=Tier.LONG_TERM, importance=0.9)
    fleeting = params("Alice likes tea", tier=Tier.WORKING, ttl_seconds=60, importance=0.1)

    kept = merge(verified, fleeting)

    assert (kept.tier, kept.ttl_seconds, kept.importance) == (Tier.LONG_TERM, None, 0.9)


LIVES: list[tuple[Tier, float | None, Tier, float | None, float | None]] = [
    (Tier.LONG_TERM, None, Tier.LONG_TERM, 60, None),
    (Tier.LONG_TERM, 90, Tier.LONG_TERM, 60, 90),
    (Tier.LONG_TERM, 30, Tier.LONG_TERM, 60, 60),
    (Tier.LONG_TERM, 30, Tier.WORKING, 60, 30),
    (Tier.LONG_TERM, 30, Tier.LONG_TERM, None, None),
    (Tier.WORKING, 30, Tier.LONG_TERM, None, None),
    (Tier.WORKING, 30, Tier.WORKING, 60, 60),
]


@pytest.mark.parametrize(("tier", "life", "new_tier", "new_life", "expected"), LIVES)
def test_merging_never_shortens_a_life(
    tier: Tier, life: float | None, new_tier: Tier, new_life: float | None, expected: float | None
):
    end = None if life is None else START + timedelta(seconds=life)
    known = entry("Alice likes tea", tier=tier, expires_at=end)

    kept = merge(known, params("Alice likes tea", tier=new_tier, ttl_seconds=new_life))

    assert kept.ttl_seconds == expected


def test_similarity_is_one_for_the_same_and_nothing_for_strangers():
    assert measure_similarity("red green tea", "Red green tea!") == 1
    assert measure_similarity("red green tea", "blue whales sing") == 0
    assert 0 < measure_similarity("red green tea", "red tea") < 1


NEGATED = [
    ("Alice eats meat", "Alice does not eat meat", True),
    ("用户喜欢喝咖啡", "用户不喜欢喝咖啡", True),
    ("Alice eats meat", "Alice eats meat", False),
    ("Alice doesn't eat meat", "Alice does not eat meat", False),
    ("Alice eats meat", "Alice does not eat fish", False),
    ("no", "yes", False),
]


@pytest.mark.parametrize(("one", "other", "expected"), NEGATED)
def test_denial_is_seen(one: str, other: str, expected: bool):
    assert differs_by_negation(one, other) is expected


CLAIMS = [
    ("The deadline is Friday.", Claim("deadline", "is", "friday")),
    ("Alice lives in Lyon", Claim("alice", "home", "lyon")),
    ("Alice moved to Lyon", Claim("alice", "home", "lyon")),
    ("My name is Ann", Claim("my name", "is", "ann")),
    ("The ticket costs 12 €", Claim("ticket", "price", "12")),
    ("我的生日是5月3日", Claim("我的生日", "is", "5月3日")),
    ("张三住在北京", Claim("张三", "home", "北京")),
    ({"subject": "Ann", "attribute": "age", "value": 30}, Claim("ann", "age", "30")),
    ({"learnings": ["The deadline is Friday"]}, Claim("deadline", "is", "friday")),
    ("Alice likes tea", None),
    ("Alice is tall", None),
    ("Is the deadline Friday?", None),
    ("The deadline is Friday. Or so.", None),
    ({"a": 1}, None),
    (17, None),
]


@for_each("value, expected", CLAIMS)
def test_claim_in(value: Any, expected: Claim | None):
    assert parse_claim(value) == expected


CONFLICTS: list[tuple[Any, Any, ContradictionKind | None]] = [
    ("The deadline is Friday", "The deadline is now Monday", ContradictionKind.VALUE),
    ("Alice lives in Lyon", "Alice moved to Berlin", ContradictionKind.VALUE),
    ("The budget is 500 €", "The budget is 5000 €", ContradictionKind.VALUE),
    ("我的生日是5月3日", "我的生日是5月4日", ContradictionKind.VALUE),
    ("Alice eats meat", "Alice does not eat meat", ContradictionKind.NEGATION),
    ("Alice lives in Lyon", "Alice lives in Lyon, France", None),
    ("Alice lives in Lyon", "Bob lives in Berlin", None),
    ("Alice likes tea", "Alice likes coffee", None),
    ("Invoice 1001 is due on Monday", "Invoice 1002 is due on Friday", None),
    ("The deadline is Friday", "the deadline is friday!", None),
]


@for_each("one, other, expected", CONFLICTS)
def test_two_memories_contradict(one: Any, other: Any, expected: ContradictionKind | None):
    found = find_conflict(one, other)

    assert (found and found[0]) == expected
    assert (find_conflict(other, one) is None) == (found is None)


def test_contradiction_names_the_older_and_the_newer():
    old = entry("Alice lives in Lyon", id="a")
    new = entry("Alice lives in Berlin", id="b", updated_at=START.replace(year=2027))
    elsewhere = entry("Alice lives in Rome", id="c", namespace="user:bob")

    [found] = find_contradictions(old, [new, elsewhere, old])

    assert (found.older, found.newer, found.subject) == (old, new, "alice: home")


WEB = {"origin": "web"}
APPROVED = {"origin": "web", "review": "approve", "review_reason": "seen"}
BOB, EVIL = "My accountant is Bob", "My accountant is Bob Evilson"


@for_each("before, after", [({}, WEB), (WEB, {}), (APPROVED, WEB), (WEB, APPROVED)])
def test_what_is_marked_is_no_duplicate_of_what_is_trusted(
    before: dict[str, Any], after: dict[str, Any]
):
    assert find_duplicate(params(BOB, metadata=after), [entry(BOB, metadata=before)]) is None


@for_each(
    "before, after, value, provenance",
    [
        (APPROVED, {}, BOB, APPROVED),
        ({}, APPROVED, EVIL, APPROVED),
        (APPROVED, APPROVED | {"review_reason": "too"}, BOB, APPROVED),
        (WEB, {"origin": "tool"}, EVIL, {"origin": "tool"}),
    ],
)
def test_origin_and_approval_are_those_of_the_wording_that_stays(
    before: dict[str, Any], after: dict[str, Any], value: str, provenance: dict[str, Any]
):
    merged = merge(entry(BOB, metadata=before), params(EVIL, metadata=after))

    assert merged.value == value
    assert {name: merged.metadata.get(name) for name in APPROVED} == {
        name: provenance.get(name) for name in APPROVED
    }


def test_marked_repetition_that_is_merged_all_the_same_leaves_the_trusted_wording():
    merged = merge_duplicate(
        Duplicate(entry(BOB, metadata=APPROVED), NEAR), params(EVIL, metadata=WEB)
    )

    assert (merged.value, merged.metadata["review"]) == (BOB, "approve")
