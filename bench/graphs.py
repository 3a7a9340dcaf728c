"""Workflow documents of any size, the same ones every time: what the canvas benchmarks draw."""

import random
from typing import Any


Json = dict[str, Any]

COLUMN, ROW = 320, 176
KINDS = (
    "llm", "template-transform", "memory-recall", "if-else", "llm",
    "variable-aggregator", "template-transform", "memory-store", "llm", "assigner",
)  # fmt: skip
HANDLES = {"if-else": ("urgent", "billing", "false")}


def document(nodes: int, edges: int, seed: int = 7) -> Json:
    """A Dify document of so many nodes and edges: columns of cards, every edge runs to the right."""
    dice = random.Random(seed)
    rows = max(2, round((nodes * 0.8) ** 0.5))
    made = [_node(i, rows, dice) for i in range(nodes)]
    graph = {"nodes": made, "edges": _edges(made, edges, rows, dice)}
    return {
        "version": "0.6.0",
        "kind": "app",
        "app": {"name": f"{nodes} nodes, {edges} edges", "mode": "workflow"},
        "workflow": {
            "graph": graph,
            "features": {},
            "environment_variables": [],
            "conversation_variables": [
                {"id": "c", "name": "topic", "value_type": "string", "value": ""}
            ],
        },
    }


def _node(i: int, rows: int, dice: random.Random) -> Json:
    kind = KINDS[i % len(KINDS)] if i else "start"
    before = f"n{max(0, i - rows)}"
    return {
        "id": f"n{i}",
        "type": "custom",
        "position": {
            "x": (i // rows) * COLUMN + dice.randint(-12, 12),
            "y": (i % rows) * ROW + dice.randint(-12, 12),
        },
        "data": {"type": kind, "title": f"Step {i}", **_data(kind, before)},
    }


def _data(kind: str, before: str) -> Json:
    case: Json = {
        "logical_operator": "and",
        "conditions": [
            {
                "variable_selector": [before, "text"],
                "comparison_operator": "contains",
                "value": "now",
            }
        ],
    }
    return {
        "start": {"variables": []},
        "llm": {
            "model": {"provider": "offline", "name": "extractive", "mode": "chat"},
            "prompt_template": [
                {"role": "user", "text": f"Answer {{{{#{before}.text#}}}} in short"}
            ],
        },
        "template-transform": {
            "template": "{{ text }}",
            "variables": [{"variable": "text", "value_selector": [before, "text"]}],
        },
        "memory-recall": {"scope": "user", "query_selector": [before, "text"], "top_k": 5},
        "memory-store": {"scope": "user", "key": "topic", "value_selector": [before, "text"]},
        "if-else": {"cases": [{"case_id": name, **case} for name in ("urgent", "billing")]},
        "variable-aggregator": {"variables": [[before, "text"]], "output_type": "string"},
        "assigner": {
            "version": "2",
            "items": [
                {
                    "variable_selector": ["conversation", "topic"],
                    "input_type": "variable",
                    "operation": "over-write",
                    "value": [before, "text"],
                }
            ],
        },
    }[kind]


def _edges(nodes: list[Json], wanted: int, rows: int, dice: random.Random) -> list[Json]:
    made: dict[tuple[int, str, int], Json] = {}
    while len(made) < wanted:
        i = dice.randrange(len(nodes) - 1)
        column, row = divmod(i, rows)
        step = dice.choice((1, 1, 1, 2))
        j = (column + step) * rows + min(rows - 1, max(0, row + dice.randint(-2, 2)))
        handle = dice.choice(HANDLES.get(nodes[i]["data"]["type"], ("source",)))
        if j < len(nodes):
            made[i, handle, j] = {
                "id": f"e{i}-{handle}-{j}",
                "source": f"n{i}",
                "sourceHandle": handle,
                "target": f"n{j}",
                "targetHandle": "target",
            }
    return list(made.values())
