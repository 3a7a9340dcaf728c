"""What a pin of a missing node type begins with: the outputs that later nodes read, with values of their types."""

from tests.support.documents import answer, branch, document, end, iteration, node, start, template
from workflows.engine.foreign_kinds.read_outputs import build_pin_template, list_read_outputs
from workflows.engine.language.dependencies import list_sources
from workflows.engine.nodes import build_kinds


KINDS = build_kinds()
NODES = (
    start("q"),
    node("sort", "mail-sorter", rule="{{#start.q#}}"),
    answer("a", "{{#sort.folder#}} {{#start.q#}} {{#sort.error_message#}}"),
    iteration("each", ["sort", "mails"], None),
    template("t", "{{ n }}", n=["sort", "sender", "name"]),
    node("c", "if-else", cases=[{"case_id": "true", "conditions": [
        {"variable_selector": ["sort", "count"], "comparison_operator": ">", "value": "3"},
    ]}]),
    end(first=["sort", "folder"]),
    node("o", "end", outputs=[
        {"variable": "ok", "value_selector": ["sort", "ok"], "value_type": "boolean"},
        {"variable": "files", "value_selector": ["sort", "files"]},
    ]),
)  # fmt: skip


def test_outputs_that_others_read_have_the_types_of_their_places():
    outputs = list_read_outputs(NODES, KINDS, "sort")

    assert {output.name: output.type for output in outputs} == {
        "folder": "string",
        "mails": "array[any]",
        "sender": "object",
        "count": "number",
        "ok": "boolean",
        "files": "array[file]",
    }


def test_pin_begins_with_an_empty_value_for_each_output_that_is_read():
    assert build_pin_template(NODES, KINDS, "sort") == {
        "folder": "",
        "mails": [],
        "sender": {"name": ""},
        "count": 0,
        "ok": False,
        "files": [],
    }


def test_node_that_nobody_reads_has_an_empty_pin():
    assert build_pin_template([start("q"), branch("b", ["start", "q"], "x")], KINDS, "sort") == {}


def test_nodes_behind_a_placeholder_are_offered_what_is_read_from_it():
    drawn = document(NODES, ["start -> sort", "sort -> a", "sort -> end"])

    [source] = [each for each in list_sources(drawn, KINDS, "end") if each.id == "sort"]

    assert [".".join(each.selector) for each in source.variables][:2] == [
        "sort.folder",
        "sort.mails",
    ]
