"""Proposals: looked at without a trace, applied whole or not at all, and rejected for good."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from memory.core.errors import InvalidInput, ProviderError
from memory.core.records import MemoryEntry, MemoryQuery, Source, StoreParams, Tier
from memory.logic.curation.links import find_term_links
from memory.logic.entries.write_batch import find_entry
from memory.logic.review.contradictions import find_contradictions
from memory.logic.review.proposal_execution import (
    AppliedProposal,
    OutdatedProposal,
    apply_proposal,
)
from memory.logic.review.proposal_plans import FindEntry, PlanProblem, ProposalDiff, plan_changes
from memory.logic.review.proposal_rules import (
    propose_addition,
    propose_links,
    propose_merges,
    propose_replacement,
)
from memory.logic.review.proposals import (
    NEXT_STATES,
    ChangeKind,
    Proposal,
    ReviewState,
    Target,
    change_state,
    compute_fingerprint,
)
from memory.providers.in_memory import InMemoryProvider
from tests.memory.logic.support import NAMESPACE, Ticking, counting, provider
from tests.support.cases import for_each


CLOCK = Ticking()


def stored(entries: InMemoryProvider, key: str, value: Any, **fields: Any) -> MemoryEntry:
    return entries.store(StoreParams(NAMESPACE, key, value=value, **fields))


def state(entries: InMemoryProvider) -> dict[str, tuple[Any, ...]]:
    found = entries.recall(MemoryQuery(NAMESPACE))
    return {
        one.key: (one.value, one.metadata, one.category, one.tier, one.importance, one.source)
        for one in found
    }


def proposal(kind: ChangeKind, *targets: MemoryEntry, new: StoreParams | None = None) -> Proposal:
    return Proposal(
        "p1", kind, NAMESPACE, tuple(map(Target.from_entry, targets)), new, "because", "test"
    )


def new(value: Any, key: str = "new", **fields: Any) -> StoreParams:
    return StoreParams(NAMESPACE, key, value=value, **fields)


def _world() -> tuple[InMemoryProvider, dict[str, MemoryEntry]]:
    entries = provider(CLOCK)
    made = {
        "tea": stored(entries, "tea", "Alice likes tea", metadata={"a": 1}, importance=0.4),
        "tee": stored(
            entries,
            "tee",
            "Alice enjoys tea",
            metadata={"a": 2, "b": 3, "proofs": 2},
            importance=0.8,
        ),
        "hot": stored(entries, "hot", "It is hot", tier=Tier.WORKING, ttl_seconds=3_600),
    }
    return entries, made


def _all_kinds(made: dict[str, MemoryEntry]) -> list[Proposal]:
    return [
        proposal(ChangeKind.ADD, new=new("Bob likes coffee")),
        proposal(ChangeKind.EDIT, made["tea"], new=new("Alice loves tea", metadata={"c": 4})),
        proposal(ChangeKind.MERGE, made["tea"], made["tee"], new=new("Alice likes and enjoys tea")),
        proposal(ChangeKind.FORGET, made["tea"], made["hot"]),
        proposal(ChangeKind.PROMOTE, made["hot"]),
        proposal(ChangeKind.LINK, made["tea"], made["tee"]),
    ]


def lookup(entries: InMemoryProvider) -> FindEntry:
    return partial(find_entry, entries, NAMESPACE)


@pytest.mark.parametrize("number", range(6))
def test_dry_run_leaves_no_trace(number: int):
    entries, made = _world()
    one = (_all_kinds(made))[number]
    before = state(entries)

    diff = plan_changes(one, lookup(entries))

    assert diff.is_applicable
    assert diff.changes
    assert state(entries) == before
    past = [len(entries.history(NAMESPACE, key)) for key in made]
    assert past == [1, 1, 1]


@pytest.mark.parametrize("number", range(6))
def test_applying_makes_what_the_dry_run_said(number: int):
    entries, made = _world()
    one = (_all_kinds(made))[number]
    before = state(entries)
    diff = plan_changes(one, lookup(entries))

    applied = apply_proposal(one, entries)

    assert applied.proposal.state is ReviewState.APPLIED
    after = state(entries)
    assert after != before
    for change in diff.changes:
        assert (change.key in after) == (change.after is not None)
        if change.after is not None:
            assert after[change.key][0] == change.after.value


def test_adding_stores_what_is_new():
    entries, _ = _world()

    apply_proposal(
        proposal(ChangeKind.ADD, new=new("Bob likes coffee", category="learning")), entries
    )

    assert (state(entries))["new"][:3] == ("Bob likes coffee", {}, "learning")


def test_editing_keeps_tier_and_life_and_other_metadata():
    entries, made = _world()
    edit = proposal(ChangeKind.EDIT, made["hot"], new=new("It is cold", metadata={"x": 1}))

    apply_proposal(edit, entries)

    [edited] = entries.recall(MemoryQuery(NAMESPACE, key="hot"))
    assert (edited.value, edited.tier, edited.metadata) == ("It is cold", Tier.WORKING, {"x": 1})
    assert edited.expires_at is not None


def test_merging_keeps_one_with_all_proofs_and_a_link_to_the_others():
    """spec §8: same meaning → merge, newer wins, link kept."""
    entries, made = _world()

    apply_proposal((_all_kinds(made))[2], entries)

    after = state(entries)
    assert "tee" not in after
    value, metadata, _, tier, importance, _ = after["tea"]
    assert (value, tier, importance) == ("Alice likes and enjoys tea", Tier.LONG_TERM, 0.8)
    merged_from = [{"key": "tee", "id": made["tee"].id}]
    assert metadata == {"a": 1, "b": 3, "proofs": 3, "merged_from": merged_from}


APPROVED = {"origin": "web", "review": "approve", "review_reason": "seen"}


@for_each(
    "kind, value, expected",
    [
        (ChangeKind.EDIT, "It is cold", {"origin": "web"}),
        (ChangeKind.EDIT, "It is hot", APPROVED),
        (ChangeKind.MERGE, "It is cold", {"origin": "web"}),
        (ChangeKind.MERGE, "It is hot", APPROVED),
    ],
)
def test_approval_stays_only_with_the_value_for_which_it_was_given(
    kind: ChangeKind, value: str, expected: dict[str, Any]
):
    entries = provider()
    approved = stored(entries, "a", "It is hot", metadata=APPROVED)
    other = stored(entries, "b", "It is cold", metadata={"origin": "web"})
    targets = [approved, other] if kind is ChangeKind.MERGE else [approved]

    apply_proposal(proposal(kind, *targets, new=new(value, category="other")), entries)

    [after] = entries.recall(MemoryQuery(NAMESPACE, key="a"))
    assert {name: after.metadata[name] for name in APPROVED if name in after.metadata} == expected


def test_promoting_keeps_an_entry_for_good():
    """spec §5: promotion by hand."""
    entries, made = _world()

    apply_proposal(proposal(ChangeKind.PROMOTE, made["hot"]), entries)

    [kept] = entries.recall(MemoryQuery(NAMESPACE, key="hot"))
    assert (kept.tier, kept.expires_at) == (Tier.LONG_TERM, None)
    assert kept.metadata["review_reason"] == "because"


def test_linking_names_each_in_the_other():
    entries, made = _world()

    apply_proposal(proposal(ChangeKind.LINK, made["tea"], made["tee"], made["hot"]), entries)

    after = state(entries)
    assert [after[key][1]["related"] for key in ("tea", "tee", "hot")] == [
        ["tee", "hot"],
        ["tea", "hot"],
        ["tea", "tee"],
    ]


PROBLEMS = [
    (lambda made: proposal(ChangeKind.ADD, new=new("x", key="tea")), [("tea", PlanProblem.EXISTS)]),
    (
        lambda made: proposal(ChangeKind.FORGET, replace(made["tea"], key="gone"), made["hot"]),
        [("gone", PlanProblem.GONE)],
    ),
    (
        lambda made: proposal(ChangeKind.FORGET, replace(made["tea"], revision=7, value="older")),
        [("tea", PlanProblem.CHANGED)],
    ),
    (
        lambda made: proposal(ChangeKind.PROMOTE, made["tea"]),
        [(NAMESPACE, PlanProblem.NOTHING_TO_DO)],
    ),
    (
        lambda made: proposal(
            ChangeKind.EDIT, made["tea"], new=new("Alice likes tea", importance=0.4)
        ),
        [(NAMESPACE, PlanProblem.NOTHING_TO_DO)],
    ),
]


@pytest.mark.parametrize(("make", "problems"), PROBLEMS, ids=range(len(PROBLEMS)))
def test_proposal_that_no_longer_fits_says_why_and_changes_nothing(make: Any, problems: Any):
    entries, made = _world()
    before = state(entries)

    assert plan_changes(make(made), lookup(entries)) == ProposalDiff(problems=tuple(problems))
    with pytest.raises(OutdatedProposal, match=problems[0][0]):
        apply_proposal(make(made), entries)
    assert state(entries) == before


def test_proof_more_does_not_outdate_a_proposal():
    entries, made = _world()
    one = proposal(ChangeKind.FORGET, made["tea"])
    stored(entries, "tea", "Alice likes tea", metadata={"proofs": 2})

    assert (plan_changes(one, lookup(entries))).is_applicable


class Breaking(InMemoryProvider):
    """Passes on to another provider until its writes are used up, once."""

    def __init__(self, inner: InMemoryProvider, writes: int) -> None:
        super().__init__()
        self._inner, self._left = inner, writes

    def _write(self) -> None:
        self._left -= 1
        if self._left == -1:
            raise ProviderError("the line is cut")

    def store(self, params: StoreParams) -> MemoryEntry:
        self._write()
        return self._inner.store(params)

    def delete(self, namespace: str, key: str) -> bool:
        self._write()
        return self._inner.delete(namespace, key)

    def recall(self, query: MemoryQuery) -> list[MemoryEntry]:
        return self._inner.recall(query)


@pytest.mark.parametrize("writes", [0, 1])
@pytest.mark.parametrize("number", [2, 3, 5])
def test_failure_in_the_middle_leaves_all_as_it_was(number: int, writes: int):
    entries, made = _world()
    one = (_all_kinds(made))[number]
    before = state(entries)

    with pytest.raises(ProviderError):
        apply_proposal(one, Breaking(entries, writes))

    assert state(entries) == before


MOVES = [(one, other) for one in ReviewState for other in ReviewState]


@for_each("one, other", MOVES)
def test_proposal_moves_only_as_the_table_says(one: ReviewState, other: ReviewState):
    given_ = replace(proposal(ChangeKind.ADD, new=new("x")), state=one)
    if other in NEXT_STATES[one]:
        assert change_state(given_, other).state is other
    else:
        with pytest.raises(InvalidInput):
            change_state(given_, other)


def test_applied_proposal_is_not_applied_again():
    entries, _ = _world()
    applied = apply_proposal(proposal(ChangeKind.ADD, new=new("x y")), entries)

    with pytest.raises(InvalidInput):
        apply_proposal(applied.proposal, entries)
    assert isinstance(applied, AppliedProposal)


ENTRY = MemoryEntry("e1", NAMESPACE, "k1", value="Alice likes tea")
OTHER = MemoryEntry("e2", NAMESPACE, "k2", value="Bob likes tea")

MISSHAPEN: list[dict[str, Any]] = [
    {"kind": ChangeKind.ADD},
    {"kind": ChangeKind.ADD, "targets": (Target.from_entry(ENTRY),), "new": new("x")},
    {"kind": ChangeKind.EDIT, "targets": (Target.from_entry(ENTRY),)},
    {"kind": ChangeKind.MERGE, "targets": (Target.from_entry(ENTRY),), "new": new("x")},
    {"kind": ChangeKind.FORGET},
    {"kind": ChangeKind.FORGET, "targets": (Target.from_entry(ENTRY),), "new": new("x")},
    {"kind": ChangeKind.LINK, "targets": (Target.from_entry(ENTRY), Target.from_entry(ENTRY))},
    {"kind": ChangeKind.ADD, "new": StoreParams("user:bob", "k", value=1)},
]


@for_each("fields", MISSHAPEN, ids=range(len(MISSHAPEN)))
def test_proposal_that_makes_no_sense_is_refused(fields: dict[str, Any]):
    with pytest.raises(InvalidInput):
        Proposal("p", namespace=NAMESPACE, **fields)


SAME_MEANING: list[tuple[Proposal, Proposal, bool]] = [
    (
        proposal(ChangeKind.ADD, new=new("Alice likes tea", key="a")),
        proposal(ChangeKind.ADD, new=new(" alice likes the TEA!", key="b", importance=0.9)),
        True,
    ),
    (
        proposal(ChangeKind.ADD, new=new({"learnings": ["Alice likes tea"]})),
        proposal(ChangeKind.ADD, new=new({"learnings": ["alice likes tea."]})),
        True,
    ),
    (
        proposal(ChangeKind.ADD, new=new("Alice likes tea")),
        proposal(ChangeKind.ADD, new=new("Alice does not like tea")),
        False,
    ),
    (
        proposal(ChangeKind.ADD, new=new("Alice pays Bob 3")),
        proposal(ChangeKind.ADD, new=new("Bob pays Alice 3")),
        False,
    ),
    (proposal(ChangeKind.ADD, new=new(3)), proposal(ChangeKind.ADD, new=new(4)), False),
    (
        proposal(ChangeKind.FORGET, ENTRY),
        proposal(ChangeKind.FORGET, replace(ENTRY, revision=5)),
        True,
    ),
    (
        proposal(ChangeKind.FORGET, ENTRY),
        proposal(ChangeKind.FORGET, replace(ENTRY, value="else")),
        False,
    ),
    (proposal(ChangeKind.FORGET, ENTRY), proposal(ChangeKind.PROMOTE, ENTRY), False),
    (proposal(ChangeKind.LINK, ENTRY, OTHER), proposal(ChangeKind.LINK, OTHER, ENTRY), True),
    (
        proposal(ChangeKind.MERGE, ENTRY, OTHER, new=new("x")),
        proposal(ChangeKind.MERGE, OTHER, ENTRY, new=new("y")),
        True,
    ),
]


@for_each("one, other, same", SAME_MEANING, ids=range(len(SAME_MEANING)))
def test_fingerprint_is_of_the_meaning(one: Proposal, other: Proposal, same: bool):
    assert (compute_fingerprint(one) == compute_fingerprint(other)) is same


def test_contradiction_is_proposed_and_settled_only_by_a_person():
    entries = provider()
    old = stored(entries, "old", "Alice lives in Lyon")
    newer = stored(entries, "newer", "Alice lives in Berlin", source=Source(run_id="r2"))
    [found] = find_contradictions(newer, [old])

    one = propose_replacement(found, counting(), author="curation")
    assert set(state(entries)) == {"old", "newer"}
    apply_proposal(one, entries)

    assert set(state(entries)) == {"newer"}
    former, current = (find_entry(entries, one.namespace, key) for key in ("old", "newer"))
    assert former is not None
    assert current is not None
    assert (former.valid_until, former.replaced_by) == (newer.created_at, newer.id)
    assert (current.value, current.replaces) == ("Alice lives in Berlin", old.id)
    assert one.reason == "value: alice: home"


def test_what_looks_alike_is_proposed_to_be_merged():
    entries = provider()
    for key, text in [
        ("a", "Deploy every Friday from the main branch by hand"),
        ("b", "Deploy every Friday from the main branch with care"),
        ("c", "Bob bakes bread"),
    ]:
        stored(entries, key, text)

    [one] = propose_merges(entries.recall(MemoryQuery(NAMESPACE)), counting(), author="curation")

    assert [target.key for target in one.targets] == ["b", "a"]
    assert 0.6 <= one.score < 1


def test_the_same_in_two_categories_is_not_proposed_to_be_merged():
    entries = provider()
    for key, category in [("a", "fact"), ("b", "error"), ("c", "fact")]:
        stored(entries, key, "Bob bakes bread", category=category)

    [one] = propose_merges(entries.recall(MemoryQuery(NAMESPACE)), counting(), author="curation")

    assert [target.key for target in one.targets] == ["c", "a"]
    assert one.score == 1.0


def test_links_are_proposed():
    entries = provider()
    for key, text in [("a", "quick sort pivot"), ("b", "pivot of quick sort"), ("c", "tea time")]:
        stored(entries, key, text, source=Source(run_id=key))
    found = entries.recall(MemoryQuery(NAMESPACE))

    [one] = propose_links(find_term_links(found), found, counting(), author="curation")

    assert {target.key for target in one.targets} == {"a", "b"}
    apply_proposal(one, entries)
    assert (state(entries))["a"][1]["related"] == ["b"]


def test_draft_becomes_a_proposal():
    draft = new("Alice likes tea", importance=0.7)

    one = propose_addition(draft, counting("p"), author="extractive", reason="sampled")

    assert (one.id, one.kind, one.new, one.score) == ("p000001", ChangeKind.ADD, draft, 0.7)
