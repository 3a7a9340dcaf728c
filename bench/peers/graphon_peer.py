"""Measures graphon, the engine of Dify, with a renderer that costs next to nothing."""

import json
import logging
import time

from graphon.dsl import loads, node_factory

from bench._common import Spans


logging.disable(logging.WARNING)


class TruncatingRenderer(node_factory.Jinja2TemplateRenderer):
    def render_template(self, template, variables):
        if template == "nap":
            time.sleep(0.02)
        return "node: " + str(next(iter(variables.values()), ""))[:20]


node_factory._DefaultJinja2TemplateRenderer = TruncatingRenderer


def build_node(node_id: str, kind: str, **data: object) -> dict[str, object]:
    return {"id": node_id, "type": "custom", "data": {"type": kind, "title": node_id, **data}}


def build_template(node_id: str, source: list[str], text: str) -> dict[str, object]:
    variables = [{"variable": "a", "value_selector": source}]
    return build_node(node_id, "template-transform", template=text, variables=variables)


def build_document(
    inner_nodes: list[dict[str, object]], edges: list[tuple[str, str]], last_id: str
) -> str:
    """Build a document in which the node ``last_id`` leads to the end, and return it as JSON."""
    question = {"variable": "q", "label": "q", "type": "text-input", "required": False}
    outputs = [{"variable": "o", "value_selector": [last_id, "output"]}]
    nodes = [
        build_node("start", "start", variables=[question]),
        *inner_nodes,
        build_node("end", "end", outputs=outputs),
    ]
    edge_rows = [
        {
            "id": f"{source}-{target}",
            "source": source,
            "target": target,
            "sourceHandle": "source",
            "targetHandle": "target",
        }
        for source, target in [*edges, (last_id, "end")]
    ]
    graph = {"nodes": nodes, "edges": edge_rows}
    app = {"mode": "workflow", "name": "bench"}
    return json.dumps({"kind": "app", "version": "0.6.0", "app": app, "workflow": {"graph": graph}})


def build_chain(length: int) -> str:
    names = [f"n{index}" for index in range(length)]
    path = ["start", *names]
    nodes = [build_template(name, ["start", "q"], "t") for name in names]
    return build_document(nodes, list(zip(path, names, strict=False)), names[-1])


def build_fan(width: int) -> str:
    names = [f"b{index}" for index in range(width)]
    nodes = [build_template(name, ["start", "q"], "nap") for name in names]
    nodes.append(build_template("join", ["b0", "output"], "t"))
    edges = [("start", name) for name in names] + [(name, "join") for name in names]
    return build_document(nodes, edges, "join")


def measure(document: str, times: int) -> dict[str, float]:
    """Run the document this many times, after a first run that isn't counted."""
    spans = Spans()
    for _ in range(times + 1):
        engine = loads(document, start_inputs={"q": "x"}, workers=5)
        with spans.measure():
            for event in engine.run():
                last_event = event
        if type(last_event).__name__ != "GraphRunSucceededEvent":
            raise RuntimeError(last_event)
    spans.wall.pop(0)
    spans.cpu.pop(0)
    return spans.summarize()


print(json.dumps({"chain": measure(build_chain(1000), 3), "fan": measure(build_fan(100), 3)}))
