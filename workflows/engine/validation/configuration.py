"""Is every node of a known kind, and configured as its kind wants it."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from workflows.engine.document import Document, NodeSpec
from workflows.engine.kinds import AnyKind
from workflows.engine.policy import read_policy
from workflows.engine.problems import Problem


def configuration_problems(document: Document, kinds: Mapping[str, AnyKind]) -> list[Problem]:
    remembers = any(kind.needs_memory for kind in kinds.values())
    return [
        problem
        for node in document.nodes
        for problem in _node_problems(node, kinds, remembers=remembers)
    ]


def _node_problems(
    node: NodeSpec, kinds: Mapping[str, AnyKind], *, remembers: bool
) -> Iterator[Problem]:
    if node.kind not in kinds:
        yield Problem("kind.unknown", _unknown(node.kind, kinds), node=node.id, field="type")
        return
    kind = kinds[node.kind]
    yield from kind.check(node)
    yield from read_policy(node, retryable=kind.retryable)[1]
    if not remembers and node.data.get("enhanced_memory") is not None:
        message = "Unknown field enhanced_memory: memory is not offered here"
        yield Problem("config.unknown_field", message, node=node.id, field="enhanced_memory")


def _unknown(kind: str, kinds: Mapping[str, AnyKind]) -> str:
    close = get_close_matches(kind, list(kinds), n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"There is no node type {kind!r} here{hint}"
