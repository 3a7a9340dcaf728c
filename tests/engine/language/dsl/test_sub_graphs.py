"""Bodies of xworkflow's containers: read as nodes, run, and written back as they were."""

from typing import Any

import pytest

from tests.support.engine import ports
from workflows.engine.language.document import Dialect, Document
from workflows.engine.language.dsl import (
    build_tree,
    dump_document,
    export_document,
    load_document,
)
from workflows.engine.language.plan import compile_plan
from workflows.engine.language.validation import select_errors, validate
from workflows.engine.nodes import KNOWN_KINDS, build_kinds
from workflows.engine.runtime.local_ports import ListJournal
from workflows.engine.runtime.loop import execute_plan
from workflows.engine.runtime.run_request import RunResult, RunStart


def flat(*nodes: dict[str, Any], edges: list[str]) -> dict[str, Any]:
    return {"version": "0.1.0", "nodes": list(nodes), "edges": wires(edges)}


def wires(edges: list[str]) -> list[dict[str, Any]]:
    ends = [edge.split(" -> ") for edge in edges]
    return [{"id": f"e{n}", "source": a, "target": b} for n, (a, b) in enumerate(ends)]


def data(node_id: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"id": node_id, "data": {"type": kind, "title": node_id, **more}}


def body_node(node_id: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"id": node_id, "type": kind, "data": more}


def outputs(**selectors: Any) -> dict[str, Any]:
    return {"outputs": [{"variable": v, "value_selector": s} for v, s in selectors.items()]}


def shout(source: Any) -> dict[str, Any]:
    return {"template": "{{ x }}!", "variables": [{"variable": "x", "value_selector": source}]}


def iteration(**more: Any) -> dict[str, Any]:
    graph = {
        "nodes": [
            body_node("start", "start"),
            body_node("t", "template-transform", **shout(["__scope__", "item"])),
            body_node("end", "end", **outputs(said=["t", "output"], at=["__scope__", "index"])),
        ],
        "edges": wires(["start -> t", "t -> end"]),
    }
    return data("each", "iteration", input_selector=["start", "items"], sub_graph=graph,
                output_variable="results", **more)  # fmt: skip


def workflow(container: dict[str, Any], **selectors: Any) -> dict[str, Any]:
    return flat(
        data("start", "start", variables=[{"variable": "items", "type": "array[string]"}]),
        container,
        data("end", "end", **outputs(**selectors)),
        edges=[f"start -> {container['id']}", f"{container['id']} -> end"],
    )


def loop(condition: dict[str, Any], max_iterations: int = 10) -> dict[str, Any]:
    graph = {
        "nodes": [
            body_node("start", "start"),
            body_node("t", "template-transform", **shout(["loop", "text"])),
            body_node("end", "end", **outputs(text=["t", "output"], n=["__scope__", "_iteration"])),
        ],
        "edges": wires(["start -> t", "t -> end"]),
    }
    return data("lp", "loop", condition=condition, initial_vars={"text": "a", "n": -1},
                max_iterations=max_iterations, output_variable="out", sub_graph=graph)  # fmt: skip


BELOW_TWO = {
    "variable_selector": ["loop", "n"],
    "comparison_operator": "less_than",
    "value": 2,
}


async def ran(tree: dict[str, Any], **inputs: Any) -> RunResult:
    document = load_document(tree).document
    assert select_errors(validate(document, build_kinds())) == []
    plan = compile_plan(document, build_kinds())
    return await execute_plan(plan, RunStart("run", inputs=inputs), ports(), ListJournal())


@pytest.mark.parametrize("parallel", [False, True])
async def test_iteration_gathers_what_the_ends_of_its_rounds_give(parallel: bool) -> None:
    made = workflow(iteration(parallel=parallel, parallelism=2), r=["each", "results"])

    result = await ran(made, items=["a", "b"])

    assert result.outputs == {"r": [{"said": "a!", "at": 0}, {"said": "b!", "at": 1}]}, result.error


async def test_loop_goes_on_while_its_condition_holds() -> None:
    made = workflow(loop(BELOW_TWO), o=["lp", "out"], n=["lp", "_iterations"])

    result = await ran(made, items=[])

    assert result.outputs == {"o": {"text": "a!!!", "n": 2}, "n": 3}, result.error


async def test_loop_out_of_rounds_fails() -> None:
    result = await ran(workflow(loop(BELOW_TWO, max_iterations=2), o=["lp", "out"]), items=[])

    assert (result.error_type, result.error) == ("LoopLimitError", "Max iterations 2 exceeded")


async def test_loop_whose_condition_makes_no_sense_ends() -> None:
    condition = {**BELOW_TWO, "variable_selector": ["loop", "text"]}

    result = await ran(workflow(loop(condition), o=["lp", "out"]), items=[])

    assert result.outputs == {"o": {"text": "a", "n": -1}}


def nested() -> dict[str, Any]:
    inner = iteration()
    return data("outer", "iteration", input_selector="start.items", output_variable="all", sub_graph={
        "nodes": [
            body_node("start", "start"),
            body_node("words", "template-transform", **shout("item")),
            {"id": "each", "type": "iteration",
             "data": {**inner["data"], "input_selector": ["__scope__", "item"]}},
            body_node("end", "end", **outputs(w=["words", "output"], r=["each", "results"])),
        ],
        "edges": wires(["start -> words", "words -> each", "each -> end"]),
    })  # fmt: skip


async def test_containers_in_containers_have_bodies_of_their_own() -> None:
    result = await ran(workflow(nested(), r=["outer", "all"]), items=[["a"], ["b", "c"]])

    first, second = result.outputs["r"]
    assert first == {"w": "['a']!", "r": [{"said": "a!", "at": 0}]}
    assert [round_["said"] for round_ in second["r"]] == ["b!", "c!"]


def children(document: Document) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for node in document.nodes:
        if node.parent:
            found.setdefault(node.parent, []).append(f"{node.id}: {node.kind}")
    return found


def test_body_is_read_as_nodes_with_ids_of_their_own() -> None:
    document = load_document(workflow(nested(), r=["outer", "all"])).document

    assert children(document) == {
        "outer": [
            "outer_start: iteration-start",
            "words: template-transform",
            "each: iteration",
            "outer_end: end",
        ],
        "each": ["each_start: iteration-start", "t: template-transform", "each_end: end"],
    }
    assert len({edge.id for edge in document.edges}) == len(document.edges) == 7


def test_references_follow_a_node_that_was_renamed() -> None:
    container = iteration()
    graph = container["data"]["sub_graph"]
    graph["nodes"].insert(1, body_node("up", "template-transform", **shout(["start", "items"])))
    graph["nodes"][2]["data"] = {
        "prompt": "{{#up.output#}}",
        **shout(["up", "output"]),
    }
    graph["nodes"][2]["type"] = "template-transform"
    made = workflow(container, r=["each", "results"])
    made["nodes"].append(data("up", "template-transform", **shout(["start", "items"])))

    document = load_document(made).document

    nodes = {node.id: node for node in document.nodes}
    assert nodes["each_up"].data["variables"][0]["value_selector"] == ["start", "items"]
    assert nodes["t"].data["variables"][0]["value_selector"] == ["each_up", "output"]
    assert nodes["t"].data["prompt"] == "{{#each_up.output#}}"
    assert build_tree(document, Dialect.XWORKFLOW) == made


@pytest.mark.parametrize(
    "container",
    [
        iteration(parallel=True, parallelism=3, error_handle_mode="continue_on_error"),
        loop(BELOW_TWO),
        {**nested(), "data": {**nested()["data"], "input_selector": ["start", "items"]}},
    ],
)
def test_body_is_written_back_as_it_was(container: dict[str, Any]) -> None:
    made = workflow(container, r=[container["id"], "x"])
    document = load_document(made).document
    if container["id"] == "outer":  # selectors written as text come back as lists
        for node in made["nodes"][1]["data"]["sub_graph"]["nodes"]:
            for variable in node["data"].get("variables", []):
                variable["value_selector"] = ["__scope__", "item"]

    assert build_tree(document, Dialect.XWORKFLOW) == made
    assert not [
        p
        for p in export_document(document, kinds=KNOWN_KINDS).warnings
        if p.code == "export.container"
    ]


def test_document_goes_through_dify_and_back() -> None:
    made = workflow(iteration(), r=["each", "results"])
    document = load_document(made).document

    exported = export_document(document, Dialect.DIFY, kinds=KNOWN_KINDS)
    back = load_document(exported.text).document

    assert [problem.code for problem in exported.warnings] == ["export.container"]
    assert build_tree(back, Dialect.XWORKFLOW)["nodes"] == made["nodes"]


@pytest.mark.parametrize("graph", [None, 3, {"nodes": 1}, {"nodes": [{"data": {}}]},
                                   {"nodes": [], "edges": [7]}])  # fmt: skip
def test_body_that_is_no_graph_is_kept_and_refused(graph: Any) -> None:
    made = workflow(
        {**iteration(), "data": {**iteration()["data"], "sub_graph": graph}}, r=["a", "b"]
    )

    document = load_document(made).document

    problems = select_errors(validate(document, build_kinds()))
    assert [(p.code, p.node, p.field) for p in problems] == [
        ("container.start_missing", "each", "start_node_id")
    ]
    assert build_tree(document)["nodes"][1]["data"]["sub_graph"] == graph


def test_container_inside_itself_is_not_lost() -> None:
    data = {"type": "iteration", "input_selector": ["start", "a"]}
    nodes = [
        {"id": "start", "data": {"type": "start"}},
        {"id": "a", "parentId": "a", "data": data},
        {"id": "b", "parentId": "a", "data": {"type": "end", "outputs": []}},
    ]
    document = load_document({"version": "0.1.0", "nodes": nodes, "edges": []}).document

    again = load_document(dump_document(document)).document

    assert [node.id for node in again.nodes] == ["start", "a", "b"]


def test_node_whose_id_another_has_is_kept_where_it_is() -> None:
    nodes = [
        {"id": "each", "data": {"type": "iteration", "input_selector": ["start", "q"]}},
        {"id": "twin", "data": {"type": "code", "title": "inside"}, "parentId": "each"},
        {"id": "only", "data": {"type": "code", "title": "alone"}, "parentId": "each"},
        {"id": "twin", "data": {"type": "code", "title": "outside"}},
    ]
    document = load_document({"version": "0.1.0", "nodes": nodes, "edges": []}).document

    stored = load_document(build_tree(document, include_secrets=True)).document

    expected = [("each", ""), ("only", "alone"), ("twin", "inside"), ("twin", "outside")]
    assert sorted((node.id, node.title) for node in stored.nodes) == expected
    assert load_document(build_tree(stored, include_secrets=True)).document == stored
