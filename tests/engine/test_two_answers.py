"""Several response nodes in a chat: the answer that is stored is the text that was streamed."""

from collections.abc import Sequence

from tests.support.cases import for_each
from tests.support.documents import answer, document, end, node, start, template
from tests.support.engine import run_plan
from workflows.engine.language.document import Mode, NodeSpec


ENDS = [
    start("a"),
    template("t", "first"),
    template("u", "second"),
    end("e1", answer=["t", "output"]),
    end("e2", answer=["u", "output"]),
]
CASES: dict[str, tuple[Sequence[NodeSpec], Sequence[str], str]] = {
    "answers": (
        [start("a"), answer("one", "first "), answer("two", "second")],
        ["start -> one", "one -> two"],
        "first second",
    ),
    "ends": (ENDS, ["start -> t", "t -> u", "t -> e1", "u -> e2"], "first\nsecond"),
    "ends at once": (ENDS, ["start -> t", "start -> u", "t -> e1", "u -> e2"], "first\nsecond"),
    "an answer and an end": (
        [start("a"), answer("one", "hello"), template("t", "first"), end("e1", answer=["t", "output"])],
        ["start -> one", "one -> t", "t -> e1"],
        "hello\nfirst",
    ),
    "an end without a text": (
        [start("a"), answer("one", "hello"), end("e1", answer=["start", "nothing"])],
        ["start -> one", "one -> e1"],
        "hello",
    ),
    "an end with a list": (
        [start("a"), node("t", "variable-aggregator", variables=[["sys", "files"]]),
         end("e1", answer=["sys", "files"])],
        ["start -> t", "t -> e1"],
        "",
    ),
}  # fmt: skip


@for_each("name", CASES)
async def test_answer_of_several_nodes_is_the_text_that_was_streamed(name: str) -> None:
    nodes, edges, text = CASES[name]

    result = await run_plan(document(nodes, edges, mode=Mode.CHAT), inputs={"a": "1"})

    assert (result.stream, result.outputs["answer"]) == (text, text), result.error


async def test_outputs_of_several_end_nodes_are_streamed_on_lines_of_their_own() -> None:
    ends = [end("e1", o=["t", "output"]), end("e2", p=["u", "output"])]
    edges = ["start -> t", "t -> u", "t -> e1", "u -> e2"]

    result = await run_plan(document([*ENDS[:3], *ends], edges), inputs={"a": "1"})

    assert result.stream == "first\nsecond"
    assert result.outputs == {"o": "first", "p": "second"}
