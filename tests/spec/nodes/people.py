"""Rows of runs that wait: for a person, in every round of a container, and for a time."""

from collections.abc import Mapping
from typing import Any

from tests.spec.nodes.rows import Row
from tests.support.documents import answer, document, end, node, start, template
from workflows.engine.language.document import Mode
from workflows.engine.runtime.waits import Answer
from workflows.engine.testing.backends import Answerer, Request


def _replying(**replies: tuple[Mapping[str, Any], str]) -> Answerer:
    """Return a person who answers each node in their own way."""

    async def reply(node_id: str, form: Mapping[str, Any]) -> Answer:
        return Answer(*replies[node_id])

    return reply


def _ask(id_: str = "ask", **changes: Any) -> Any:
    inputs = [{"type": "text_input", "output_variable_name": "name"}]
    actions = [{"id": "yes", "title": "Yes"}, {"id": "no", "title": "No"}]
    return node(id_, "human-input", **{
        "form_content": "Who are you, {{#start.q#}}? {{#$output.name#}}",
        "inputs": inputs, "user_actions": actions, "timeout": 1, "timeout_unit": "day", **changes,
    })  # fmt: skip


def _chosen(action: str, expected: Mapping[str, Any]) -> Row:
    nodes = [start("q"), _ask(), template("yes", "YES"), template("no", "NO"),
             end(name=["ask", "name"], text=["ask", "__rendered_content"],
                 yes=["yes", "output"], no=["no", "output"])]  # fmt: skip
    edges = ["start -> ask", "ask:yes -> yes", "ask:no -> no", "yes -> end", "no -> end"]
    request = Request(document(nodes, edges), inputs={"q": "you"},
                      answer=_replying(ask=({"name": "Mia"}, action)))  # fmt: skip
    return Row(f"person chooses {action}", request, expected)


def _two() -> Row:
    nodes = [start("q"), _ask("first"), _ask("second"),
             end(a=["first", "name"], b=["second", "name"])]  # fmt: skip
    edges = ["start -> first", "start -> second", "first:yes -> end", "second:yes -> end"]
    request = Request(document(nodes, edges), inputs={"q": "you"},
                      answer=_replying(first=({"name": "A"}, "yes"), second=({"name": "B"}, "yes")))  # fmt: skip
    return Row("two persons at once", request, {"a": "A", "b": "B"})


def _streamed() -> Row:
    nodes = [start(), _ask(form_content="Who?"), answer("say", "Hello {{#ask.name#}}!")]
    request = Request(document(nodes, ["start -> ask", "ask:yes -> say"], mode=Mode.CHAT),
                      answer=_replying(ask=({"name": "Mia"}, "yes")))  # fmt: skip
    return Row("answer streams after the person's", request, {"answer": "Hello Mia!"},
               stream="Hello Mia!")  # fmt: skip


def _delayed() -> Row:
    nodes = [start(), node("wait", "delay", amount=6, unit="seconds"), template("t", "T"),
             end(t=["t", "output"])]  # fmt: skip
    return Row("run continues after a delay",
               Request(document(nodes, ["start -> wait", "wait -> t", "t -> end"])),
               {"t": "T"})  # fmt: skip


ROWS = [
    _chosen("yes", {"name": "Mia", "text": "Who are you, you? Mia", "yes": "YES", "no": None}),
    _chosen("no", {"name": "Mia", "text": "Who are you, you? Mia", "yes": None, "no": "NO"}),
    _two(),
    _streamed(),
    _delayed(),
]
