"""Small workflow documents, written as short as they can be."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from workflows.engine.language.document import Document, EdgeSpec, Mode, NodeSpec, VariableSpec


def node(node_id: str, kind: str, **data: Any) -> NodeSpec:
    return NodeSpec(node_id, kind, {"type": kind, **data}, title=node_id)


def document(
    nodes: Iterable[NodeSpec],
    edges: Iterable[str],
    *,
    mode: Mode = Mode.WORKFLOW,
    conversation: Mapping[str, Any] | None = None,
) -> Document:
    """An edge is written ``a -> b``, or ``a:handle -> b``."""
    return Document(
        mode,
        tuple(nodes),
        tuple(_edge(index, edge) for index, edge in enumerate(edges)),
        conversation=tuple(
            VariableSpec(name, kind, value) for name, (kind, value) in (conversation or {}).items()
        ),
    )


def start(*variables: str) -> NodeSpec:
    declared = [{"variable": name, "type": "paragraph", "required": False} for name in variables]
    return node("start", "start", variables=declared)


def template(node_id: str, text: str, **variables: list[str]) -> NodeSpec:
    named = [{"variable": name, "value_selector": at} for name, at in variables.items()]
    return node(node_id, "template-transform", template=text, variables=named)


def end(node_id: str = "end", **outputs: list[str]) -> NodeSpec:
    named = [{"variable": name, "value_selector": at} for name, at in outputs.items()]
    return node(node_id, "end", outputs=named)


def answer(node_id: str, text: str) -> NodeSpec:
    return node(node_id, "answer", answer=text)


def llm(node_id: str, *messages: tuple[str, str], **data: Any) -> NodeSpec:
    prompt = [{"role": role, "text": text} for role, text in messages or [("user", "hi")]]
    model = {"provider": "offline", "name": "offline", "mode": "chat"}
    return node(node_id, "llm", **{"model": model, "prompt_template": prompt, **data})


def branch(node_id: str, selector: list[str], value: str) -> NodeSpec:
    condition = {"variable_selector": selector, "comparison_operator": "is", "value": value}
    case = {"case_id": "true", "logical_operator": "and", "conditions": [condition]}
    return node(node_id, "if-else", cases=[case])


def assign(node_id: str, target: str, operation: str, value: Any, source: str) -> NodeSpec:
    item = {
        "variable_selector": ["conversation", target],
        "operation": operation,
        "input_type": source,
        "value": value,
    }
    return node(node_id, "assigner", version="2", items=[item])


def iteration(node_id: str, over: list[str], result: list[str] | None, **data: Any) -> NodeSpec:
    picked = {"output_selector": result} if result else {}
    return node(node_id, "iteration", iterator_selector=over, **picked, **data)


def loop(
    node_id: str,
    count: int,
    variables: Mapping[str, tuple[str, Any]] | None = None,
    stops: Iterable[tuple[str, str, str]] = (),
    **data: Any,
) -> NodeSpec:
    """``variables``: name to type and constant, or a selector to begin with; ``stops``: conditions on them."""
    declared = [
        {
            "label": label,
            "var_type": kind,
            "value_type": "variable" if isinstance(value, tuple) else "constant",
            "value": list(value) if isinstance(value, tuple) else value,
        }
        for label, (kind, value) in (variables or {}).items()
    ]
    conditions = [
        {"variable_selector": [node_id, name], "comparison_operator": operator, "value": value}
        for name, operator, value in stops
    ]
    return node(
        node_id,
        "loop",
        loop_count=count,
        loop_variables=declared,
        break_conditions=conditions,
        **data,
    )


def inside(container: NodeSpec, *body: NodeSpec) -> list[NodeSpec]:
    """The container with its start and its body; the start is called ``<id>start``."""
    name = f"{container.id}start"
    data = {**container.data, "start_node_id": name}
    begin = node(name, f"{container.kind}-start")
    held = [replace(child, parent=child.parent or container.id) for child in (begin, *body)]
    return [replace(container, data=data), *held]


def change(node_id: str, selector: list[str], operation: str, value: Any) -> NodeSpec:
    """An assigner of any variable; a list is the variable its value comes from."""
    source = "variable" if isinstance(value, list) else "constant"
    item = {
        "variable_selector": selector,
        "operation": operation,
        "input_type": source,
        "value": value,
    }
    return node(node_id, "assigner", version="2", items=[item])


def _edge(index: int, written: str) -> EdgeSpec:
    source, target = (end.strip() for end in written.split("->"))
    source, _, handle = source.partition(":")
    return EdgeSpec(f"e{index}", source, target, handle or "source")
