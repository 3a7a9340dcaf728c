"""Geometry in Python and in JavaScript is the same geometry."""

import random

import pytest
from playwright.sync_api import Page

from workflows.engine import geometry


pytestmark = pytest.mark.browser


def test_paths_ports_and_sizes_agree(signed_in: Page):
    dice = random.Random(4)
    ends = [
        [round(dice.uniform(-9e3, 9e3), dice.choice((0, 1, 2, 3))) for _ in range(4)]
        for _ in range(500)
    ]
    ends += [
        [0, 0, 0, 0],
        [0.125, 0.005, 0.375, -0.005],
        [100, 5, 99.99, 5],
        [-1e6, 1e6, 1e6, -1e6],
    ]
    rows = [
        [index, ways, above]
        for ways in range(5)
        for index in range(max(1, ways))
        for above in (0, 1)
    ]

    signed_in.goto("/workflows/")
    found = signed_in.evaluate(
        """async ([ends, rows]) => {
          const g = await import("/static/js/canvas/geometry.js");
          const { GRID, CARD_WIDTH, HEADER_HEIGHT, ROW_HEIGHT, FOOTER_HEIGHT, PORT_Y, BOX_PADDING, MIN_SIZES } = g;
          return {
            paths: ends.map((each) => g.path(...each)),
            ports: rows.map(([index, ways, above]) => [g.portY(index, ways, above), g.cardHeight(above, ways)]),
            constants: { GRID, CARD_WIDTH, HEADER_HEIGHT, ROW_HEIGHT, FOOTER_HEIGHT, PORT_Y, BOX_PADDING, MIN_SIZES },
          };
        }""",
        [ends, rows],
    )

    assert found["paths"] == [geometry.build_edge_path(*each) for each in ends]
    assert found["ports"] == [
        [geometry.compute_port_y(*row), geometry.compute_card_height(row[2], row[1])]
        for row in rows
    ]
    assert found["constants"] == {
        name: {key: list(size) for key, size in value.items()} if isinstance(value, dict) else value
        for name in found["constants"]
        for value in [getattr(geometry, name)]
    }
