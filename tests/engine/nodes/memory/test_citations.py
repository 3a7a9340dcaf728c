"""Which pages are cited: those that flow from the node that found them to a model or to the answer."""

import pytest

from tests.support.cases import for_each
from workflows.engine.language.dsl import load_document
from workflows.engine.nodes import build_kinds
from workflows.engine.nodes.memory.citations import find_cited_pages, shows_citations


KINDS = build_kinds()
SEARCH = {"type": "knowledge-retrieval", "query_variable_selector": ["sys", "query"]}
LLM = {"type": "llm", "model": {"provider": "p", "name": "m"}, "prompt_template": []}


def ask(*selector):
    return {**LLM, "context": {"enabled": True, "variable_selector": [*selector]}}


def pick(*selector):
    """Code that reads a variable."""
    variables = [{"variable": "pages", "value_selector": [*selector]}]
    return {"type": "code", "code": "", "variables": variables, "outputs": {}}


def answer(text):
    return {"type": "answer", "answer": text}


def load(nodes, features=None):
    items = [{"id": name, "data": data} for name, data in nodes.items()]
    graph = {"nodes": items, "edges": []}
    return load_document(
        {
            "version": "0.6.0",
            "kind": "app",
            "app": {"name": "A", "mode": "advanced-chat"},
            "workflow": {"graph": graph, "features": features or {}},
        }
    ).document


def cite(nodes, pages, *, outputs=None, finished=None):
    cited = find_cited_pages(
        load({"start": {"type": "start", "variables": []}, "s": SEARCH, **nodes}),
        KINDS,
        pages=pages,
        finished={*nodes, "s"} if finished is None else finished,
        load_outputs=lambda node: (outputs or {}).get(node, []),
    )
    return sorted(cited)


FOUND = {"s": ["a", "b"]}
PAGE_B = {"title": "B", "metadata": {"entry_id": "b"}}

# name, the nodes, the outputs of those in between, what is cited
FLOWS = [
    ("model", {"m": ask("s", "result")}, {}, ["a", "b"]),
    ("answer", {"x": answer("{{#s.result#}}")}, {}, ["a", "b"]),
    ("number of pages", {"x": answer("{{#s.count#}}")}, {}, []),
    ("unread", {"x": answer("Hello")}, {}, []),
    ("text made of all", {"c": pick("s", "result"), "m": ask("c", "text")},
     {"c": [{"text": "A, B"}]}, ["a", "b"]),
    ("one that was kept", {"c": pick("s", "result"), "m": ask("c", "kept")},
     {"c": [{"kept": [PAGE_B]}]}, ["b"]),
    ("two steps later, against the order of the nodes",
     {"m": ask("d", "text"), "d": pick("c", "kept"), "c": pick("s", "result")},
     {"c": [{"kept": [PAGE_B]}]}, ["b"]),
    ("circle", {"c": pick("d", "x"), "d": {**pick("c", "x"), "more": ["s", "result"]},
                "m": ask("c", "x")}, {}, ["a", "b"]),
    ("metadata of other things", {"c": pick("s", "result"), "m": ask("c", "x")},
     {"c": [{"x": {"metadata": {"entry_id": 7}}, "y": {"metadata": "text"}}]}, ["a", "b"]),
]  # fmt: skip


@for_each("nodes, outputs, expected", [case[1:] for case in FLOWS],
                         ids=[case[0] for case in FLOWS])  # fmt: skip
def test_pages_are_followed_to_a_model_or_the_answer(nodes, outputs, expected):
    assert cite(nodes, FOUND, outputs=outputs) == expected


def test_node_that_did_not_run_reads_nothing():
    assert cite({"m": ask("s", "result")}, FOUND, finished={"s"}) == []


def test_agent_searched_by_itself_and_a_node_by_another_workflow():
    agent = {"type": "agent", "model": {"provider": "p", "name": "m"}, "query": "{{#sys.query#}}"}
    call = {"type": "sub-workflow", "workflow": "w", "inputs": {}}
    nodes = {"g": agent, "w": call, "x": answer("{{#w.found#}}")}

    assert cite(nodes, {"g": ["a"], "w": ["b"], "gone": ["c"]}) == ["a", "b"]


@pytest.mark.parametrize(("feature", "is_on"), [
    ({"enabled": True}, True), ({"enabled": False}, False), ({"enabled": "true"}, False),
    ("on", False), (None, False),
])  # fmt: skip
def test_feature_is_on_if_the_document_says_so(feature, is_on):
    features = {"retriever_resource": feature} if feature is not None else {}
    assert shows_citations(load({}, features)) is is_on
