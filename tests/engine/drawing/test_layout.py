"""Positions for documents that have none."""

import itertools
from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from workflows.engine.drawing.layout import (
    GAP_X,
    GAP_Y,
    MAX_ROW_WIDTH,
    ROW_GAP,
    Box,
    arrange_in_layers,
)


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

    width = max(at.x for at in where.values()) + BOX.width
    height = max(at.y for at in where.values()) + BOX.height
    assert len(where) == 5000
    assert 1 < width / height < 2.5


def test_chain_that_fits_a_screen_stays_on_one_line() -> None:
    count = int((MAX_ROW_WIDTH + GAP_X) / (BOX.width + GAP_X))
    names = [f"n{i}" for i in range(count)]

    where = arrange_in_layers(boxes(*names), list(itertools.pairwise(names)))

    assert {at.y for at in where.values()} == {0.0}


def test_very_wide_chain_goes_on_in_rows_below_as_the_lines_of_a_text() -> None:
    names = [f"n{i}" for i in range(40)]

    where = arrange_in_layers(boxes(*names), list(itertools.pairwise(names)))

    rows = defaultdict(list)
    for name in names:
        rows[where[name].y].append(where[name].x)
    assert len(rows) > 1
    assert list(rows) == [index * (BOX.height + ROW_GAP) for index in range(len(rows))]
    lengths = [len(row) for row in rows.values()]
    assert max(lengths) - min(lengths) <= 1
    for row in rows.values():
        assert row == [index * (BOX.width + GAP_X) for index in range(len(row))]
        assert row[-1] + BOX.width <= MAX_ROW_WIDTH


def test_wide_graph_that_is_high_too_stays_in_one_row() -> None:
    columns = [[f"n{x}-{y}" for y in range(40)] for x in range(16)]
    pairs = [
        pair
        for after, before in itertools.pairwise(columns)
        for pair in zip(after, before, strict=True)
    ]

    where = arrange_in_layers(boxes(*itertools.chain(*columns)), pairs)

    assert len({at.x for at in where.values()}) == len(columns)


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
