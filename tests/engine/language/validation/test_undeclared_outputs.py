"""Code of xworkflow returns what it likes: outputs that it doesn't declare are kept, and reading them is no error."""

from typing import Any

import pytest

from tests.support.engine import PythonHere, run_plan
from workflows.engine.language.dependencies import list_sources
from workflows.engine.language.document import Document
from workflows.engine.language.dsl import load_document
from workflows.engine.language.problems import mark_unfinished_as_errors, select_unfinished
from workflows.engine.language.validation import validate, validate_node
from workflows.engine.nodes import build_kinds


KINDS = build_kinds()


def load(outputs: dict[str, object] | None = None) -> Document:
    code: dict[str, Any] = {"type": "code", "title": "Code", "language": "python3", "variables": []}
    code["code"] = "def main(inputs):\n    return {'r': 3, 'said': 'x'}"
    code |= {} if outputs is None else {"outputs": outputs}
    reads = {"variable": "o", "value_selector": ["c", "r"]}
    tree: dict[str, Any] = {
        "version": "0.1.0",
        "nodes": [
            {"id": "start", "data": {"type": "start", "title": "Start", "variables": []}},
            {"id": "c", "data": code},
            {"id": "end", "data": {"type": "end", "title": "End", "outputs": [reads]}},
        ],
        "edges": [{"source": "start", "target": "c"}, {"source": "c", "target": "end"}],
    }
    return load_document(tree).document


@pytest.mark.asyncio
@pytest.mark.parametrize("outputs", [None, {}, {"said": {"type": "string"}}])
async def test_undeclared_output_is_kept_and_read(outputs):
    result = await run_plan(load(outputs), code=PythonHere())

    assert (result.status, result.outputs) == ("succeeded", {"o": 3})


@pytest.mark.parametrize("outputs", [None, {}, {"said": {"type": "string"}}])
def test_undeclared_output_is_an_error_nowhere(outputs):
    problems = validate(load(outputs), KINDS)

    assert select_unfinished(problems) == []
    assert not any(problem.is_error for problem in mark_unfinished_as_errors(problems))


def test_code_that_declares_nothing_has_no_problem():
    assert validate(load(), KINDS) == []


def test_output_beside_declared_ones_is_a_warning_in_the_list_and_in_the_form():
    document = load({"said": {"type": "string"}})

    [problem] = validate(document, KINDS)

    assert (problem.code, problem.node, problem.is_error) == (
        "reference.undeclared_output",
        "end",
        False,
    )
    assert problem.message == (
        "c.r is not declared as an output of c; it is empty unless the code returns it"
    )
    assert validate_node(document, KINDS, "end") == [problem]


def test_undeclared_output_is_offered_to_later_nodes():
    sources = list_sources(load(), KINDS, "end")

    [code] = [source for source in sources if source.id == "c"]
    assert [variable.selector for variable in code.variables] == [("c", "r")]
