"""A node of a missing type is replaced: what fits the new node is taken over, and what is lost or breaks is named."""

from tests.support.documents import answer, document, end, node, start
from workflows.engine.foreign_kinds.replacement import Rename, Replacement, plan_replacement
from workflows.engine.language.document import NodeSpec
from workflows.engine.nodes import build_kinds


KINDS = build_kinds()


def plan(kind: str, *readers: NodeSpec, edges: tuple[str, ...] = (), **data: object) -> Replacement:
    spec = node("sort", "mail-sorter", plugin_id="acme/mail", **data)
    drawn = document([start("q"), spec, *readers], ["start -> sort", *edges])
    return plan_replacement(drawn, KINDS, spec, KINDS[kind])


def test_settings_with_a_name_and_a_type_of_the_new_node_are_kept():
    planned = plan(
        "http-request",
        url="https://example.test/{{#start.q#}}",
        method="post",
        headers=7,
        rules=[{"from": "x"}],
        desc="Sorts mail",
    )

    assert planned.data == {
        "url": "https://example.test/{{#start.q#}}",
        "method": "post",
        "desc": "Sorts mail",
    }
    assert set(planned.kept_labels) == {"URL", "Method"}
    assert planned.lost == ("headers", "rules")


def test_arguments_are_kept_as_the_new_node_stores_them():
    arguments = {
        "url": {"type": "variable", "value": ["start", "q"]},
        "depth": {"type": "constant", "value": 3},
    }

    planned = plan("http-request", tool_parameters=arguments)

    assert planned.data == {"url": "{{#start.q#}}"}
    assert planned.lost == ("tool_parameters › depth",)


def test_handling_of_failures_is_kept():
    planned = plan("http-request", error_strategy="fail-branch", retry_config={"max_retries": 2})

    assert planned.data == {"error_strategy": "fail-branch", "retry_config": {"max_retries": 2}}
    assert planned.lost == ()


def test_outputs_that_others_read_and_the_new_node_lacks_are_named_with_their_readers():
    readers = (answer("a", "{{#sort.body#}} {{#sort.folder#}}"), end("e", o=["sort", "body"]))

    planned = plan("http-request", *readers)

    assert planned.missing_outputs == ("folder",)
    assert planned.readers == ("a",)


def test_output_of_the_same_type_takes_the_place_of_the_one_that_is_read():
    readers = (
        answer("a", "{{#sort.folder#}}, {{#start.q#}}"),
        end("e", o=["sort", "folder"]),
    )

    planned = plan("template-transform", *readers)

    assert planned.renames == (Rename("folder", "output", ("a", "e")),)
    assert (planned.missing_outputs, planned.readers) == ((), ())
    assert set(planned.changes) == {
        ("a", ("answer",), "{{#sort.output#}}, {{#start.q#}}"),
        ("e", ("outputs", 0, "value_selector", 1), "output"),
    }


def test_outputs_are_not_renamed_if_several_are_missing_or_of_another_type_or_pinned():
    numbers = end("e", o=["sort", "count"])
    two = answer("a", "{{#sort.folder#}} {{#sort.label#}}")
    spec = node("sort", "mail-sorter")
    pinned = document([start("q"), spec, answer("a", "{{#sort.folder#}}")], ["start -> sort"])
    kind = KINDS["template-transform"]

    assert plan("template-transform", two).missing_outputs == ("folder", "label")
    assert plan("knowledge-retrieval", answer("a", "{{#sort.folder#}}")).renames == ()
    assert plan_replacement(pinned, KINDS, spec, kind, may_rename=False).renames == ()
    assert plan("template-transform", numbers).renames == (Rename("count", "output", ("e",)),)


def test_outputs_of_different_types_are_renamed_each_and_the_rest_is_named():
    readers = (
        answer("a", "{{#sort.page#}} {{#sort.score#}}"),
        node("i", "if-else", cases=[{"case_id": "true", "logical_operator": "and", "conditions": [
            {"variable_selector": ["sort", "score"], "comparison_operator": ">", "value": "3"}]}]),
        node("t", "iteration", iterator_selector=["sort", "json"]),
    )  # fmt: skip

    planned = plan("http-request", *readers)

    assert planned.renames == (
        Rename("page", "body", ("a",)),
        Rename("score", "status_code", ("a", "i")),
    )
    assert planned.missing_outputs == ("json",)
    assert planned.readers == ("t",)
    assert {name: value for name, path, value in planned.changes if path == ("answer",)} == {
        "a": "{{#sort.body#}} {{#sort.status_code#}}"
    }


def test_code_declares_and_returns_what_others_read():
    planned = plan("code", answer("a", "{{#sort.folder#}}"), end("e", o=["sort", "folder"]))

    assert planned.missing_outputs == ()
    assert planned.data["outputs"] == {"folder": {"type": "string"}}
    assert KINDS["code"].check(NodeSpec("n", "code", dict(planned.data))) == []
    names: dict[str, object] = {}
    exec(planned.data["code"], names)
    assert names["main"]() == {"folder": ""}  # type: ignore[operator]


def test_branches_that_the_new_node_lacks_are_named():
    edges = ("sort:spam -> a", "sort:inbox -> b")

    planned = plan("http-request", answer("a", "x"), answer("b", "y"), edges=edges)

    assert planned.lost_handles == ("spam", "inbox")
    assert plan("http-request", answer("a", "x"), edges=edges[:1]).lost_handles == ()
