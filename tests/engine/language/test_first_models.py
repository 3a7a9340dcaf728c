"""Whether a run begins with a model, which is looked up while the first steps are committed."""

from collections.abc import Sequence

from tests.support.cases import for_each
from tests.support.documents import document, end, llm, start, template
from workflows.engine.language.document import NodeSpec
from workflows.engine.language.plan import compile_plan
from workflows.engine.nodes import build_kinds


ASK = llm("ask", ("user", "Hi"))


@for_each(
    "nodes, edges, begins",
    [
        ([ASK], ["start -> ask", "ask -> end"], True),
        ([template("t", "Hi"), ASK], ["start -> t", "start -> ask", "ask -> end"], True),
        ([template("t", "Hi"), ASK], ["start -> t", "t -> ask", "ask -> end"], False),
        ([], ["start -> end"], False),
    ],
)
def test_run_begins_with_a_model(
    nodes: Sequence[NodeSpec], edges: Sequence[str], begins: bool
) -> None:
    plan = compile_plan(document([start(), *nodes, end()], [*edges]), build_kinds())

    assert plan.begins_with_model is begins
