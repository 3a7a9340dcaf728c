"""Positions for documents that have none."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from workflows.engine.drawing.layout import GAP_X, GAP_Y, Box, arrange_in_layers


BOX = Box(220, 64)


def boxes(*names: str) -> dict[str, Box]:
    return dict.fromkeys(names, BOX)


def test_a_chain_runs_from_left_to_right_on_one_line() -> None:
    where = arrange_in_layers(boxes("a", "b", "c"), [("a", "b"), ("b", "c")])

    assert [(p.x, p.y) for p in (where["a"], where["b"], where["c"])] == [
        (0.0, 0.0),
        (220 + GAP_X, 0.0),
        (2 * (220 + GAP_X), 0.0),
    ]


def test_branches_share_a_column_and_are_centred_on_the_join() -> None:
    where = arrange_in_layers(
        boxes("s", "l", "r", "j"), [("s", "l"), ("s", "r"), ("l", "j"), ("r", "j")]
    )

    assert where["l"].x == where["r"].x
    assert where["r"].y - where["l"].y == 64 + GAP_Y
    assert where["s"].y == where["j"].y == (where["l"].y + where["r"].y) / 2


def test_crossing_edges_are_untangled() -> None:
    where = arrange_in_layers(boxes("a", "b", "x", "y"), [("a", "y"), ("b", "x")])

    assert (where["a"].y < where["b"].y) == (where["y"].y < where["x"].y)


def test_a_back_edge_does_not_pull_its_target_to_the_right() -> None:
    where = arrange_in_layers(boxes("a", "b", "c"), [("a", "b"), ("b", "c"), ("c", "a")])

    assert where["a"].x < where["b"].x < where["c"].x


def test_a_source_stands_beside_its_first_consumer() -> None:
    where = arrange_in_layers(boxes("a", "b", "c", "late"), [("a", "b"), ("b", "c"), ("late", "c")])

    assert where["late"].x == where["b"].x


def test_a_chain_of_thousands_is_laid_out_without_recursion() -> None:
    names = [f"n{i}" for i in range(5000)]

    where = arrange_in_layers(boxes(*names), list(itertools.pairwise(names)))

    assert where["n4999"].x == 4999 * (220 + GAP_X)


graphs = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=30),
    )
)


@given(graphs)
def test_no_two_boxes_ever_overlap(graph: tuple[int, list[tuple[int, int]]]) -> None:
    n, pairs = graph
    names = [str(i) for i in range(n)]

    where = arrange_in_layers(boxes(*names), [(str(a), str(b)) for a, b in pairs])

    placed = sorted((p.x, p.y) for p in where.values())
    assert len(where) == n
    for (x1, y1), (x2, y2) in itertools.pairwise(placed):
        assert x2 - x1 >= BOX.width or y2 - y1 >= BOX.height
