"""What is read is written back: every key, in either dialect, and across both."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.cases import for_each
from workflows.engine.language.document import Dialect
from workflows.engine.language.dsl import build_tree, compute_digest, dump_document, load_document
from workflows.engine.language.dsl.emit import to_yaml
from workflows.engine.language.dsl.loading import load_tree


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
TRAPS = st.sampled_from(
    [
        *("NO", "y", "1:30:45", "010", "1e3", "0x1F", "0o7", "<<", "=", "~", "null", "true"),
        *("a\nb", " a\nb", "a \nb", "a\n\n", "\n", "\ta\n", "a\x85b\nc", "a\u2028\nb", "- a"),
        *("#", "&a", "*a", "!t", "{{#a.b#}}\n", "a\r\nb", "\ufeffa\n", "12", "1.5", "'", '"', ""),
        *("2026-11-22", "a: b"),
    ]
)
SCALAR = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
    | TRAPS
)
KEY = st.sampled_from(["a", "b", "desc", "selected", "x y", "NO", "1"])
JSON = st.recursive(
    SCALAR,
    lambda part: st.lists(part, max_size=3) | st.dictionaries(KEY, part, max_size=3),
    max_leaves=8,
)
EXTRA = st.dictionaries(KEY, JSON, max_size=3)
# Dify knows no variable without a value, so null would come back as the zero of its type.
DEFAULT = JSON.filter(lambda value: value is not None)
IDS = st.sampled_from(["n1", "n2", "1755189262236", "box"])
KINDS = st.sampled_from(["start", "llm", "if-else", "code", "assigner", "unheard-of"])


@st.composite
def nodes(draw):
    data = {"type": draw(KINDS), **draw(EXTRA)}
    if draw(st.booleans()):
        data["title"] = draw(TEXT)
    node = {"id": draw(IDS), "data": data, **draw(EXTRA)}
    if draw(st.booleans()):
        node["position"] = {"x": draw(st.integers(-99, 99)), "y": draw(st.floats(-9, 9))}
    if draw(st.booleans()):
        node |= {"type": draw(st.sampled_from(["custom", "custom-note"])), "parentId": draw(IDS)}
    return node


@st.composite
def edges(draw):
    edge = {"id": draw(TEXT.filter(bool)), "source": draw(IDS), "target": draw(IDS), **draw(EXTRA)}
    if draw(st.booleans()):
        edge["sourceHandle"] = draw(
            st.sampled_from(["source", "true", "success-branch", "fail-branch"])
        )
    return edge


@st.composite
def variables(draw):
    named = {"name": draw(TEXT), "value_type": draw(KEY), "value": draw(DEFAULT)}
    return {**draw(EXTRA), **named}


@st.composite
def dify_trees(draw):
    return {
        "version": draw(st.sampled_from(["0.6.0", "0.3.1", "0.7.2"])),
        "app": {"mode": draw(st.sampled_from(["workflow", "advanced-chat"])), **draw(EXTRA)},
        "workflow": {
            "graph": {
                "nodes": draw(st.lists(nodes(), max_size=4)),
                "edges": draw(st.lists(edges(), max_size=4)),
                **draw(EXTRA),
            },
            "features": draw(EXTRA),
            "environment_variables": draw(st.lists(variables(), max_size=2)),
            "conversation_variables": draw(st.lists(variables(), max_size=2)),
            **draw(EXTRA),
        },
        **draw(EXTRA),
    }


@st.composite
def xworkflow_trees(draw):
    flat_nodes = [
        {"id": node["id"], "data": node["data"]} for node in draw(st.lists(nodes(), max_size=4))
    ]
    return {
        "version": "0.1.0",
        "nodes": flat_nodes,
        "edges": draw(st.lists(edges(), max_size=4)),
        "environment_variables": [{"name": draw(TEXT), "value": draw(TEXT)}],
        "conversation_variables": [{"name": "c", "type": "string", "default": draw(DEFAULT)}],
        **draw(EXTRA),
    }


def is_within(source, written):
    """Whether everything in ``source`` is in ``written``, which may say more."""
    if isinstance(source, dict) and isinstance(written, dict):
        return all(key in written and is_within(source[key], written[key]) for key in source)
    if isinstance(source, list) and isinstance(written, list):
        return len(source) == len(written) and all(map(is_within, source, written))
    return source == written


def notes_last(tree):
    """Sticky notes have no place in the order of nodes."""
    graph = tree["workflow"]["graph"]
    ordered = sorted(graph["nodes"], key=lambda node: node.get("type") == "custom-note")
    return {**tree, "workflow": {**tree["workflow"], "graph": {**graph, "nodes": ordered}}}


@given(JSON)
def test_yaml_any_value_is_read_back_as_written(value):
    assert load_tree(to_yaml({"v": value})) == {"v": value}


@settings(max_examples=40, deadline=None)
@given(dify_trees())
def test_dify_any_document_comes_back_whole(tree):
    document = load_document(tree).document

    written = build_tree(document, include_secrets=True)
    again = load_document(dump_document(document, include_secrets=True)).document

    assert is_within(notes_last(tree), written)
    assert again == document
    assert compute_digest(again) == compute_digest(document)


@settings(max_examples=40, deadline=None)
@given(xworkflow_trees())
def test_xworkflow_any_document_comes_back_the_same(tree):
    document = load_document(tree).document

    again = load_document(dump_document(document, include_secrets=True)).document

    assert again == document


@settings(max_examples=40, deadline=None)
@given(dify_trees())
def test_dify_document_comes_back_from_xworkflow(tree):
    document = load_document(tree).document

    abroad = load_document(dump_document(document, Dialect.XWORKFLOW, include_secrets=True))
    home = load_document(dump_document(abroad.document, Dialect.DIFY, include_secrets=True))

    # The version says which dialect wrote the file last.
    assert replace(home.document, version="") == replace(document, version="")


@settings(max_examples=40, deadline=None)
@given(xworkflow_trees())
def test_xworkflow_document_comes_back_from_dify(tree):
    document = load_document(tree).document

    abroad = load_document(dump_document(document, Dialect.DIFY, include_secrets=True))
    home = load_document(dump_document(abroad.document, Dialect.XWORKFLOW, include_secrets=True))

    assert replace(home.document, version="") == replace(document, version="")


@for_each("kind", ["http-request", "tool", "llm", "agent"])
@for_each("safety", ["safe", "ask", "never"])
def test_retry_safety_survives_both_dialects(kind, safety):
    data = {"type": kind, "title": "x", "retry_safety": safety}
    tree = {"version": "0.1.0", "nodes": [{"id": "n", "data": data}], "edges": []}
    document = load_document(tree).document

    for dialect in (*Dialect, *reversed(Dialect)):
        document = load_document(dump_document(document, dialect)).document
        assert document.nodes[0].data["retry_safety"] == safety
