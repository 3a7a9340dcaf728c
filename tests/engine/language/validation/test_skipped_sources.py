"""An answer that names a variable which a run may lack, because it took another branch, is warned of beforehand."""

import pytest

from tests.support.documents import (
    answer,
    branch,
    document,
    inside,
    iteration,
    node,
    start,
    template,
)
from workflows.engine.language.document import Document, Mode, NodeSpec
from workflows.engine.language.validation import validate
from workflows.engine.nodes import build_kinds


KINDS = build_kinds()
CODE = "reference.may_be_missing"


def chat(nodes: list[NodeSpec], edges: list[str]) -> Document:
    return document([start("q"), *nodes], edges, mode=Mode.CHAT, conversation={"v": ("array[string]", [])})  # fmt: skip


def warned(made: Document) -> list[tuple[str | None, str | None, str]]:
    found = [problem for problem in validate(made, KINDS) if problem.code == CODE]
    return [(problem.node, problem.field, problem.message.split(" ")[0]) for problem in found]


ORDER = template("order", "order")
KNOWN = branch("known", ["start", "q"], "x")
WEB = node("web", "http-request", url="https://x.test", error_strategy="fail-branch")


def test_answer_after_another_branch_is_warned_of_at_its_field() -> None:
    made = chat(
        [KNOWN, ORDER, answer("say", "{{#order.output#}} {{#start.q#}} {{#known.result#}}")],
        ["start -> known", "known:true -> order", "order -> say", "known:false -> say"],
    )

    assert warned(made) == [("say", "answer", "order.output")]
    message = next(p.message for p in validate(made, KINDS) if p.code == CODE)
    assert message == (
        "order.output may be missing: a run can come here from known without it;"
        " the reply then shows the name instead"
    )


def test_output_of_a_failed_node_is_missing_after_its_failure() -> None:
    made = chat(
        [WEB, answer("say", "{{#web.body#}} {{#web.error_message#}}")],
        ["start -> web", "web -> say", "web:fail-branch -> say"],
    )

    assert warned(made) == [("say", "answer", "web.body")]


@pytest.mark.parametrize(
    ("nodes", "edges"),
    [
        # in the branch itself
        ([KNOWN, ORDER, answer("say", "{{#order.output#}}")],
         ["start -> known", "known:true -> order", "order -> say"]),
        # beside the branch
        ([KNOWN, ORDER, answer("say", "{{#order.output#}}")],
         ["start -> known", "start -> order", "order -> say", "known:true -> say"]),
        # both branches lead to it
        ([KNOWN, ORDER, answer("say", "{{#order.output#}}")],
         ["start -> known", "known:true -> order", "known:false -> order", "order -> say"]),
        # what the branch leads to ends without an answer
        ([KNOWN, ORDER, template("other", "x"), answer("say", "{{#order.output#}}")],
         ["start -> known", "known:true -> order", "order -> say", "known:false -> other"]),
        # the failure goes elsewhere
        ([WEB, answer("say", "{{#web.body#}}"), answer("sorry", "{{#web.error_message#}}")],
         ["start -> web", "web -> say", "web:fail-branch -> sorry"]),
        # only answers print names
        ([KNOWN, ORDER, template("text", "{{ o }}", o=["order", "output"]), answer("say", "hi")],
         ["start -> known", "known:true -> order", "order -> text", "known:false -> text", "text -> say"]),
    ],
)  # fmt: skip
def test_output_that_every_run_to_the_answer_has_is_not_warned_of(
    nodes: list[NodeSpec], edges: list[str]
) -> None:
    assert warned(chat(nodes, edges)) == []


def test_answer_in_a_round_is_warned_of_what_lies_outside_and_inside() -> None:
    inner = branch("odd", ["each", "item"], "x")
    made = chat(
        [
            KNOWN,
            ORDER,
            *inside(
                iteration("each", ["conversation", "v"], None),
                inner,
                template("note", "note"),
                answer("say", "{{#order.output#}} {{#note.output#}} {{#each.item#}}"),
            ),
        ],
        ["start -> known", "known:true -> order", "order -> each", "known:false -> each",
         "eachstart -> odd", "odd:true -> note", "note -> say", "odd:false -> say"],
    )  # fmt: skip

    assert warned(made) == [("say", "answer", "order.output"), ("say", "answer", "note.output")]
