"""Files of other products are recognized, and documents of ours are not mistaken for them."""

from typing import Any

import pytest

from tests.factories.workflows import document
from workflows.engine.errors import DocumentInvalid
from workflows.engine.language import dsl


N8N = {
    "name": "My workflow",
    "nodes": [{"name": "Webhook", "type": "n8n-nodes-base.webhook", "parameters": {}}],
    "connections": {"Webhook": {"main": [[]]}},
}
FLOWISE = {
    "nodes": [{"id": "a", "data": {"name": "chatOpenAI", "baseClasses": ["ChatOpenAI"]}}],
    "edges": [],
}
LANGFLOW = {
    "name": "Basic",
    "data": {"nodes": [{"id": "a", "data": {"type": "ChatInput", "node": {}}}], "edges": []},
}


@pytest.mark.parametrize(
    ("product", "tree"), [("n8n", N8N), ("Flowise", FLOWISE), ("Langflow", LANGFLOW)]
)
def test_file_of_another_product_is_refused_by_its_name(product: str, tree: dict[str, Any]):
    with pytest.raises(DocumentInvalid) as refused:
        dsl.load_document(tree)

    (problem,) = refused.value.problems
    assert problem.message.startswith(f"This is a file of {product}.")


def test_documents_of_our_own_are_read():
    assert len(dsl.load_document(document()).document.nodes) == 2
