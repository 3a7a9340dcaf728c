"""graphon, the engine of Dify, with a renderer that costs nothing, so that only the engine is measured."""

import json
import logging
import time

from graphon.dsl import loads, node_factory

from bench._common import Spans


logging.disable(logging.WARNING)


class Render(node_factory.Jinja2TemplateRenderer):
    def render_template(self, template, variables):
        if template == "nap":
            time.sleep(0.02)
        return "node: " + str(next(iter(variables.values()), ""))[:20]


node_factory._DefaultJinja2TemplateRenderer = Render


def node(node_id: str, kind: str, **data: object) -> dict[str, object]:
    return {"id": node_id, "type": "custom", "data": {"type": kind, "title": node_id, **data}}


def template(node_id: str, source: list[str], text: str) -> dict[str, object]:
    variables = [{"variable": "a", "value_selector": source}]
    return node(node_id, "template-transform", template=text, variables=variables)


def document(inner: list[dict[str, object]], edges: list[tuple[str, str]], last: str) -> str:
    question = {"variable": "q", "label": "q", "type": "text-input", "required": False}
    outputs = [{"variable": "o", "value_selector": [last, "output"]}]
    nodes = [
        node("start", "start", variables=[question]),
        *inner,
        node("end", "end", outputs=outputs),
    ]
    edge_rows = [
        {
            "id": f"{a}-{b}",
            "source": a,
            "target": b,
            "sourceHandle": "source",
            "targetHandle": "target",
        }
        for a, b in [*edges, (last, "end")]
    ]
    graph = {"nodes": nodes, "edges": edge_rows}
    app = {"mode": "workflow", "name": "bench"}
    return json.dumps({"kind": "app", "version": "0.6.0", "app": app, "workflow": {"graph": graph}})


def chain(length: int) -> str:
    names = [f"n{index}" for index in range(length)]
    path = ["start", *names]
    inner = [template(name, ["start", "q"], "t") for name in names]
    return document(inner, list(zip(path, names, strict=False)), names[-1])


def fan(width: int) -> str:
    names = [f"b{index}" for index in range(width)]
    inner = [template(name, ["start", "q"], "nap") for name in names]
    inner.append(template("join", ["b0", "output"], "t"))
    edges = [("start", name) for name in names] + [(name, "join") for name in names]
    return document(inner, edges, "join")


def measure(text: str, times: int) -> dict[str, float]:
    spans = Spans()
    for _ in range(times + 1):
        engine = loads(text, start_inputs={"q": "x"}, workers=5)
        with spans.measure():
            for event in engine.run():
                last = event
        if type(last).__name__ != "GraphRunSucceededEvent":
            raise RuntimeError(last)
    spans.wall.pop(0)
    spans.cpu.pop(0)
    return spans.summarize()


print(json.dumps({"chain": measure(chain(1000), 3), "fan": measure(fan(100), 3)}))
