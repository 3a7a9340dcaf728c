"""A graph in another place than ``workflow.graph`` is read from there, with a warning that names the place."""

from typing import Any

import pytest

from tests.support.cases import for_each
from workflows.engine.errors import DocumentInvalid
from workflows.engine.language.dsl import dump_document, load_document


NODES = [
    {"id": "start", "data": {"type": "start", "variables": [{"variable": "q", "type": "paragraph"}]}},
    {"id": "end", "data": {"type": "end", "outputs": [{"variable": "out", "value_selector": ["start", "q"]}]}},
]  # fmt: skip
GRAPH = {"nodes": NODES, "edges": [{"id": "e", "source": "start", "target": "end"}]}
APP = {"version": "0.6.0", "app": {"name": "Flat", "mode": "workflow"}}


@for_each(
    "tree, place",
    [
        ({"workflow": GRAPH}, "workflow"),
        ({"workflow": {"graph": {}, **GRAPH}}, "workflow"),
        ({"workflow": {"graph": {"nodes": [], "edges": []}, **GRAPH}}, "workflow"),
        ({"workflow": {"graph": {"graph": GRAPH}}}, "workflow.graph.graph"),
        ({"workflow": {"features": {}}, "graph": GRAPH}, "graph"),
        ({"graph": GRAPH}, "graph"),
        (GRAPH, "the top level of the document"),
        ({"data": {"workflow": {"graph": GRAPH}}}, "data.workflow.graph"),
    ],
)
def test_graph_is_read_from_where_it_is(tree: dict[str, Any], place: str) -> None:
    loaded = load_document({**APP, **tree})

    assert [node.id for node in loaded.document.nodes] == ["start", "end"]
    assert [(edge.source, edge.target) for edge in loaded.document.edges] == [("start", "end")]
    assert [p.message for p in loaded.warnings if p.code == "document.graph_moved"] == [
        f"The nodes were read from {place}, instead of workflow.graph where they belong"
    ]


def test_graph_is_written_where_it_belongs() -> None:
    document = load_document({**APP, "workflow": GRAPH}).document

    again = load_document(dump_document(document))

    assert (again.document, again.warnings) == (document, ())


@pytest.mark.parametrize(
    "tree",
    [
        {"workflow": {"graph": {"nodes": [], "edges": []}}},
        {"workflow": {}},
        {"workflow": {"graph": {"nodes": NODES}}},
        {"workflow": {"features": {"nodes": ["a"]}}},
        {"workflow": {}, "xworkflow": {"nodes": NODES}},
    ],
)
def test_document_without_a_graph_elsewhere_has_no_such_warning(tree: dict[str, Any]) -> None:
    assert "document.graph_moved" not in [p.code for p in load_document({**APP, **tree}).warnings]


@pytest.mark.parametrize("workflow", [{"graph": "{}", **GRAPH}, {"graph": [], **GRAPH}])
def test_graph_that_is_no_mapping_is_refused(workflow: dict[str, Any]) -> None:
    with pytest.raises(DocumentInvalid, match="graph is a mapping"):
        load_document({**APP, "workflow": workflow})
