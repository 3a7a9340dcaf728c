"""Geometry in Python and in JavaScript is the same geometry."""

import random
from typing import Any

import pytest
from playwright.sync_api import Page

from workflows.engine import geometry
from workflows.engine.drawing import edge_routes


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
    rows = [[index, ways] for ways in range(5) for index in range(max(1, ways))]

    signed_in.goto("/workflows/")
    found = signed_in.evaluate(
        """async ([ends, rows]) => {
          const g = await import("/static/js/canvas/geometry.js");
          const { GRID, CARD_WIDTH, HEADER_HEIGHT, ROW_HEIGHT, FOOTER_HEIGHT, PORT_Y, BOX_PADDING, MIN_SIZES } = g;
          return {
            paths: ends.map((each) => g.path(...each)),
            ports: rows.map(([index, ways]) => [g.portY(index, ways), g.cardHeight(ways)]),
            constants: { GRID, CARD_WIDTH, HEADER_HEIGHT, ROW_HEIGHT, FOOTER_HEIGHT, PORT_Y, BOX_PADDING, MIN_SIZES },
          };
        }""",
        [ends, rows],
    )

    assert found["paths"] == [geometry.build_edge_path(*each) for each in ends]
    assert found["ports"] == [
        [geometry.compute_port_y(*row), geometry.compute_card_height(row[1])] for row in rows
    ]
    assert found["constants"] == {
        name: {key: list(size) for key, size in value.items()} if isinstance(value, dict) else value
        for name in found["constants"]
        for value in [getattr(geometry, name)]
    }


def test_detours_agree(signed_in: Page):
    dice = random.Random(7)
    graphs: list[Any] = []
    for _ in range(150):
        boxes: list[Any] = [
            [
                f"n{i}",
                dice.randrange(0, 1600, 8),
                dice.randrange(0, 800, 8),
                256,
                dice.choice((64, 120)),
            ]
            for i in range(dice.randrange(2, 14))
        ]
        (_, x1, y1, w, _), (_, x2, y2, *_) = boxes[:2]
        graphs.append([[x1 + w, y1 + 32, x2, y2 + 32], boxes])

    signed_in.goto("/workflows/")
    found = signed_in.evaluate(
        """async (graphs) => {
          const r = await import("/static/js/canvas/edge_routes.js");
          const { MAX_ROUTED_NODES, MAX_ROUTED_EDGES, LEAD, LANE, CLEARANCE, REACH, CORNER, SAMPLES } = r;
          return {
            routes: graphs.map(([ends, boxes]) => {
              const detour = r.findDetour(ends, boxes.map(([id, x, y, w, h]) => ({ id, x, y, w, h })), ["n0", "n1"]);
              return [detour, r.routePath(ends, detour)];
            }),
            constants: { MAX_ROUTED_NODES, MAX_ROUTED_EDGES, LEAD, LANE, CLEARANCE, REACH, CORNER, SAMPLES },
          };
        }""",
        graphs,
    )

    detours = [
        edge_routes.find_detour(
            edge_routes.Ends(*ends),
            [edge_routes.Obstacle(id_, x, y, x + w, y + h) for id_, x, y, w, h in boxes],
            ("n0", "n1"),
        )
        for ends, boxes in graphs
    ]
    assert found["routes"] == [
        [detour and list(detour), edge_routes.build_route_path(edge_routes.Ends(*ends), detour)]
        for (ends, _), detour in zip(graphs, detours, strict=True)
    ]
    assert 30 < sum(detour is not None for detour in detours) < len(graphs)
    assert found["constants"] == {name: getattr(edge_routes, name) for name in found["constants"]}
