"""Edges that heal over a deleted node, and edges that two people draw."""

from itertools import pairwise

import pytest

from tests.engine.editing.gestures import context
from workflows.engine.editing import EditRefused, InMemoryStore, perform, read_ops, rebase
from workflows.engine.editing.ops import Connect
from workflows.engine.editing.rebase import ConcurrentOp
from workflows.engine.language.document import Document, EdgeSpec, Mode, NodeSpec


class Asked(InMemoryStore):
    """Counts how often it is asked where edges lead."""

    times = 0

    def has_path(self, source, goal):
        self.times += 1
        return super().has_path(source, goal)


def chain(*ids):
    nodes = tuple(NodeSpec(id_, "template-transform", {}) for id_ in ids)
    edges = tuple(EdgeSpec(f"{a}-{b}", a, b) for a, b in pairwise(ids))
    return Asked(Document(Mode.WORKFLOW, nodes, edges))


def did(store, *ops):
    return perform(store, read_ops(list(ops)), context("new"))


def test_edge_that_heals_is_not_followed_through_the_graph():
    store = chain("a", "b", "c", "d")

    done = did(store, {"op": "delete", "id": "b", "heal": True})

    assert [(op.edge.source, op.edge.target) for op in done.ops if isinstance(op, Connect)] == [
        ("a", "c")
    ]
    assert store.times == 0


def test_circle_that_leads_over_a_healing_edge_is_refused():
    store = chain("a", "b", "c", "d")

    with pytest.raises(EditRefused, match="cycle"):
        did(
            store,
            {"op": "delete", "id": "b", "heal": True},
            {"op": "connect", "edge": {"source": "d", "target": "a"}},
        )


def test_edge_drawn_and_cut_again_leaves_alone_the_one_somebody_else_drew():
    mine = read_ops(
        [
            {"op": "connect", "edge": {"id": "mine", "source": "a", "target": "c"}},
            {"op": "disconnect", "id": "mine"},
        ]
    )
    theirs = read_ops([{"op": "connect", "edge": {"id": "x", "source": "a", "target": "c"}}])

    rebased = rebase(mine, [ConcurrentOp(op) for op in theirs])

    assert (rebased.ops, rebased.conflicts) == ((), ())


def test_edge_cut_that_was_there_before_is_cut_though_somebody_drew_another():
    mine = read_ops([{"op": "disconnect", "id": "a-b"}])
    theirs = read_ops([{"op": "connect", "edge": {"id": "x", "source": "a", "target": "c"}}])

    assert rebase(mine, [ConcurrentOp(op) for op in theirs]).ops == mine
