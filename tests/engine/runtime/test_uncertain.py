"""Steps that a lost worker began: which are called again, which wait for a person, and what the person's answer does."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.documents import document, end, node, start
from tests.support.engine import ports
from workflows.engine.kinds import Execution, NodeContext, NodeKind, NodeResult
from workflows.engine.language.plan import compile_plan
from workflows.engine.nodes import build_kinds
from workflows.engine.runtime.local_ports import ListJournal
from workflows.engine.runtime.loop import execute_plan
from workflows.engine.runtime.run_request import RunResult, RunStart
from workflows.engine.runtime.step_records import RunStatus, StepKey
from workflows.engine.runtime.waits import Answer


pytestmark = pytest.mark.asyncio

CALL = StepKey("call")
LOST = {CALL: 1}


class Caller(NodeKind[Any, Any]):
    """Counts its calls. A call with the setting ``reads`` changes nothing."""

    name = "caller"
    title = "Caller"
    has_effect = True
    calls_outside = True

    def __init__(self) -> None:
        self.count = 0

    def only_reads(self, prepared: Any, ctx: NodeContext) -> bool:
        return bool(prepared.reads)

    async def run(self, prepared: Any, ctx: NodeContext) -> NodeResult:
        self.count += 1
        return NodeResult({"n": self.count})

    async def preview_inputs(self, prepared: Any, ctx: NodeContext) -> Mapping[str, Any]:
        return {"to": "the shop"}


class Chooser(Caller):
    name = "chooser"
    execution = Execution.BRANCH


class Inside(Caller):
    """Has an effect of our own, which its key makes harmless."""

    name = "inside"
    calls_outside = False


async def run(
    kind: Caller,
    safety: str | None,
    *,
    begun: Mapping[StepKey, int] = LOST,
    answers: Mapping[StepKey, Answer] | None = None,
    journal: ListJournal | None = None,
    reads: bool = False,
) -> RunResult:
    chosen = {"retry_safety": safety} if safety else {}
    nodes = [start(), node("call", kind.name, reads=reads, **chosen), end(n=["call", "n"])]
    plan = compile_plan(
        document(nodes, ["start -> call", "call -> end"]), build_kinds(plugins=[kind])
    )
    return await execute_plan(
        plan, RunStart("run"), ports(), journal or ListJournal(), answers=answers, begun_steps=begun
    )


@pytest.mark.parametrize(
    ("safety", "reads", "calls"),
    [
        (None, False, 1),
        ("safe", False, 1),
        ("ask", True, 1),
        ("ask", False, 0),
        ("never", True, 0),
        ("never", False, 0),
    ],
)
async def test_begun_step_is_called_or_waits_as_its_node_says(
    safety: str | None, reads: bool, calls: int
) -> None:
    kind = Caller()

    result = await run(kind, safety, reads=reads)

    assert kind.count == calls
    assert result.status is (RunStatus.SUCCEEDED if calls else RunStatus.PAUSED)


@pytest.mark.parametrize("safety", ["safe", "ask", "never"])
async def test_step_that_nobody_began_is_called(safety: str) -> None:
    kind = Caller()

    await run(kind, safety, begun={})

    assert kind.count == 1


async def test_effect_of_our_own_is_never_asked_about() -> None:
    kind = Inside()

    await run(kind, "never")

    assert kind.count == 1


async def test_question_has_the_call_the_outputs_and_three_buttons() -> None:
    journal = ListJournal()

    result = await run(Caller(), "never", journal=journal)

    [wait] = result.open_waits
    assert (wait.key, journal.intents) == (StepKey("call", part="uncertain.1"), [])
    form = wait.wait.form or {}
    assert (form["type"], form["node"], form["arguments"]) == (
        *("uncertain", "call"),
        {"to": "the shop"},
    )
    assert [item["name"] for item in form["inputs"]] == ["outputs"]
    assert [item["id"] for item in form["actions"]] == ["happened", "again", "stop"]


async def test_branch_cannot_be_said_to_have_happened() -> None:
    result = await run(Chooser(), "never")

    form = result.open_waits[0].wait.form or {}
    assert [item["id"] for item in form["actions"]] == ["again", "stop"]
    assert form["inputs"] == []


@pytest.mark.parametrize(
    ("answer", "calls", "outputs"),
    [
        (Answer({"outputs": {"n": 7}}, "happened"), 0, {"n": 7}),
        (Answer({"outputs": None}, "happened"), 0, {"n": None}),
        (Answer({}, "again"), 1, {"n": 1}),
    ],
)
async def test_answer_ends_the_step_or_calls_it(
    answer: Answer, calls: int, outputs: dict[str, Any]
) -> None:
    kind, key = Caller(), StepKey("call", part="uncertain.1")

    result = await run(kind, "never", answers={key: answer})

    assert (kind.count, result.status, result.outputs) == (calls, RunStatus.SUCCEEDED, outputs)


async def test_answer_about_an_earlier_call_is_no_answer_about_a_later_one() -> None:
    kind, key = Caller(), StepKey("call", part="uncertain.1")

    result = await run(kind, "never", begun={CALL: 3}, answers={key: Answer({}, "again")})

    assert (kind.count, result.status) == (0, RunStatus.PAUSED)
    assert result.open_waits[0].key.part == "uncertain.3"
