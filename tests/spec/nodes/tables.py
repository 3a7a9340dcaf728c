"""The rows. A backend that can run a ``Request`` passes all of them."""

import itertools
from collections.abc import Mapping
from typing import Any

from tests.spec.nodes.containers import ROWS as CONTAINERS
from tests.spec.nodes.people import ROWS as PEOPLE
from tests.spec.nodes.programs import PROGRAMS
from tests.spec.nodes.rows import Row
from tests.support.documents import (
    answer,
    assign,
    branch,
    document,
    end,
    llm,
    node,
    start,
    template,
)
from workflows.engine.language.document import Mode
from workflows.engine.testing.backends import Request


def _joined(q: str, expected: Mapping[str, Any]) -> Row:
    nodes = [start("q"), branch("if", ["start", "q"], "1"), template("yes", "YES"),
             template("no", "NO"),
             node("agg", "variable-aggregator", variables=[["yes", "output"], ["no", "output"]]),
             end(o=["agg", "output"], y=["yes", "output"])]  # fmt: skip
    edges = ["start -> if", "if:true -> yes", "if:false -> no", "yes -> agg", "no -> agg",
             "agg -> end"]  # fmt: skip
    return Row(f"join after q={q}", Request(document(nodes, edges), inputs={"q": q}), expected)


def _two_models() -> Row:
    nodes = [start(), llm("slow"), llm("fast"),
             answer("say", "1 {{#slow.text#}} 2 {{#fast.text#}} 3")]  # fmt: skip
    edges = ["start -> slow", "start -> fast", "slow -> say", "fast -> say"]
    mocks: dict[str, dict[str, Any]] = {
        "slow": {"outputs": {"text": "tick tock"}, "delay_s": 0.03},
        "fast": {"outputs": {"text": "zoom zoom"}},
    }
    said = "1 tick tock 2 zoom zoom 3"
    request = Request(document(nodes, edges, mode=Mode.CHAT), mocks=mocks)
    return Row("parallel streams in template order", request, {"answer": said}, stream=said)


def _assigned(operation: str, value: Any, source: str, kind: str, before: Any, after: Any) -> Row:
    nodes = [start(), assign("set", "v", operation, value, source), answer("say", "ok")]
    made = document(nodes, ["start -> set", "set -> say"], mode=Mode.CHAT,
                    conversation={"v": (kind, before)})  # fmt: skip
    return Row(
        f"assigner {operation} {kind}", Request(made), {"answer": "ok"}, conversation={"v": after}
    )


def _printed_after_assigner() -> Row:
    nodes = [start(), assign("set", "v", "set", "new", "constant"),
             answer("say", "v={{#conversation.v#}}")]  # fmt: skip
    made = document(nodes, ["start -> set", "set -> say"], mode=Mode.CHAT,
                    conversation={"v": ("string", "old")})  # fmt: skip
    return Row("conversation variable printed after its assigner", Request(made),
               {"answer": "v=new"}, stream="v=new", conversation={"v": "new"})  # fmt: skip


def _names_missing(name: str, said: str, *nodes: Any, edges: list[str], text: str) -> Row:
    """What is streamed is what is stored, also where a variable is missing."""
    made = document(
        [start("q"), *nodes, answer("say", text)], ["start -> if", "if:false -> say", *edges], mode=Mode.CHAT
    )  # fmt: skip
    request = Request(made, inputs={"q": ""})
    return Row(f"answer names what is missing, {name}", request, {"answer": said}, stream=said)


def _missing() -> list[Row]:
    known, order = branch("if", ["start", "q"], "x"), template("order", "{{ n }}", n=["start", "q"])
    edges = ["if:true -> order", "order -> say"]
    return [
        _names_missing("of a skipped node", "We looked for order.output.", known, order, edges=edges,
                       text="We looked for {{#order.output#}}."),
        _names_missing("deep in a skipped node", "<order.output.name> and .", known, order, edges=edges,
                       text="<{{#order.output.name#}}> and {{#start.q#}}."),
        _names_missing("of the form", "Dear start.name: bye", known, edges=[], text="Dear {{#start.name#}}: bye"),
        _names_missing("of a node that no path leads to", "order.output!", known, order, edges=["order -> say"],
                       text="{{#order.output#}}!"),
        _names_missing("of a node that is not there", "ghost.text", known, edges=[], text="{{#ghost.text#}}"),
    ]  # fmt: skip


def _groups() -> Row:
    groups = [
        {"group_name": "A", "variables": [["ghost", "x"], ["start", "q"]]},
        {"group_name": "B", "variables": [["ghost", "x"]]},
    ]
    agg = node("agg", "variable-aggregator",
               advanced_settings={"group_enabled": True, "groups": groups})  # fmt: skip
    nodes = [start("q"), agg, end(a=["agg", "A", "output"], b=["agg", "B", "output"])]
    request = Request(document(nodes, ["start -> agg", "agg -> end"]), inputs={"q": ""})
    return Row("aggregator groups, empty text counts", request, {"a": "", "b": None})


def _failing(name: str, *nodes: Any, **conversation: Any) -> Row:
    path = ["start", *(made.id for made in nodes)]
    edges = [f"{a} -> {b}" for a, b in itertools.pairwise(path)]
    made = document([start("q"), *nodes], edges, mode=Mode.CHAT, conversation=conversation)
    return Row(name, Request(made, inputs={"q": "x"}), status="failed")


ROWS = [
    _joined("1", {"o": "YES", "y": "YES"}),
    _joined("2", {"o": "NO", "y": None}),
    _two_models(),
    _assigned("set", "b", "constant", "string", "a", "b"),
    _assigned("over-write", ["start", "q"], "variable", "string", "a", None),
    _assigned("+=", 2, "constant", "number", 1, 3),
    _assigned("-=", 2, "constant", "number", 1, -1),
    _assigned("clear", None, "variable", "array[string]", ["a"], []),
    _assigned("remove-first", None, "variable", "array[number]", [1, 2], [2]),
    _assigned("remove-first", None, "variable", "array[string]", [], []),
    _printed_after_assigner(),
    *_missing(),
    _groups(),
    _failing("if-else on a missing variable", branch("if", ["ghost", "x"], "1")),
    _failing("clear refuses a constant for a list", assign("s", "v", "clear", None, "constant"),
             v=("array[string]", ["a"])),
    _failing("append of a wrong type", assign("s", "v", "append", ["start", "q"], "variable"),
             v=("array[number]", [1])),
    _failing("division by zero", assign("s", "v", "/=", 0, "constant"), v=("number", 1)),
    _failing("model without a message", llm("x", ("user", "{{#start.none#}}"), ("user", " ")))
]  # fmt: skip
# A null source leaves the target as it was, here because the start form has no such field filled.
ROWS[4] = Row(
    "assigner takes nothing from null",
    Request(ROWS[4].request.document, inputs={"q": None}, checked=True),
    {"answer": "ok"},
    conversation={"v": "a"},
)
ROWS.pop()
ROWS += CONTAINERS
ROWS += PROGRAMS
ROWS += PEOPLE
