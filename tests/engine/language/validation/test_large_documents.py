"""Documents that are allowed by their size but made to be slow: each is checked soon, or refused with a sentence."""

from contextlib import suppress

import pytest

from tests.support.steps import count_steps
from workflows.engine.errors import DocumentInvalid
from workflows.engine.language.dsl import load_document
from workflows.engine.language.plan import compile_plan
from workflows.engine.language.validation import validate
from workflows.engine.nodes import build_kinds


KINDS = build_kinds()
START = {"id": "start", "data": {"type": "start", "variables": []}}


def build_document(nodes, edges):
    graph = {"nodes": [START, *nodes], "edges": edges}
    return {"version": "0.6.0", "app": {"mode": "workflow"}, "workflow": {"graph": graph}}


def nest_containers(count, *, in_circle=False):
    nodes = [
        {
            "id": f"c{number}",
            "parentId": f"c{number - 1}" if number else None,
            "data": {"type": "iteration", "iterator_selector": ["start", "x"]},
        }
        for number in range(count)
    ]
    if in_circle:
        nodes[0]["parentId"] = nodes[-1]["id"]
    return build_document(nodes, [{"id": "e", "source": "start", "target": "c0"}])


def list_cases(count, *, known_handles=True):
    condition = {"variable_selector": ["start", "x"], "comparison_operator": "is", "value": "a"}
    cases = [
        {"case_id": f"k{number}", "logical_operator": "and", "conditions": [condition]}
        for number in range(count)
    ]
    edges = [
        {
            "id": f"e{number}",
            "source": "if",
            "target": "end",
            "sourceHandle": f"{'k' if known_handles else 'u'}{number}",
        }
        for number in range(min(count, 4900))
    ]
    nodes = [
        {"id": "if", "data": {"type": "if-else", "cases": cases}},
        {"id": "end", "data": {"type": "end", "outputs": []}},
    ]
    return build_document(nodes, [{"id": "e", "source": "start", "target": "if"}, *edges])


def connect_in_circles(nodes, edges):
    reads = [
        [f"n{(number * 7 + step * 13) % nodes}" for step in range(4)] for number in range(nodes)
    ]
    texts = ["".join(f"{{{{#{name}.output#}}}}" for name in names) for names in reads]
    specs = [
        {"id": f"n{number}", "data": {"type": "answer", "answer": text}}
        for number, text in enumerate(texts)
    ]
    ends = [
        {
            "id": f"e{n}",
            "source": f"n{n % nodes}",
            "target": f"n{(n * 31 + n // nodes + 1) % nodes}",
        }
        for n in range(edges)
    ]
    return build_document(specs, [{"id": "s", "source": "start", "target": "n0"}, *ends])


def refer_to_nothing(count):
    text = "".join(f"{{{{#g{number}.t#}}}}" for number in range(count))
    nodes = [{"id": f"n{number}", "data": {"type": f"kind{number}"}} for number in range(2000)]
    return build_document([*nodes, {"id": "a", "data": {"type": "answer", "answer": text}}], [])


SLOW = {
    "nested containers": nest_containers(2000),
    "containers nested in a circle": nest_containers(2000, in_circle=True),
    "cases": list_cases(5000),
    "edges from unknown handles": list_cases(5000, known_handles=False),
    "circles": connect_in_circles(2000, 4900),
    "unknown references": refer_to_nothing(50_000),
}


@pytest.mark.parametrize("name", SLOW)
def test_document_made_to_be_slow_is_checked_soon(name):
    # Once the worst took more than a minute, which is a hundred times as many.
    with count_steps(10_000_000), suppress(DocumentInvalid):
        document = load_document(SLOW[name]).document
        validate(document, KINDS)
        compile_plan(document, KINDS)


def test_nested_containers_are_refused_when_the_document_is_read():
    with pytest.raises(DocumentInvalid, match="at most 40 levels"):
        load_document(nest_containers(42))

    assert len(load_document(nest_containers(41)).document.nodes) == 42


def test_unknown_references_beyond_a_number_are_summed_up():
    problems = validate(load_document(refer_to_nothing(900)).document, KINDS)

    unknown = [problem for problem in problems if problem.code == "reference.unknown_node"]
    more = [problem for problem in problems if problem.code == "reference.more"]
    assert (len(unknown), len(more)) == (500, 1)
    assert more[0].message == "More than 500 references have problems; the others are not listed"
