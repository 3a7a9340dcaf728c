"""The documents of the cases, as short as they show the case."""

from collections.abc import Sequence
from typing import Any


Tree = dict[str, Any]


def build(name: str, nodes: Sequence[Tree], edges: Sequence[str], mode: str = "workflow") -> Tree:
    """Return a document of Dify. An edge is written ``source[:handle]>target``."""
    ends = [edge.split(">") for edge in edges]
    return {
        "version": "0.6.0",
        "kind": "app",
        "app": {"name": name, "mode": mode},
        "workflow": {
            "graph": {
                "nodes": [*nodes],
                "edges": [
                    {
                        "id": f"e{number}",
                        "source": source.partition(":")[0],
                        "sourceHandle": source.partition(":")[2] or "source",
                        "target": target,
                    }
                    for number, (source, target) in enumerate(ends)
                ],
            },
            "features": {},
            "environment_variables": [],
            "conversation_variables": [],
        },
    }


def node(node_id: str, kind: str, **data: Any) -> Tree:
    return {"id": node_id, "data": {"type": kind, "title": node_id, **data}}


def start(*names: str) -> Tree:
    fields = [{"variable": name, "label": name, "type": "paragraph", "required": False} for name in names]  # fmt: skip
    return node("start", "start", variables=fields)


def end(**selectors: list[str]) -> Tree:
    outputs = [{"variable": name, "value_selector": at} for name, at in selectors.items()]
    return node("end", "end", outputs=outputs)


def text(node_id: str, template: str, **selectors: list[str]) -> Tree:
    named = [{"variable": name, "value_selector": at} for name, at in selectors.items()]
    return node(node_id, "template-transform", template=template, variables=named)


def http(node_id: str, url: str = "http://127.0.0.1:9/weather", body: str = "{}") -> Tree:
    data = [{"id": "b", "key": "", "type": "text", "value": body}]
    return node(node_id, "http-request", method="post", url=url, headers="", params="",
                authorization={"type": "no-auth"}, body={"type": "json", "data": data})  # fmt: skip


def form(node_id: str, name: str) -> Tree:
    return node(
        node_id,
        "human-input",
        delivery_methods=[{"id": f"{node_id}-w", "enabled": True, "type": "webapp", "config": {}}],
        form_content=f"Please fill in {{{{#$output.{name}#}}}}",
        inputs=[{"type": "paragraph", "output_variable_name": name}],
        user_actions=[{"id": "ok", "title": "OK", "button_style": "primary"}],
        timeout=1,
        timeout_unit="hour",
    )


def _condition(**changes: Any) -> Tree:
    return {"variable_selector": [], "comparison_operator": "is", "value": "", **changes}


def _if(*conditions: Tree) -> Tree:
    case = {"id": "true", "case_id": "true", "logical_operator": "and", "conditions": [*conditions]}
    return node("half", "if-else", cases=[case])


def _behind_a_request(half: Tree) -> Tree:
    return build(
        "Half-made",
        [start("city"), http("weather"), half, end(body=["weather", "body"])],
        ["start>weather", "weather>half", "half:true>end" if half["data"]["type"] == "if-else" else "half>end"],
    )  # fmt: skip


_ASSIGNMENT = {"variable_selector": [], "operation": "over-write", "input_type": "variable", "value": []}  # fmt: skip
_LOOP = node("half", "loop", loop_count=3, loop_variables=[], break_conditions=[_condition()],
             start_node_id="halfstart")  # fmt: skip
# What a person leaves half-made → the document, with an HTTP request before it.
HALF_MADE: dict[str, Tree] = {
    "a blank condition": _behind_a_request(_if(_condition())),
    "an unknown operator": _behind_a_request(
        _if(_condition(variable_selector=["start", "city"], comparison_operator="near"))
    ),
    "a number in a selector": _behind_a_request(_if(_condition(variable_selector=["start", 7]))),
    "a number as a selector": _behind_a_request(_if(_condition(variable_selector=7))),
    "a blank assignment": _behind_a_request(node("half", "assigner", version="2", items=[_ASSIGNMENT])),
    "assignments under another name": _behind_a_request(
        node("half", "assigner", version="2", actions=[_ASSIGNMENT])
    ),
    "a blank break condition": _behind_a_request(_LOOP),
    "outputs as a list": _behind_a_request(
        node("half", "code", code_language="python3", code="def main():\n    return {'a': 1}\n", variables=[],
             outputs=[{"variable": "a", "type": "number"}])
    ),
    "a malformed context": _behind_a_request(
        node("half", "llm", model={"provider": "openai", "name": "m", "mode": "chat"},
             prompt_template=[{"role": "user", "text": "{{#context#}}"}],
             context={"enabled": True, "variable_selector": 7})
    ),
}  # fmt: skip

# What may stay blank: it is a warning, and a run leaves it out.
UNFINISHED: dict[str, Tree] = {
    "a blank metadata variable": _behind_a_request(
        node("half", "memory-store", scope="user", key="k", value_selector=["weather", "body"],
             metadata_selectors={"city": []})
    ),
    "a blank variable of an agent's tool": _behind_a_request(
        node("half", "agent", model={"provider": "openai", "name": "m", "mode": "chat"}, query="{{#start.city#}}",
             tools=[{"source": "builtin", "name": "web_page", "settings": {"url": {"type": "variable", "value": None}}}])
    ),
}  # fmt: skip


def _with_loose_edge(**ends: Any) -> Tree:
    tree = build("Loose", [start("city"), end(city=["start", "city"])], ["start>end"])
    tree["workflow"]["graph"]["edges"].append({"id": "loose", **ends})
    return tree


# What an edge has lost → the document, and how its problem is said.
LOOSE_EDGES: dict[str, tuple[Tree, str]] = {
    "its target": (
        _with_loose_edge(source="start"),
        "The edge from “start” has no target; delete it, or connect the nodes anew",
    ),
    "its source, which is null": (
        _with_loose_edge(source=None, target="end"),
        "The edge to “end” has no source; delete it, or connect the nodes anew",
    ),
    "both, one of which is no id": (
        _with_loose_edge(target=["end"]),
        "An edge has neither a source nor a target; delete it",
    ),
}

# Case 03: the node that reads from the broken one is opened.
DAYS = build(
    "Open days",
    [
        start("city"),
        node("days", "code", code_language="python3", code="def main(city):\n    return {'days': ['mon']}\n",
             variables=[{"variable": "city", "value_selector": ["start", "city"]}],
             outputs=[{"variable": "days", "type": "array[string]"}]),
        text("text", "Open on {{ days }}", days=["days", "days"]),
        end(text=["text", "output"]),
    ],
    ["start>days", "days>text", "text>end"],
)  # fmt: skip

# Case 13: nodes and edges directly under ``workflow``.
_WHOLE = build("Flat", [start("q"), end(out=["start", "q"])], ["start>end"])
FLAT: Tree = {
    **_WHOLE,
    "workflow": {name: _WHOLE["workflow"]["graph"][name] for name in ("nodes", "edges")},
}

# Case 12: two forms at once.
TWO_FORMS = build(
    "Two signatures",
    [start("ticket"), form("clerk", "first"), form("boss", "second"),
     text("both", "{{ x }} and {{ y }}", x=["clerk", "first"], y=["boss", "second"]), end(out=["both", "output"])],
    ["start>clerk", "start>boss", "clerk:ok>both", "boss:ok>both", "both>end"],
)  # fmt: skip
