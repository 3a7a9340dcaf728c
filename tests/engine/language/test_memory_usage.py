"""Which memories a document asks for."""

from typing import Any

from workflows.engine.language.document import Document, Mode, NodeSpec
from workflows.engine.language.memory_usage import list_memory_scopes
from workflows.engine.nodes import build_kinds


def document(*nodes: tuple[str, dict[str, Any]]) -> Document:
    made = tuple(NodeSpec(f"n{i}", kind, data) for i, (kind, data) in enumerate(nodes))
    return Document(Mode.WORKFLOW, made, ())


def test_scopes_come_from_memory_nodes_and_prompts_that_recall() -> None:
    found = list_memory_scopes(
        document(
            ("memory-recall", {"scope": "user"}),
            ("memory-store", {"scope": "global"}),
            ("llm", {"enhanced_memory": {"enabled": True}}),
        ),
        build_kinds(),
    )

    assert found == {"user", "global", "conversation"}


def test_what_is_switched_off_or_no_memory_asks_for_nothing() -> None:
    found = list_memory_scopes(
        document(
            ("llm", {"enhanced_memory": {"enabled": False, "scope": "user"}}),
            ("code", {"scope": "user"}),
            ("memory-recall", {"scope": None}),
        ),
        build_kinds(),
    )

    assert found == frozenset()
