import pytest

from tests.support.cases import for_each
from tests.support.steps import count_steps
from workflows.engine.language.dsl import load_document
from workflows.engine.language.problems import Severity
from workflows.engine.language.validation import validate
from workflows.engine.nodes import build_kinds


KINDS = build_kinds()


def node(node_id, kind, **data):
    parent = {"parentId": data.pop("parent")} if "parent" in data else {}
    return {"id": node_id, "data": {"type": kind, **data}, **parent}


START = node("start", "start", variables=[{"variable": "q", "type": "paragraph"}])
END = node("end", "end", outputs=[{"variable": "o", "value_selector": ["start", "q"]}])


def edge(source, target, **more):
    return {"source": source, "target": target, **more}


def problems_of(nodes, edges, kinds=KINDS, **more):
    tree = {"version": "0.1.0", "nodes": nodes, "edges": edges, **more}
    return validate(load_document(tree).document, kinds)


def template(node_id, *selector):
    variables = [{"variable": "v", "value_selector": list(selector)}] if selector else []
    return node(node_id, "template-transform", template="{{ v }}", variables=variables)


def answer(text):
    return node("a", "answer", answer=text)


def test_validate_sound_document_has_no_problems():
    assert problems_of([START, END], [edge("start", "end")]) == []


WIRED = [edge("start", "t"), edge("t", "end")]

# name, nodes, edges, what is found: code, node, edge, is an error
TABLE = [
    ("no start", [END], [], ("root.missing", None, None, True)),
    ("two starts", [START, node("s2", "start"), END], [edge("start", "end"), edge("s2", "end")],
     ("root.several", "s2", None, True)),
    ("start and trigger", [START, node("w", "trigger-webhook"), END],
     [edge("start", "end"), edge("w", "end")], ("root.mixed", "w", None, True)),
    ("unknown kind", [START, node("t", "lmm"), END], WIRED, ("kind.unknown", "t", None, False)),
    ("circle", [START, template("t"), template("u"), END],
     [*WIRED, edge("t", "u"), edge("u", "t")], ("graph.cycle", None, None, True)),
    ("repeated node", [START, START, END], [edge("start", "end")],
     ("node.duplicate_id", "start", None, True)),
    ("repeated edge id", [START, END], [edge("start", "end", id="e"), edge("start", "end", id="e")],
     ("edge.duplicate_id", None, "e", True)),
    ("edge twice", [START, END], [edge("start", "end", id="e"), edge("start", "end", id="f")],
     ("edge.duplicate", None, "f", False)),
    ("edge to nothing", [START, END], [edge("start", "end"), edge("start", "gone", id="e")],
     ("edge.dangling", None, "e", True)),
    ("edge from nothing", [START, END], [edge("start", "end"), {"target": "end", "id": "e"}],
     ("edge.ends", None, "e", True)),
    ("edge without a target", [START, END], [edge("start", "end"), edge("start", None, id="e")],
     ("edge.ends", None, "e", True)),
    ("edge without ends", [START, END], [edge("start", "end"), {"id": "e"}],
     ("edge.ends", None, "e", True)),
    ("reserved id", [START, END, template("sys")], [edge("start", "end"), edge("start", "sys")],
     ("node.id_reserved", "sys", None, True)),
    ("unreachable", [START, END, template("t")], [edge("start", "end")],
     ("node.unreachable", "t", None, False)),
    ("no end", [START], [], ("mode.no_end", None, None, False)),
    ("parent unknown", [START, END, node("t", "template-transform", template="", parent="box")],
     [edge("start", "end")], ("node.parent_unknown", "t", None, True)),
    ("parent holds nothing", [START, END, node("t", "template-transform", template="", parent="end")],
     [edge("start", "end")], ("node.parent_kind", "t", None, True)),
    ("unknown handle", [START, template("t"), END],
     [edge("start", "t"), edge("t", "end", id="e", source_handle="yes")],
     ("edge.handle", "t", "e", False)),
    ("unknown node in selector", [START, template("t", "strat", "q"), END], WIRED,
     ("reference.unknown_node", "t", None, False)),
    ("unknown output", [START, template("t", "start", "p"), END], WIRED,
     ("reference.unknown_variable", "t", None, False)),
    ("unknown system variable", [START, template("t", "sys", "querry"), END], WIRED,
     ("reference.unknown_variable", "t", None, False)),
    ("not upstream", [START, template("t", "u", "output"), template("u"), END],
     [*WIRED, edge("start", "u")], ("reference.not_upstream", "t", None, False)),
    ("unknown default strategy",
     [START, node("t", "template-transform", template="", error_strategy="sometimes"), END], WIRED,
     ("policy.invalid", "t", None, True)),
]  # fmt: skip


@for_each("nodes, edges, expected", [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_validate_mistake_is_addressed(nodes, edges, expected):
    found = problems_of(nodes, edges)

    code, where, wire, is_error = expected
    matching = [problem for problem in found if problem.code == code]
    assert matching, found
    assert matching[0].node == where or where is None
    assert matching[0].edge == wire or wire is None
    assert matching[0].is_error is is_error


@pytest.mark.parametrize(("name", "is_known"), [("sys.files", True), ("sys.querry", False)])
def test_validate_knows_system_variables_as_outputs_of_start(name, is_known):
    found = problems_of([START, template("t", "start", name), END], WIRED)

    codes = [problem.code for problem in found if problem.node == "t"]
    assert codes == ([] if is_known else ["reference.unknown_variable"])


def test_validate_tells_everything_at_once_errors_first():
    found = problems_of(
        [START, node("t", "lmm"), answer("{{#strat.q#}} {{#start-1.q#}}")],
        [edge("start", "a"), edge("a", "ghost", id="e")],
    )

    severities = [problem.severity for problem in found]
    assert severities == sorted(severities, key=[Severity.ERROR, Severity.WARNING].index)
    assert {problem.code for problem in found} == {
        *("kind.unknown", "edge.dangling", "node.unreachable"),
        *("reference.unknown_node", "reference.malformed"),
    }


@pytest.mark.parametrize(
    ("written", "suggestion"),
    [("{{#strat.q#}}", "start.q"), ("{{#start.Q#}}", None), ("{{#sys.querry#}}", "sys.query")],
)
def test_validate_reference_suggests_the_likely_one(written, suggestion):
    found = problems_of([START, answer(written)], [edge("start", "a")])

    assert [problem.field for problem in found] == ["answer"]
    assert (f"did you mean {suggestion}?" in found[0].message) is (suggestion is not None)


@pytest.mark.parametrize(
    ("written", "reference"),
    [("Hello {{", "{{"), ("{{ name", "{{"), ("Hi {{#start.q", "{{#start.q"), ("{{ name }}", None)],
)
def test_validate_reference_that_is_not_closed_is_a_problem(written, reference):
    found = problems_of([START, answer(written)], [edge("start", "a")])

    message = f"{reference} is not closed with #}}}} and is kept as text"
    assert [(each.code, each.message) for each in found] == (
        [("reference.unclosed", message)] if reference else []
    )


def test_validate_fail_branch_gives_a_handle_and_error_outputs():
    guarded = {**template("t")["data"], "error_strategy": "fail-branch"}
    nodes = [START, {"id": "t", "data": guarded}, END, template("u", "t", "error_message")]
    edges = [*WIRED, edge("t", "u", source_handle="fail-branch")]

    assert problems_of(nodes, edges) == []


def test_validate_unknown_variable_of_the_conversation_is_named():
    variables = [{"name": "history", "type": "array[object]", "default": []}]

    found = problems_of(
        [START, answer("{{#conversation.histroy#}}")],
        [edge("start", "a")],
        conversation_variables=variables,
    )

    assert "did you mean conversation.history?" in found[0].message


def test_validate_variables_of_the_document():
    found = problems_of(
        [START, END],
        [edge("start", "end")],
        conversation_variables=[
            {"name": "a", "type": "string", "default": "x"},
            {"name": "a", "type": "string", "default": "x"},
            {"name": "f", "type": "file"},
            {"name": "n", "type": "number", "default": "many"},
            {"name": "d", "type": "string", "description": "d" * 256},
            {"name": "s", "type": "string", "default": "s" * 200_001},
        ],
    )

    assert [(problem.code, problem.field) for problem in found] == [
        ("variable.duplicate", "conversation_variables.0"),
        ("variable.duplicate", "conversation_variables.1"),
        ("variable.type", "conversation_variables.2"),
        ("variable.description", "conversation_variables.4"),
        ("variable.size", "conversation_variables.5"),
        ("variable.value", "conversation_variables.3"),
    ]


def test_validate_without_memory_names_its_kinds_and_fields_unknown():
    recall = node("r", "memory-recall", scope="conversation", query_selector=["start", "q"])
    model = {"provider": "p", "name": "m"}
    prompt = [{"role": "user", "text": "hi"}]
    llm = node("l", "llm", model=model, prompt_template=prompt, enhanced_memory={"enabled": True})
    nodes, edges = [START, recall, llm, END], [edge("start", "r"), edge("r", "l"), edge("l", "end")]

    with_memory = problems_of(nodes, edges)
    without = problems_of(nodes, edges, build_kinds(memory=False))

    assert with_memory == []
    assert [(problem.code, problem.node, problem.field) for problem in without] == [
        ("config.unknown_field", "l", "enhanced_memory"),
        ("kind.unknown", "r", "type"),
    ]
    assert "memory-recall" in without[1].message


def test_validate_largest_document_is_quick():
    nodes = [START, *(template(f"n{i}", "start", "q") for i in range(498)), END]
    edges = [edge("start", "n0"), *(edge(f"n{i}", f"n{i + 1}") for i in range(497))]
    edges += [edge(f"n{i}", f"n{j}") for i in range(100) for j in range(i + 2, i + 16)]
    with count_steps(5_000_000):
        found = problems_of(nodes, [*edges, edge("n497", "end")])

    assert found == []


@pytest.mark.parametrize(
    ("scope", "found"), [("usr", True), ("user", False), ("workflow", False), ("tenant", True)]
)
def test_validate_memory_scope_nobody_knows_is_a_problem_of_its_field(scope, found):
    recall = node("r", "memory-recall", scope=scope)
    store = node("s", "memory-store", scope=scope, key="k", value_selector=["start", "q"])
    model = {"provider": "p", "name": "m"}
    prompt = [{"role": "user", "text": "hi"}]
    memory = {"enabled": True, "scope": scope}
    llm = node("l", "llm", model=model, prompt_template=prompt, enhanced_memory=memory)
    edges = [edge("start", "r"), edge("r", "s"), edge("s", "l"), edge("l", "end")]

    problems = problems_of([START, recall, store, llm, END], edges)

    addresses = [(one.code, one.node, one.field) for one in problems if one.is_error]
    assert addresses == found * [
        ("config.unknown_scope", "r", "scope"),
        ("config.unknown_scope", "s", "scope"),
        ("config.unknown_scope", "l", "enhanced_memory.scope"),
    ]
    assert all(
        one.message.endswith("Scope must be one of: Conversation, User, Global, Workflow, Run")
        for one in problems
    )


def test_validate_memory_scope_a_plug_in_added_is_known():
    recall = node("r", "memory-recall", scope="tenant")
    kinds = build_kinds(scopes=[("tenant", "Tenant")])

    assert problems_of([START, recall, END], [edge("start", "r"), edge("r", "end")], kinds) == []
