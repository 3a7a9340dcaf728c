"""Files of other products are recognized, and documents of ours are not mistaken for them."""

import json
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


PIPELINE = {
    "kind": "rag_pipeline",
    "version": "0.1.0",
    "rag_pipeline": {"name": "Manuals"},
    "workflow": {"graph": {"nodes": [], "edges": []}},
}
IMPORT_ANSWER = {
    "status": "completed",
    "app_id": "1",
    "imported_dsl_version": "0.3.0",
    "current_dsl_version": "0.6.0",
}


@pytest.mark.parametrize(
    ("tree", "words"),
    [(PIPELINE, "a knowledge pipeline of Dify"), (IMPORT_ANSWER, "answers to an import")],
)
def test_what_dify_gives_beside_its_apps_is_refused_by_its_name(tree: dict[str, Any], words: str):
    with pytest.raises(DocumentInvalid) as refused:
        dsl.load_document(json.dumps(tree))

    (problem,) = refused.value.problems
    assert words in problem.message


def build_graph(*kinds: str) -> dict[str, Any]:
    nodes = [{"id": kind, "data": {"type": kind, "title": kind}} for kind in kinds]
    return {"nodes": nodes, "edges": []}


def test_document_in_the_console_answer_to_an_export_is_read():
    inner = {
        "kind": "app",
        "version": "0.6.0",
        "app": {"mode": "workflow", "name": "Inner"},
        "workflow": {"graph": build_graph("start", "end")},
    }

    loaded = dsl.load_document(json.dumps({"data": json.dumps(inner)}))

    assert loaded.document == dsl.load_document(inner).document
    assert [warning.code for warning in loaded.warnings] == ["document.console_answer"]


@pytest.mark.parametrize(("last", "mode"), [("end", "workflow"), ("answer", "advanced-chat")])
def test_draft_in_an_answer_of_the_console_is_read(last: str, mode: str):
    answer = {"id": "1", "hash": "abc", "graph": build_graph("start", last), "features": {}}

    loaded = dsl.load_document(json.dumps(answer))

    assert (loaded.document.mode, [node.kind for node in loaded.document.nodes]) == (
        mode,
        ["start", last],
    )
    assert [warning.code for warning in loaded.warnings] == ["document.console_answer"]


@pytest.mark.parametrize("head", ['title = "x"\n', ""])
def test_toml_is_refused_by_its_name(head: str):
    with pytest.raises(DocumentInvalid) as refused:
        dsl.load_document(head + '[app]\nmode = "workflow"\n')

    assert [problem.code for problem in refused.value.problems] == ["document.toml"]


def test_refused_document_lists_no_warnings_among_the_reasons():
    with pytest.raises(DocumentInvalid) as refused:
        dsl.load_document({"version": "0.3.0", "app": {"mode": "nonsense"}})

    assert all(problem.is_error for problem in refused.value.problems)


def test_text_that_ends_too_early_is_explained_without_the_marks_of_yaml():
    with pytest.raises(DocumentInvalid) as refused:
        dsl.load_document("[app]\nmode: workflow\n")

    assert "<document start>" not in str(refused.value)
