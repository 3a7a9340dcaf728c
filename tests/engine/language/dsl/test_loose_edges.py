"""An edge that has lost its source or its target is read, written as it was, and leads nowhere in a run."""

from typing import Any

from tests.support.cases import for_each
from workflows.engine.language.document import Dialect
from workflows.engine.language.dsl import build_tree, load_document
from workflows.engine.language.plan import compile_plan
from workflows.engine.nodes import build_kinds


END = {"id": "out", "type": "end", "title": "End", "data": {"outputs": []}}
# What an edge inside a body has → the ends as they are written.
LOOSE: dict[str, dict[str, Any]] = {
    "no target": {"source": "start"},
    "a target that is null": {"source": "start", "target": None},
    "no source": {"target": "out"},
    "a source that is a mapping": {"source": {}, "target": "out"},
    "a source that is empty": {"source": "", "target": "out"},
}


def build_iteration(*edges: dict[str, Any]) -> dict[str, Any]:
    body = {
        "nodes": [{"id": "start", "type": "start", "title": "Start", "data": {}}, END],
        "edges": [*edges],
    }
    each = {"type": "iteration", "title": "Each", "input_selector": ["start", "items"], "sub_graph": body}  # fmt: skip
    return {
        "version": "0.1.0",
        "nodes": [
            {"id": "start", "data": {"type": "start", "title": "Start", "variables": []}},
            {"id": "each", "data": each},
        ],
        "edges": [{"id": "e", "source": "start", "target": "each"}],
    }


@for_each("ends", LOOSE.values(), ids=LOOSE)
def test_loose_edge_of_a_body_is_written_back_into_the_body(ends: dict[str, Any]):
    tree = build_iteration({"source": "start", "target": "out"}, ends)

    document = load_document(tree).document
    written = build_tree(document)

    [each] = [node for node in written["nodes"] if node["id"] == "each"]
    assert each["data"]["sub_graph"]["edges"] == tree["nodes"][1]["data"]["sub_graph"]["edges"]
    assert [edge["id"] for edge in written["edges"]] == ["e"]
    assert load_document(written).document == document


@for_each("ends", [*LOOSE.values(), {}], ids=[*LOOSE, "no ends"])
def test_loose_edge_is_the_same_after_an_export_in_either_dialect(ends: dict[str, Any]):
    tree = build_iteration({"source": "start", "target": "out"})
    outside = {"target": "each"} if ends.get("target") == "out" else {}
    tree["edges"].append({"id": "loose", **ends, **outside})
    document = load_document(tree).document

    edges = [
        next(edge for edge in load_document(build_tree(document, dialect)).document.edges if edge.id == "loose")
        for dialect in Dialect
    ]  # fmt: skip

    assert edges == [next(edge for edge in document.edges if edge.id == "loose")] * 2
    assert not edges[0].is_complete


def test_loose_edge_leads_nowhere_in_a_version_that_was_published_before():
    tree = build_iteration({"source": "start", "target": "out"}, {"source": "start"})
    tree["edges"].append({"id": "loose", "target": "each"})

    plan = compile_plan(load_document(tree).document, build_kinds())

    assert [edge.id for edge in plan.edges] == ["e"]
