"""What must hold whatever people do: undone is as before, two orders meet, a difference leads across."""

from dataclasses import replace
from operator import attrgetter
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.engine.editing.gestures import DOCUMENT, act, context
from workflows.engine.editing import (
    EditRefused,
    InMemoryStore,
    Op,
    apply_all,
    diff,
    read_log,
    rebase,
    write_ops,
)
from workflows.engine.editing.ops import Connect, Disconnect
from workflows.engine.editing.perform import check_ops
from workflows.engine.editing.rebase import ConcurrentOp
from workflows.engine.language.document import Document


SEEDS = st.integers(0, 2**40)
QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
# "10,000 random operation sequences by two authors".
FULL = settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck))

BROKEN_TOGETHER = {"edit.inside_itself", "edit.edge_crosses", "edit.cycle"}


def unordered(document: Document) -> Document:
    """For what promises the same parts, not their order."""
    return replace(
        document,
        nodes=tuple(sorted(document.nodes, key=attrgetter("id"))),
        edges=tuple(sorted(document.edges, key=attrgetter("id"))),
        notes=tuple(sorted(document.notes, key=attrgetter("id"))),
        environment=tuple(sorted(document.environment, key=lambda v: v.name)),
        conversation=tuple(sorted(document.conversation, key=lambda v: v.name)),
    )


def edges_by_id(document: Document) -> Document:
    return replace(document, edges=tuple(sorted(document.edges, key=lambda edge: edge.id)))


def undone_is_as_before(seed: int) -> None:
    rng, store, ctx = Random(seed), InMemoryStore(DOCUMENT), context()
    for _ in range(rng.randrange(1, 7)):
        before = store.build_document()
        done = act(store, rng, "a", ctx)
        if done is None:
            continue
        after = store.build_document()

        redo = apply_all(store, read_log(write_ops(done.inverse)))[1]

        assert store.build_document() == before
        apply_all(store, redo)
        assert store.build_document() == after


def sequence(store: InMemoryStore, rng: Random, author: str) -> tuple[Op, ...]:
    """One to four gestures that somebody makes without hearing of the other."""
    ctx, wanted = context(f"f{author}"), rng.randrange(1, 5)
    made: list[Op] = []
    for number in range(40):
        done = act(store, rng, f"{author}{number}", ctx)
        made += done.ops if done else ()
        wanted -= done is not None
        if not wanted:
            break
    return tuple(made)


def two_orders_meet(seed: int) -> bool:
    rng = Random(seed)
    ours, theirs = InMemoryStore(DOCUMENT), InMemoryStore(DOCUMENT)
    first, second = sequence(ours, rng, "a"), sequence(theirs, rng, "b")
    over_a = rebase(second, [ConcurrentOp(op) for op in first])
    over_b = rebase(first, [ConcurrentOp(op) for op in second])
    if over_a.conflicts or over_b.conflicts:
        return False  # said, and for a person to decide
    try:
        check_ops(ours, apply_all(ours, over_a.ops)[0])
        check_ops(theirs, apply_all(theirs, over_b.ops)[0])
    except EditRefused as refused:
        # Together they would break a rule that each alone keeps: that is said too.
        if {problem.code for problem in refused.problems} <= BROKEN_TOGETHER:
            return False
        raise

    # An edge that both drew stands where the first put it: the order of edges says nothing.
    assert edges_by_id(ours.build_document()) == edges_by_id(theirs.build_document())
    return True


def difference_leads_across(seed: int) -> None:
    rng, store, ctx = Random(seed), InMemoryStore(DOCUMENT), context()
    for _ in range(rng.randrange(1, 6)):
        act(store, rng, "a", ctx)
    after = store.build_document()
    across = InMemoryStore(DOCUMENT)

    _done, inverse = apply_all(across, diff(DOCUMENT, after, with_name=True))

    assert unordered(across.build_document()) == unordered(after)
    apply_all(across, inverse)
    assert across.build_document() == DOCUMENT


@given(SEEDS)
@QUICK
def test_inverse_gives_back_the_same_document(seed):
    undone_is_as_before(seed)


@given(SEEDS)
@QUICK
def test_two_authors_converge_whoever_is_first(seed):
    two_orders_meet(seed)


@given(SEEDS)
@QUICK
def test_difference_done_on_the_one_gives_the_other(seed):
    difference_leads_across(seed)


def test_edge_that_one_removed_and_the_other_removed_and_restored_converges():
    """Found by the law above: one author's net effect is nothing, so the other's removal stays."""
    edge = InMemoryStore(DOCUMENT).get_edge("l1-source-c-target")
    assert edge is not None
    removed, restored = (Disconnect(edge.id),), (Disconnect(edge.id), Connect(edge))

    over_removal = rebase(restored, [ConcurrentOp(op) for op in removed])
    over_restoration = rebase(removed, [ConcurrentOp(op) for op in restored])

    assert over_removal.ops == ()
    assert over_restoration.ops == removed


def test_most_pairs_of_gestures_do_converge():
    """The law above would hold of a rebase that calls everything a conflict."""
    met = sum(two_orders_meet(seed) for seed in range(200))

    assert met > 70


@pytest.mark.nightly
@given(SEEDS)
@FULL
def test_ten_thousand_gestures_can_be_undone(seed):
    undone_is_as_before(seed)


@pytest.mark.nightly
@given(SEEDS)
@FULL
def test_ten_thousand_sequences_of_two_authors_converge(seed):
    two_orders_meet(seed)
