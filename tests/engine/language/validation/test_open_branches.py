"""A branch that leads nowhere is warned of, unless the run has its output without it."""

from dataclasses import replace

from tests.support.cases import for_each
from tests.support.documents import document, node, start
from workflows.engine.language.problems import select_errors
from workflows.engine.language.validation import validate
from workflows.engine.nodes import build_kinds


KINDS = build_kinds()
START = start("q")
CONDITION = {"variable_selector": ["start", "q"], "comparison_operator": "is", "value": "a"}
CHOICE = node("if", "if-else", cases=[{"case_id": "a", "conditions": [CONDITION]}])
CLASSES = node(
    "sort",
    "question-classifier",
    model={"provider": "offline", "name": "offline"},
    query_variable_selector=["start", "q"],
    classes=[{"id": "1", "name": "Billing"}, {"id": "2", "name": "Support"}],
)
PERSON = node("ask", "human-input", form_content="Yes?", user_actions=[{"id": "y", "title": "Yes"}])
RISKY = node("t", "template-transform", template="x", variables=[], error_strategy="fail-branch")
END = node("end", "end", outputs=[{"variable": "o", "value_selector": ["start", "q"]}])
END_2 = node("end2", "end", outputs=[{"variable": "o", "value_selector": ["start", "q"]}])
STORE = node("later", "template-transform", template="x", variables=[])

# What is drawn: nodes, edges → the open branches that are warned of, by node.
TABLE = [
    ([CHOICE, END], ["start -> if", "if:a -> end"], [("if", "Else")]),
    ([CHOICE, END], ["start -> if", "if:false -> end"], [("if", "If q is a")]),
    ([CHOICE, END], ["start -> if", "if:a -> end", "if:false -> end"], []),
    ([CLASSES, END], ["start -> sort", "sort:1 -> end"], [("sort", "Support")]),
    ([PERSON, END], ["start -> ask", "ask:y -> end"], [("ask", "Timeout")]),
    ([RISKY, END], ["start -> t", "t -> end"], [("t", "On failure")]),
    # Of a node of which no branch leads anywhere there is one warning.
    ([PERSON, CHOICE, END], ["start -> ask", "ask:y -> if", "ask:__timeout -> end"], [("if", "")]),
    # The output is given before, or on a path beside.
    ([END, CHOICE, STORE], ["start -> end", "end -> if", "if:a -> later"], []),
    ([END, CHOICE, STORE], ["start -> end", "start -> if", "if:a -> later"], []),
    # It is given beside in some runs only.
    (
        [PERSON, END, CHOICE, END_2],
        ["start -> ask", "ask:y -> end", "ask:__timeout -> if", "if:a -> end2"],
        [("if", "Else")],
    ),
]


@for_each("nodes, edges, expected", TABLE)
def test_open_branch_is_a_warning_at_its_node(nodes, edges, expected):
    problems = validate(document([START, *nodes], edges), KINDS)

    found = [problem for problem in problems if problem.code == "branch.open"]
    assert [(problem.node, problem.is_error) for problem in found] == [
        (node_id, False) for node_id, _label in expected
    ]
    for problem, (_node_id, label) in zip(found, expected, strict=True):
        assert problem.message.startswith(f"The branch {label} leads" if label else "No branch")
    assert select_errors(problems) == []


def test_branch_inside_a_container_may_be_open():
    """The next round begins then."""
    drawn = document(
        [
            START,
            node("loop", "loop", loop_count=2, break_conditions=[], start_node_id="if"),
            replace(CHOICE, parent="loop"),
            replace(node("stop", "loop-end"), parent="loop"),
            END,
        ],
        ["start -> loop", "loop -> end", "if:a -> stop"],
    )

    assert [p for p in validate(drawn, KINDS) if p.code == "branch.open"] == []
