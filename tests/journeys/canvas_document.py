"""A workflow with one of everything the canvas draws."""

from collections.abc import Sequence
from typing import Any


Json = dict[str, Any]


def node(id_: str, kind: str, title: str, x: float, y: float, **data: Any) -> Json:
    return {
        "id": id_,
        "type": "custom",
        "position": {"x": x, "y": y},
        "data": {"type": kind, "title": title, **data},
    }


def edge(source: str, target: str, handle: str = "source") -> Json:
    return {
        "id": f"{source}-{handle}-{target}",
        "source": source,
        "sourceHandle": handle,
        "target": target,
        "targetHandle": "target",
    }


def inside(parent: str, made: Json) -> Json:
    return {
        **made,
        "parentId": parent,
        "data": {**made["data"], "isInIteration": True, "iteration_id": parent},
    }


def note(id_: str, x: float, y: float, text: str, **data: Any) -> Json:
    return {
        "id": id_,
        "type": "custom-note",
        "position": {"x": x, "y": y},
        "width": data.pop("width", 240),
        "height": data.pop("height", 128),
        "data": {"type": "", "text": text, "theme": "yellow", **data},
    }


def workflow(name: str, *nodes: Json, edges: Sequence[Json] = ()) -> Json:
    return {
        "kind": "app",
        "version": "0.4.0",
        "app": {"name": name, "mode": "workflow"},
        "workflow": {"graph": {"nodes": list(nodes), "edges": list(edges)}},
    }


LLM = {
    "model": {"provider": "offline", "name": "extractive", "mode": "chat"},
    "prompt_template": [{"role": "user", "text": "Hello"}],
}
CASE = {
    "case_id": "urgent",
    "logical_operator": "and",
    "conditions": [
        {"variable_selector": ["recall", "count"], "comparison_operator": ">", "value": "2"}
    ],
}


def _box() -> Json:
    box = node(
        "each",
        "iteration",
        "For each item",
        640,
        320,
        iterator_selector=["recall", "results"],
        output_selector=["inner", "output"],
        start_node_id="begin",
    )
    box["width"], box["height"] = 520, 216
    return box


def _nodes() -> list[Json]:
    return [
        node(
            "start",
            "start",
            "Start",
            0,
            80,
            variables=[{"variable": "topic", "type": "text-input", "label": "Topic"}],
        ),
        node(
            "recall",
            "memory-recall",
            "Recall",
            320,
            80,
            scope="user",
            query_selector=["start", "topic"],
        ),
        node("choose", "if-else", "Enough known?", 640, 80, cases=[CASE]),
        node(
            "reply",
            "llm",
            "Answer",
            960,
            40,
            **LLM,
            enhanced_memory={"enabled": True, "scope": "user"},
        ),
        _box(),
        inside("each", node("begin", "iteration-start", "", 24, 72)),
        inside(
            "each",
            node(
                "inner",
                "template-transform",
                "Shorten",
                160,
                64,
                template="{{ item }}",
                variables=[],
            ),
        ),
        node(
            "finish",
            "end",
            "End",
            1360,
            160,
            outputs=[{"variable": "answer", "value_selector": ["reply", "text"]}],
        ),
        *_asides(),
    ]


def _asides() -> list[Json]:
    return [
        node("loose", "template-transform", "Loose", 320, 480, template="hello", variables=[]),
        note(
            "hint", 0, 240, "**Sticky** note with a [link](https://example.org) and <b>no</b> HTML"
        ),
        note(
            "frame", 280, 440, "", theme="violet", group=True, width=320, height=160, title="Aside"
        ),
    ]


def _edges() -> list[Json]:
    return [
        edge("start", "recall"),
        edge("recall", "choose"),
        edge("choose", "reply", "urgent"),
        edge("choose", "each", "false"),
        inside_edge("each", edge("begin", "inner")),
        edge("reply", "finish"),
        edge("each", "finish"),
    ]


def document() -> Json:
    """start → recall → if: answer; else: iteration (start, template inside), a joined end; a loose node and notes."""
    return {
        "version": "0.6.0",
        "kind": "app",
        "app": {"name": "One of everything", "mode": "workflow"},
        "workflow": {
            "graph": {"nodes": _nodes(), "edges": _edges()},
            "features": {},
            "environment_variables": [],
            "conversation_variables": [],
        },
    }


def inside_edge(parent: str, made: Json) -> Json:
    return {**made, "data": {"isInIteration": True, "iteration_id": parent}}
