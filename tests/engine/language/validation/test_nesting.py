"""Mistakes about containers: their start, what lies where, and what can be seen across their border."""

from tests.engine.language.validation.test_validate import (
    END,
    START,
    edge,
    node,
    problems_of,
    template,
)
from tests.support.cases import for_each


def box(kind="iteration", node_id="box", **data):
    given = {"iterator_selector": ["sys", "files"]} if kind == "iteration" else {"loop_count": 2}
    return node(node_id, kind, **{**given, **data})


def held(made, parent="box"):
    return {**made, "parentId": parent}


BEGIN = held(node("begin", "iteration-start"))
AROUND = [edge("start", "box"), edge("box", "end")]
SOUND = [START, box(start_node_id="begin", output_selector=["box", "item"]), BEGIN,
         held(template("t", "box", "item")), END]  # fmt: skip

# name, nodes, edges, what is found: code, node, field, edge, is an error
TABLE = [
    ("nothing inside", [START, box(), END], AROUND,
     ("container.start_missing", "box", "start_node_id", None, True)),
    ("start is no node", [START, box(start_node_id="gone"), BEGIN, END], AROUND,
     ("container.start_unknown", "box", "start_node_id", None, True)),
    ("start lies elsewhere", [START, box(start_node_id="end"), BEGIN, END], AROUND,
     ("container.start_unknown", "box", "start_node_id", None, True)),
    ("start isn't clear", [START, box(), held(template("a")), held(template("b")), END], AROUND,
     ("container.start_missing", "box", "start_node_id", None, True)),
    ("edge out of a container", SOUND, [*AROUND, edge("t", "end", id="e")],
     ("edge.crosses", None, None, "e", True)),
    ("edge into a container", SOUND, [*AROUND, edge("start", "t", id="e")],
     ("edge.crosses", None, None, "e", True)),
    ("inside itself", [START, held(box(start_node_id="begin")), BEGIN, END], AROUND,
     ("node.parent_circle", "box", None, None, True)),
    ("start of a round outside", [START, node("begin", "loop-start"), END], [edge("start", "end")],
     ("node.misplaced", "begin", None, None, True)),
    ("loop's end in an iteration", [*SOUND, held(node("leave", "loop-end"))], AROUND,
     ("node.misplaced", "leave", None, None, True)),
    ("start of a run inside", [*SOUND, held(node("begin2", "start"))], AROUND,
     ("node.misplaced", "begin2", None, None, True)),
    ("look inside from outside", [*SOUND, template("o", "t", "output")], [*AROUND, edge("box", "o")],
     ("reference.inside_container", "o", "variables.0.value_selector", None, False)),
    ("item from outside", [*SOUND, template("o", "box", "item")], [*AROUND, edge("box", "o")],
     ("reference.unknown_variable", "o", "variables.0.value_selector", None, False)),
    ("output from inside", [*SOUND, held(template("i", "box", "output"))],
     [*AROUND, edge("begin", "i")],
     ("reference.unknown_variable", "i", "variables.0.value_selector", None, False)),
    ("unreached inside", SOUND, AROUND, ("node.unreachable", "t", None, None, False)),
    ("no rounds", [START, box("loop", loop_count=0), held(node("b", "loop-start")), END], AROUND,
     ("config.greater_than_equal", "box", "loop_count", None, True)),
    ("unknown error mode", [START, box(error_handle_mode="hope"), BEGIN, END], AROUND,
     ("config.enum", "box", "error_handle_mode", None, True)),
    ("unknown operator", [START, box("loop", break_conditions=[
        {"variable_selector": ["box", "n"], "comparison_operator": "near", "value": 1}]),
        held(node("b", "loop-start")), END], AROUND,
     ("condition.invalid", "box", "break_conditions.0.comparison_operator", None, True)),
    ("constant of another type", [START, box("loop", loop_variables=[
        {"label": "n", "var_type": "number", "value_type": "constant", "value": "many"}]),
        held(node("b", "loop-start")), END], AROUND,
     ("loop.variable", "box", "loop_variables.0.value", None, True)),
    ("variable twice", [START, box("loop", loop_variables=[
        {"label": "n", "var_type": "number", "value": 1}, {"label": "n", "var_type": "number",
                                                           "value": 2}]),
        held(node("b", "loop-start")), END], AROUND,
     ("loop.variable", "box", "loop_variables.1.label", None, True)),
    ("iteration with its start alone", [START, box(), BEGIN, END], AROUND,
     ("container.empty", "box", None, None, False)),
    ("loop with its start alone", [START, box("loop"), held(node("b", "loop-start")), END], AROUND,
     ("container.empty", "box", None, None, False)),
    ("empty container in another", [*SOUND, held(box("loop", "inner")),
                                    held(node("b", "loop-start"), "inner")], AROUND,
     ("container.empty", "inner", None, None, False)),
]  # fmt: skip


@for_each("nodes, edges, expected", [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_mistake_about_a_container_is_addressed(nodes, edges, expected):
    found = problems_of(nodes, edges)

    told = [(p.code, p.node, p.field, p.edge, p.is_error) for p in found]
    assert expected in told


def test_empty_container_says_what_to_do():
    problems = problems_of([START, box(), BEGIN, END], AROUND)

    (empty,) = [problem for problem in problems if problem.code == "container.empty"]
    assert "add a node with the + of the start inside" in empty.message


def test_sound_container_has_no_problems():
    assert problems_of(SOUND, [*AROUND, edge("begin", "t")]) == []


def test_containers_too_deep_in_one_another_are_refused():
    nodes, edges = [START, END], [edge("start", "c0"), edge("c0", "end")]
    for depth in range(12):
        made = box("loop", f"c{depth}")
        nodes.append(held(made, f"c{depth - 1}") if depth else made)
        nodes.append(held(node(f"s{depth}", "loop-start"), f"c{depth}"))
        if depth:
            edges.append(edge(f"s{depth - 1}", f"c{depth}"))

    too_deep = {p.node for p in problems_of(nodes, edges) if p.code == "node.too_deep"}

    assert too_deep == {"s10", "c11", "s11"}
