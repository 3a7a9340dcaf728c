"""Auto-layout of a draft: in columns from left to right, and in rows when these would be too wide."""

from itertools import pairwise

from tests.engine.editing.gestures import context, edge, node
from workflows.engine.drawing.layout import MAX_ROW_WIDTH
from workflows.engine.editing import InMemoryStore, perform, read_ops
from workflows.engine.geometry import CARD_WIDTH
from workflows.engine.language.dsl import load_document


def arrange_chain(count: int) -> list[tuple[float, float]]:
    """Return the positions of a chain of nodes after auto-layout, in its order."""
    ids = [f"n{index}" for index in range(count)]
    nodes = [node(id_, "template-transform", 0, 0, template="x", variables=[]) for id_ in ids]
    edges = [edge(source, target) for source, target in pairwise(ids)]
    store = InMemoryStore(
        load_document(
            {
                "version": "0.4.0",
                "kind": "app",
                "app": {"name": "Chain", "mode": "workflow"},
                "workflow": {"graph": {"nodes": nodes, "edges": edges}},
            }
        ).document
    )

    perform(store, read_ops([{"op": "tidy", "ids": [], "scope": None}]), context())

    items = [store.get_item(id_) for id_ in ids]
    return [(item.x, item.y) for item in items if item]


def test_short_chain_is_one_row():
    positions = arrange_chain(6)

    assert len({y for _, y in positions}) == 1
    assert [x for x, _ in positions] == sorted(x for x, _ in positions)


def test_very_long_chain_goes_on_in_rows_below_that_a_screen_shows():
    positions = arrange_chain(30)

    rows = sorted({y for _, y in positions})
    assert len(rows) == 3
    assert [y for _, y in positions] == sorted(y for _, y in positions)
    assert max(x for x, _ in positions) + CARD_WIDTH <= MAX_ROW_WIDTH
