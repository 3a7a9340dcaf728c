"""Small workflow documents, written as short as they can be."""

from collections.abc import Iterable, Mapping
from typing import Any

from workflows.engine.document import Document, EdgeSpec, Mode, NodeSpec, VariableSpec


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
    return node(node_id, "llm", model=model, prompt_template=prompt, **data)


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


def _edge(index: int, written: str) -> EdgeSpec:
    source, target = (end.strip() for end in written.split("->"))
    source, _, handle = source.partition(":")
    return EdgeSpec(f"e{index}", source, target, handle or "source")
