import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import for_each
from tests.support.steps import check_growth, count_steps
from workflows.engine.language.document import Document, EdgeSpec, Mode, NodeSpec
from workflows.engine.language.graph import Graph


def graph(*edges, parents=None, nodes=()):
    """Edges as "a>b" or "a:handle>b"."""
    specs, names = [], dict.fromkeys(nodes)
    for edge in edges:
        source, target = edge.split(">")
        source, _, handle = source.partition(":")
        names |= dict.fromkeys((source, target))
        specs.append(EdgeSpec(edge, source, target, handle or "source"))
    parents = parents or {}
    made = tuple(NodeSpec(name, "x", {}, parent=parents.get(name)) for name in names)
    return Graph.from_document(Document(Mode.WORKFLOW, made, tuple(specs)))


def test_successors_each_once_in_edge_order():
    subject = graph("a:yes>c", "a:no>b", "a:yes>b")

    assert subject.list_successors("a") == ("c", "b")
    assert subject.list_predecessors("b") == ("a",)


def test_of_document_leaves_out_edges_that_end_nowhere():
    document = Document(Mode.WORKFLOW, (NodeSpec("a", "x", {}),), (EdgeSpec("e", "a", "ghost"),))

    assert Graph.from_document(document).edges == ()


def test_reachable_follows_edges_and_containers():
    subject = graph("a>box", "in>out", "x>y", parents={"in": "box", "out": "box"})

    assert subject.find_reachable(["a"]) == {"a", "box", "in", "out"}
    assert subject.find_upstream("out") == {"in"}
    assert subject.find_visible("out") == {"in", "box", "a"}
    assert subject.find_visible("box") == {"a", "in", "out"}
    assert subject.list_containers("out") == ("box",)


def test_roots_of_a_level():
    subject = graph("a>box", "in>out", parents={"in": "box", "out": "box"})

    assert subject.list_roots() == ("a",)
    assert subject.list_roots("box") == ("in",)


@pytest.mark.parametrize(
    ("edges", "circle"),
    [
        (("a>b", "b>c"), set()),
        (("a>b", "b>a"), {"a", "b"}),
        (("a>a",), {"a"}),
        (("s>a", "a>b", "b>c", "c>a", "c>end"), {"a", "b", "c"}),
    ],
)
def test_cycle_names_the_circle(edges, circle):
    assert set(graph(*edges).find_cycle()) == circle


def test_order_puts_sources_first():
    assert graph("b>c", "a>c", "c>d").sort_nodes() == ("a", "b", "c", "d")
    assert graph("a>b", "b>a").sort_nodes() is None


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20))
def test_cycle_found_exactly_when_there_is_no_order(pairs):
    subject = graph(*(f"{source}>{target}" for source, target in pairs))

    circle = subject.find_cycle()

    assert bool(circle) is (subject.sort_nodes() is None)
    for position, node in enumerate(circle):
        assert circle[(position + 1) % len(circle)] in subject.list_successors(node)


def test_chain_and_diamonds_twice_as_long_are_twice_the_work():
    def search(size):
        chain = [f"{i}>{i + 1}" for i in range(size)]
        diamonds = [way for i in range(size) for way in (f"d{i}>l{i}", f"d{i}>r{i}")]
        diamonds += [way for i in range(size) for way in (f"l{i}>d{i + 1}", f"r{i}>d{i + 1}")]
        subject = graph(*chain, *diamonds)

        assert len(subject.find_reachable(["0", "d0"])) == len(subject.nodes)
        assert subject.find_cycle() == ()
        assert len(subject.find_upstream(f"d{size}")) == 3 * size

    with count_steps(100_000):  # there are more ways through the diamonds than could ever be gone
        search(40)
    check_growth(search, 3000)


def test_containers_that_hold_each_other_end():
    subject = graph("a>b", parents={"a": "b", "b": "a"})

    assert subject.list_containers("a") == ("b", "a")
    assert subject.list_inside("a") == {"a", "b"}


@for_each("seed", range(20))
def test_is_visible_says_what_visible_from_lists(seed):
    rng = random.Random(seed)
    names = [f"n{i}" for i in range(14)]
    nodes = tuple(
        NodeSpec(name, "x", {}, parent=rng.choice([None, None, *names[:3]])) for name in names
    )
    edges = tuple(
        EdgeSpec(str(i), rng.choice(names), rng.choice(names)) for i in range(16)
    )  # circles among them
    graph = Graph({node.id: node for node in nodes}, edges)

    for node in names:
        seen = {other for other in names if graph.is_visible(other, node)}
        assert seen == set(graph.find_visible(node))
