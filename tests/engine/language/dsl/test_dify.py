from dataclasses import replace

import pytest

from tests.support.cases import for_each
from workflows.engine.errors import DocumentInvalid
from workflows.engine.language.document import Dialect, Mode, Position
from workflows.engine.language.dsl import (
    build_tree,
    dump_document,
    export_document,
    load_document,
)
from workflows.engine.nodes import KNOWN_KINDS


def tree(**changes):
    start = {"id": "start", "type": "custom", "data": {"type": "start", "title": "S"}}
    return {
        "version": "0.6.0",
        "kind": "app",
        "app": {"name": "N", "mode": "workflow", "description": "D", "icon": "x"},
        "workflow": {"graph": {"nodes": [start], "edges": []}},
        **changes,
    }


def with_graph(nodes=(), edges=(), **workflow):
    return tree(workflow={"graph": {"nodes": [*nodes], "edges": [*edges]}, **workflow})


def node(node_id="n", kind="end", **more):
    return {"id": node_id, "type": "custom", "data": {"type": kind}, **more}


def codes(raised):
    return [problem.code for problem in raised.value.problems]


@for_each(
    "version, pending, warned",
    [
        ("0.6.0", False, []),
        ("0.6", False, []),
        ("0.5.9", False, ["version.older"]),
        ("0.3.1", False, ["version.older"]),
        ("0.6.1", True, ["version.unknown"]),
        ("0.7.0", True, ["version.unknown"]),
        ("1.0.0", True, ["version.unknown"]),
        (None, False, ["version.older"]),
    ],
)
def test_load_version_decides_on_trust(version, pending, warned):
    loaded = load_document(tree(version=version))

    assert loaded.pending is pending
    assert [problem.code for problem in loaded.warnings] == warned


def test_load_newer_version_once_confirmed_is_not_pending():
    assert load_document(tree(version="0.7.0"), confirm_newer=True).pending is False


@pytest.mark.parametrize("version", [0.6, 1, "six", "", True, []])
def test_load_version_that_is_none_is_refused(version):
    with pytest.raises(DocumentInvalid) as raised:
        load_document(tree(version=version))

    assert codes(raised) == ["version.invalid"]


@for_each(
    "changes, code",
    [
        ({"app": {"mode": "nonsense"}}, "app.mode"),
        ({"app": {"mode": "chat"}}, "app.mode"),
        ({"app": {}}, "app.mode"),
        ({"app": "x"}, "document.app"),
        ({"workflow": None}, "workflow.missing"),
        ({"workflow": []}, "workflow.missing"),
        ({"workflow": {"graph": []}}, "document.graph"),
        ({"workflow": {"graph": {"nodes": {}}}}, "document.nodes"),
    ],
)
def test_load_envelope_out_of_shape_is_refused(changes, code):
    with pytest.raises(DocumentInvalid) as raised:
        load_document(tree(**changes))

    assert code in codes(raised)


def test_load_without_app_is_refused():
    broken = tree()
    del broken["app"]

    with pytest.raises(DocumentInvalid, match="app"):
        load_document(broken)


def test_load_reports_every_problem_at_once():
    variables = [{"name": "a", "value_type": "string"}, {"value": 1}, 7]
    nodes = [{"data": {}}, {"id": "x"}, {"id": "y", "data": {}}]

    with pytest.raises(DocumentInvalid) as raised:
        load_document(with_graph(nodes, conversation_variables=variables))

    assert sorted(codes(raised)) == [
        *("node.data_missing", "node.id_missing", "node.kind_missing"),
        *["variable.incomplete"] * 3,
        "variable.invalid",
    ]


def test_load_parts_become_a_document():
    note = {"id": "t", "type": "custom-note", "data": {"type": "", "text": "hi"}, "width": 9}
    inner = node("i", "llm", parentId="box", position={"x": 1, "y": 2.5}, zIndex=7)
    edge = {"source": "box", "target": "i", "sourceHandle": "success-branch", "data": {"a": 1}}
    variable = {"name": "v", "value_type": "number", "value": 3, "selector": ["conversation", "v"]}
    source = with_graph(
        [node("box", "loop"), inner, note], [edge], conversation_variables=[variable]
    )

    document = load_document(source).document

    assert document.mode is Mode.WORKFLOW
    assert (document.name, document.description) == ("N", "D")
    assert document.nodes[1].parent == "box"
    assert document.nodes[1].position == Position(1, 2.5)
    assert document.nodes[1].extra == {"zIndex": 7}
    assert document.notes[0].data["text"] == "hi"
    assert document.edges[0].handle == "source"
    assert document.edges[0].id == "box-source-i"
    assert (document.conversation[0].name, document.conversation[0].value) == ("v", 3)
    assert document.extra["app"] == {"icon": "x"}


def test_load_edge_that_is_no_mapping_is_kept_and_reported():
    loaded = load_document(with_graph([node()], ["?"]))

    assert [problem.code for problem in loaded.warnings] == ["edge.ends"]
    assert build_tree(loaded.document)["workflow"]["graph"]["edges"] == ["?"]


def test_load_unknown_parts_are_kept_and_reported():
    loaded = load_document({**tree(), "surprise": {"a": [1]}})

    assert [problem.field for problem in loaded.warnings] == ["surprise"]
    assert build_tree(loaded.document)["surprise"] == {"a": [1]}


def test_load_too_many_nodes_is_refused_before_they_are_read():
    with pytest.raises(DocumentInvalid, match="2500 nodes, this one has 2501"):
        load_document(with_graph([{}] * 2501))
    with pytest.raises(DocumentInvalid, match="at most 5000 edges, this one has 5001"):
        load_document(with_graph([], [{}] * 5001))


def test_dump_old_handle_keeps_its_spelling_until_rewired():
    edge = {"id": "e", "source": "a", "target": "b", "sourceHandle": "success-branch"}
    document = load_document(with_graph([node("a"), node("b")], [edge])).document

    written = build_tree(document)["workflow"]["graph"]["edges"][0]

    assert written["sourceHandle"] == "success-branch"


SECRETS = with_graph(
    [
        {"id": "t", "data": {"type": "tool", "credential_id": "CRED", "x": {"credential_id": 1}}},
        {"id": "w", "data": {"type": "trigger-webhook", "webhook_url": "https://CRED"}},
        {"id": "p", "data": {"type": "trigger-plugin", "subscription_id": "CRED"}},
        {"id": "l", "data": {"type": "llm", "model": {"credentials": {"api_key": "CRED"}}}},
        {
            "id": "a",
            "data": {
                "type": "agent",
                "agent_parameters": {"tools": {"value": [{"credential_id": "CRED", "n": 1}]}},
            },
        },
    ],
    environment_variables=[{"name": "k", "value_type": "secret", "value": "CRED"}],
)


@pytest.mark.parametrize("dialect", list(Dialect))
def test_dump_blanks_secrets_unless_asked(dialect):
    document = load_document(SECRETS).document

    assert "CRED" not in dump_document(document, dialect)
    assert dump_document(document, dialect, include_secrets=True).count("CRED") == 6
    assert document.environment[0].value == "CRED"


def test_export_names_what_dify_does_not_know():
    llm = {"id": "l", "data": {"type": "llm", "enhanced_memory": {"enabled": True}}}
    document = load_document(with_graph([node("m", "memory-recall"), llm])).document

    warnings = export_document(document, Dialect.DIFY, kinds=KNOWN_KINDS).warnings

    assert [(problem.code, problem.node) for problem in warnings] == [
        ("export.kind", "m"),
        ("export.enhanced_memory", "l"),
    ]


def test_dump_of_a_moved_container_says_anew_where_everything_stands():
    at = {"position": {"x": 1, "y": 2}, "positionAbsolute": {"x": 1, "y": 2}}
    inside = {"position": {"x": 10, "y": 20}, "positionAbsolute": {"x": 11, "y": 22}}
    nodes = [
        node("box", "loop", **at),
        node("in", "loop", parentId="box", **inside),
        node("deep", "code", parentId="in", **inside),
        node("plain", position={"x": 5, "y": 6}),
        {"id": "note", "type": "custom-note", "data": {"text": "n"}, **at},
    ]
    document = load_document(with_graph(nodes)).document
    there = Position(100, 200)
    moved = replace(
        document,
        nodes=(replace(document.nodes[0], position=there), *document.nodes[1:]),
        notes=(replace(document.notes[0], position=there),),
    )

    written = build_tree(moved)["workflow"]["graph"]["nodes"]

    assert {part["id"]: part.get("positionAbsolute") for part in written} == {
        "box": {"x": 100, "y": 200},
        "in": {"x": 110, "y": 220},
        "deep": {"x": 120, "y": 240},
        "plain": None,
        "note": {"x": 100, "y": 200},
    }
    assert written[0]["position"] == {"x": 100, "y": 200}


def test_wrong_copy_of_a_position_is_corrected_when_it_is_read():
    at = {"position": {"x": 1, "y": 2}, "positionAbsolute": {"x": 70, "y": 80}}
    nodes = [node("box", "loop", **at), node("in", "code", parentId="box", **at)]

    document = load_document(with_graph(nodes)).document

    assert [part.extra["positionAbsolute"] for part in document.nodes] == [
        {"x": 1, "y": 2}, {"x": 2, "y": 4}]  # fmt: skip
    assert load_document(build_tree(document)).document == document


def test_type_beside_the_data_of_a_node_is_read():
    nodes = [
        {"id": "a", "type": "start", "data": {"variables": []}},
        {"id": "b", "type": "custom", "data": {}},
    ]
    graph = {"nodes": nodes[:1]}
    tree = {"version": "0.6.0", "app": {"mode": "workflow"}, "workflow": {"graph": graph}}

    document = load_document(tree).document

    assert document.nodes[0].kind == "start"
    assert load_document(dump_document(document)).document == document
    graph["nodes"] = nodes
    with pytest.raises(DocumentInvalid, match="no type"):
        load_document(tree)
