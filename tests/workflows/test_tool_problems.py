"""Problems of a draft that depend on the team: tools that it does not have, and outputs of other workflows that are gone."""

from itertools import pairwise
from typing import Any

import pytest

from tests.support.cases import for_each
from tests.support.cast import Person
from workflows.models import Workflow
from workflows.sandbox.pool import RunnerGone
from workflows.services import tools
from workflows.services.catalog import importing
from workflows.services.editor import code_problems
from workflows.services.editor.drafts import list_problems, load_draft, replace_draft
from workflows.services.publishing import find_failing_nodes, publish


pytestmark = pytest.mark.django_db

API = (
    '{"openapi": "3.1.0", "info": {"title": "Library"}, "servers": [{"url": "https://api.example.com"}],'
    ' "paths": {"/a": {"get": {"operationId": "find"}}, "/b": {"get": {"operationId": "lend"}}}}'
)
MODEL = {"provider": "offline", "name": "offline", "mode": "chat"}


def import_nodes(person: Person, *nodes: dict[str, Any], name: str = "Caller") -> Workflow:
    start = {"id": "start", "data": {"type": "start", "title": "Start", "variables": []}}
    every = [start, *nodes]
    document = {
        "version": "0.1.0",
        "nodes": every,
        "edges": [
            {"id": f"e{number}", "source": one["id"], "target": other["id"]}
            for number, (one, other) in enumerate(pairwise(every))
        ],
    }
    return importing.import_document(
        person.principal, team_id=person.team.pk, source=document, name=name
    ).workflow


def end(*selector: str) -> dict[str, Any]:
    outputs = [{"variable": "out", "value_selector": list(selector)}] if selector else []
    return {"id": "end", "data": {"type": "end", "title": "End", "outputs": outputs}}


def problems_of(workflow: Workflow) -> list[tuple[str | None, str | None, str]]:
    problems = list_problems(workflow, load_draft(workflow))
    return [(problem.node, problem.field, problem.message) for problem in problems]


def test_tools_that_the_team_does_not_have_are_named_with_node_and_field(alice):
    connection = tools.connect_openapi(
        alice.principal, team_id=alice.team.pk, name="Library", document=API
    )
    tools.choose_operations(alice.principal, connection=connection, enabled={"find"}, approvals=[])
    agent = {"type": "agent", "title": "Agent", "model": MODEL, "query": "x", "tools": [
        {"source": "openapi", "provider": "library", "name": "find"},
        {"source": "openapi", "provider": "library", "name": "lend"},
        {"source": "mcp", "provider": "git", "name": "*"},
        {"source": "workflow", "provider": "prices", "name": "prices"},
        {"source": "plugin", "name": "paint"},
        {"source": "mcp", "provider": "off", "name": "x", "enabled": False},
        {"source": "builtin", "name": "calculator"},
    ]}  # fmt: skip
    tool = {"type": "tool", "title": "Tool", "provider_type": "api", "provider_id": "weather",
            "tool_name": "forecast"}  # fmt: skip
    workflow = import_nodes(alice, {"id": "a", "data": agent}, {"id": "t", "data": tool}, end())

    found = problems_of(workflow)

    assert [each for each in found if each[0] in ("a", "t")] == [
        ("a", "tools.1.name", "lend of Library is disabled or does not exist"),
        ("a", "tools.2.name", "The team has no connection git; connect it on the page Tools"),
        ("a", "tools.3.name", "The workflow prices is not published as a tool"),
        ("a", "tools.4.name", "There is no tool paint; no installed plug-in offers it"),
        ("t", "tool_name", "The team has no connection weather; connect it on the page Tools"),
    ]


def test_missing_tool_stops_its_node_but_not_an_agent(alice):
    agent = {"type": "agent", "title": "Agent", "model": MODEL, "query": "x",
             "tools": [{"source": "plugin", "name": "paint"}]}  # fmt: skip
    tool = {"type": "tool", "title": "Tool", "provider_type": "builtin", "provider_id": "acme",
            "tool_name": "paint"}  # fmt: skip
    workflow = import_nodes(alice, {"id": "a", "data": agent}, {"id": "t", "data": tool}, end())

    failing = find_failing_nodes(workflow, load_draft(workflow))

    assert [problem.node for problem in failing] == ["t"]


def test_module_that_is_not_here_is_a_problem_of_its_code(alice):
    source = "import json\nimport jieba\n\ndef main():\n    return {}\n"
    data = {"type": "code", "title": "Cut", "code": source, "outputs": {}}
    workflow = import_nodes(alice, {"id": "c", "data": data}, end())

    document = load_draft(workflow)

    assert ("c", "code", "There is no module jieba here; the code fails when it imports it") in (
        problems_of(workflow)
    )
    assert [problem.node for problem in find_failing_nodes(workflow, document)] == ["c"]


def test_module_that_a_program_can_do_without_is_no_problem(alice):
    tried = (
        "try:\n    import regex as re\nexcept ImportError:\n    import re\ndef main(): return {}\n"
    )
    data = {"type": "code", "title": "Cut", "code": tried, "outputs": {}}
    workflow = import_nodes(alice, {"id": "c", "data": data}, end())

    assert find_failing_nodes(workflow, load_draft(workflow)) == []


@for_each("source, message", [
    ("def main(:\n    pass", "Line 1 of the code: Syntax error: Expected a parameter"),
    ("def main():\n    del x", "Line 2 of the code: This Python has no 'del' statement"),
    ("from math import *\ndef main(): pass", "Line 1 of the code: NotImplementedError: Wildcard imports"),
    ("class A:\n    x = 1\ndef main():\n    return {'x': f'{A().x!r}'}", None),
    ("def main(a):\n    return {'x': f'{a['b']}'}", None),  # since Python 3.12
])  # fmt: skip
def test_code_that_the_runner_cannot_read_is_a_problem_before_it_runs(alice, source, message):
    data = {"type": "code", "title": "Code", "code": source, "outputs": {}}
    workflow = import_nodes(alice, {"id": "c", "data": data}, end())
    document = load_draft(workflow)

    messages = [
        text for node, field, text in problems_of(workflow) if (node, field) == ("c", "code")
    ]

    assert [text.startswith(message or "-") for text in messages] == ([True] if message else [])
    failing = find_failing_nodes(workflow, document)
    assert [problem.node for problem in failing] == (["c"] if message else [])


def test_runner_that_gives_no_answer_is_asked_about_one_node_only(alice, monkeypatch):
    calls = []

    def give_no_answer(source, language):
        calls.append(source)
        raise RunnerGone

    monkeypatch.setattr(code_problems, "find_fault", give_no_answer)
    nodes: list[dict[str, object]] = [
        {"id": name, "data": {"type": "code", "title": name, "outputs": {},
                              "code": f"class {name}: pass\ndef main(): return {{}}"}}
        for name in ("a", "b")
    ]  # fmt: skip
    workflow = import_nodes(alice, *nodes, end())

    assert find_failing_nodes(workflow, load_draft(workflow)) == []
    assert len(calls) == 1


def test_another_teams_connection_is_no_connection(alice, carol):
    tools.connect_openapi(carol.principal, team_id=carol.team.pk, name="Library", document=API)
    tool = {"type": "tool", "title": "Tool", "provider_type": "api", "provider_id": "library",
            "tool_name": "find"}  # fmt: skip
    workflow = import_nodes(alice, {"id": "t", "data": tool}, end())

    found = {node for node, field, _text in problems_of(workflow) if field == "tool_name"}
    assert found == {"t"}


def test_output_of_another_workflow_that_is_gone_is_a_problem_where_it_is_read(alice):
    inner = import_nodes(alice, end("start", "x"), name="Inner")
    publish(alice.principal, workflow=inner)
    call = {"type": "sub-workflow", "title": "Call", "workflow": inner.slug,
            "outputs": [{"variable": "out", "value_type": "any"}]}  # fmt: skip
    workflow = import_nodes(alice, {"id": "call", "data": call}, end("call", "out"))
    before = problems_of(workflow)

    changed = import_nodes(alice, {
        "id": "end", "data": {"type": "end", "title": "End", "outputs": [
            {"variable": "other", "value_selector": ["sys", "user_id"]}]},
    }, name="Changed")  # fmt: skip
    replace_draft(alice.principal, workflow=inner, document=load_draft(changed))
    publish(alice.principal, workflow=inner)

    assert before == []
    (problem,) = problems_of(workflow)
    assert problem[0] == "end"
    assert problem[2] == "call has no output out"
