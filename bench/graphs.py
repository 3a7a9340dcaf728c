"""Builds workflow documents of any size for the benchmarks of the canvas and of edits; a seed determines the document."""

import random
from typing import Any


Json = dict[str, Any]

COLUMN, ROW = 320, 176
KINDS = (
    "llm", "template-transform", "memory-recall", "if-else", "llm",
    "variable-aggregator", "template-transform", "memory-store", "llm", "assigner",
)  # fmt: skip
HANDLES = {"if-else": ("urgent", "billing", "false")}


def build_document(node_count: int, edge_count: int, seed: int = 7) -> Json:
    """Build a Dify document of this size: nodes in columns, and edges that all point to the right."""
    generator = random.Random(seed)
    rows = max(2, round((node_count * 0.8) ** 0.5))
    nodes = [_build_node(number, rows, generator) for number in range(node_count)]
    graph = {"nodes": nodes, "edges": _build_edges(nodes, edge_count, rows, generator)}
    return {
        "version": "0.6.0",
        "kind": "app",
        "app": {"name": f"{node_count} nodes, {edge_count} edges", "mode": "workflow"},
        "workflow": {
            "graph": graph,
            "features": {},
            "environment_variables": [],
            "conversation_variables": [
                {"id": "c", "name": "topic", "value_type": "string", "value": ""}
            ],
        },
    }


def _build_node(number: int, rows: int, generator: random.Random) -> Json:
    kind = KINDS[number % len(KINDS)] if number else "start"
    source = f"n{max(0, number - rows)}"
    return {
        "id": f"n{number}",
        "type": "custom",
        "position": {
            "x": (number // rows) * COLUMN + generator.randint(-12, 12),
            "y": (number % rows) * ROW + generator.randint(-12, 12),
        },
        "data": {"type": kind, "title": f"Step {number}", **_build_data(kind, source)},
    }


def _build_data(kind: str, source: str) -> Json:
    """Build the data of a node of this kind that reads the output of the node ``source``."""
    case: Json = {
        "logical_operator": "and",
        "conditions": [
            {
                "variable_selector": [source, "text"],
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
                {"role": "user", "text": f"Answer {{{{#{source}.text#}}}} in short"}
            ],
        },
        "template-transform": {
            "template": "{{ text }}",
            "variables": [{"variable": "text", "value_selector": [source, "text"]}],
        },
        "memory-recall": {"scope": "user", "query_selector": [source, "text"], "top_k": 5},
        "memory-store": {"scope": "user", "key": "topic", "value_selector": [source, "text"]},
        "if-else": {"cases": [{"case_id": name, **case} for name in ("urgent", "billing")]},
        "variable-aggregator": {"variables": [[source, "text"]], "output_type": "string"},
        "assigner": {
            "version": "2",
            "items": [
                {
                    "variable_selector": ["conversation", "topic"],
                    "input_type": "variable",
                    "operation": "over-write",
                    "value": [source, "text"],
                }
            ],
        },
    }[kind]


def _build_edges(nodes: list[Json], count: int, rows: int, generator: random.Random) -> list[Json]:
    edges: dict[tuple[int, str, int], Json] = {}
    while len(edges) < count:
        source = generator.randrange(len(nodes) - 1)
        column, row = divmod(source, rows)
        target_column = column + generator.choice((1, 1, 1, 2))
        target_row = min(rows - 1, max(0, row + generator.randint(-2, 2)))
        target = target_column * rows + target_row
        handle = generator.choice(HANDLES.get(nodes[source]["data"]["type"], ("source",)))
        if target < len(nodes):
            edges[source, handle, target] = {
                "id": f"e{source}-{handle}-{target}",
                "source": f"n{source}",
                "sourceHandle": handle,
                "target": f"n{target}",
                "targetHandle": "target",
            }
    return list(edges.values())
