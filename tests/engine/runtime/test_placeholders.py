"""Nodes whose kind this installation lacks: they block nothing, and fail only when a run reaches them unpinned."""

import pytest

from workflows.engine.language.dsl import load_document
from workflows.engine.language.dsl.write_dify import write_dify
from workflows.engine.language.validation import select_errors, validate
from workflows.engine.nodes import build_kinds
from workflows.engine.runtime.runner import WorkflowRunner


KINDS = build_kinds()
FOREIGN = {
    "type": "mail-sorter",
    "title": "Sort",
    "plugin_unique_identifier": "acme/mail:1.2.3@0123",
    "provider_name": "acme/mail/mail",
    "tool_name": "sort",
    "rules": [{"from": "{{#start.q#}}", "to": 3}],
}


def load(*, edges, foreign=FOREIGN, start="start"):
    nodes = [
        ("start", {"type": start, "variables": [{"variable": "q", "type": "paragraph"}]}),
        ("sort", foreign),
        ("left", {"type": "template-transform", "template": "left", "variables": []}),
        ("right", {"type": "template-transform", "template": "right", "variables": []}),
        (
            "end",
            {"type": "end", "outputs": [{"variable": "o", "value_selector": ["sort", "folder"]}]},
        ),
    ]
    graph = {
        "nodes": [{"id": key, "type": "custom", "data": data} for key, data in nodes],
        "edges": [
            {"id": f"e{index}", "source": source, "sourceHandle": handle, "target": target}
            for index, (source, handle, target) in enumerate(edges)
        ],
    }
    tree = {"version": "0.6.0", "kind": "app", "app": {"name": "A", "mode": "workflow"}}
    return load_document({**tree, "workflow": {"graph": graph}}).document


STRAIGHT = [("start", "source", "sort"), ("sort", "source", "end")]
BRANCHED = [
    ("start", "source", "sort"),
    *(("sort", "l", "left"), ("sort", "r", "right")),
    *(("left", "source", "end"), ("right", "source", "end")),
]


async def run(document, mocks=None):
    mocks = {"type:template-transform": {"outputs": {"output": ""}}, **(mocks or {})}
    return await WorkflowRunner(document, mocks=mocks).run(inputs={"q": "hi"})


def test_placeholder_is_a_warning_that_names_it():
    problems = validate(load(edges=STRAIGHT), KINDS)

    assert select_errors(problems) == []
    [problem] = [each for each in problems if each.code == "kind.unknown"]
    assert problem.node == "sort"
    for name in ("mail-sorter", "acme/mail:1.2.3", "sort"):
        assert name in problem.message


@pytest.mark.asyncio
async def test_placeholder_fails_when_a_run_reaches_it():
    result = await run(load(edges=STRAIGHT))

    assert (result.status, result.error_node) == ("failed", "sort")
    assert result.error == (
        "Sort can't run: this installation has no node type mail-sorter / sort of the plug-in acme/mail:1.2.3."
        " Replace the node, or handle its failure; runs from the editor can use pinned outputs instead."
    )


@pytest.mark.asyncio
async def test_placeholder_that_is_not_reached_does_not_matter():
    result = await run(load(edges=[("start", "source", "end")]))

    assert (result.status, result.outputs) == ("succeeded", {"o": None})


@pytest.mark.asyncio
async def test_pinned_placeholder_gives_its_outputs():
    result = await run(load(edges=STRAIGHT), {"sort": {"outputs": {"folder": "spam"}}})

    assert (result.status, result.outputs) == ("succeeded", {"o": "spam"})


@pytest.mark.asyncio
@pytest.mark.parametrize("branch", ["l", "r"])
async def test_pinned_placeholder_takes_the_branch_of_its_pin(branch):
    mock = {"outputs": {"folder": "spam"}, "handle": branch}

    result = await run(load(edges=BRANCHED), {"sort": mock})

    names = {"l": "left", "r": "right"}
    ran = {step.key.node_id for step in result.steps if step.status == "succeeded"}
    assert ran & {"left", "right"} == {names[branch]}


@pytest.mark.asyncio
async def test_error_strategy_of_a_placeholder_is_carried_out():
    foreign = FOREIGN | {"error_strategy": "default-value"}
    foreign["default_value"] = [{"key": "folder", "type": "string", "value": "inbox"}]

    result = await run(load(edges=STRAIGHT, foreign=foreign))

    assert result.outputs == {"o": "inbox"}


@pytest.mark.asyncio
async def test_missing_trigger_starts_the_run_when_it_is_pinned():
    document = load(edges=STRAIGHT, start="trigger-invented")
    assert select_errors(validate(document, KINDS)) == []

    result = await run(document, {"start": {"outputs": {}}, "sort": {"outputs": {"folder": "x"}}})

    assert result.outputs == {"o": "x"}


def test_data_of_a_placeholder_survives_reading_and_writing():
    document = load(edges=BRANCHED)

    again = load_document(write_dify(document, include_secrets=True)).document

    assert [node.data for node in again.nodes if node.id == "sort"] == [FOREIGN]
    assert again.edges == document.edges
