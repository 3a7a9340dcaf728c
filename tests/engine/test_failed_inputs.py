"""What a step that failed was given is written down, as it would be had it succeeded."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from memory.core.records import StoreParams
from memory.providers.in_memory import InMemoryProvider
from tests.support.documents import document, end, inside, iteration, llm, node, start, template
from tests.support.engine import JinjaHere
from workflows.engine.errors import CodeFailed, HttpFailed, ModelFailed
from workflows.engine.language.document import Json, NodeSpec
from workflows.engine.ports import CodeRequest, HttpRequest, ModelRequest
from workflows.engine.runtime.events import MemoryRecalled
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.runtime.step_records import StepRecord, StepStatus


class Breaks:
    """Every service a node may ask, out of order."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[Any]:
        await self.away()
        yield None

    async def away(self) -> None:
        raise ModelFailed("The model is away")

    async def run(self, request: CodeRequest) -> Any:
        raise CodeFailed("ZeroDivisionError: division by zero")

    async def send(self, request: HttpRequest) -> Any:
        raise HttpFailed("Nobody answers")

    async def store(self, **_asked: Any) -> Any:
        raise ModelFailed("The memory is away")

    async def recall(self, **_asked: Any) -> Any:
        raise ModelFailed("The memory is away")


QUERY = ["start", "q"]
MODEL = {"provider": "offline", "name": "offline"}
NAMED = [{"variable": "x", "value_selector": QUERY}]

FAILING: list[tuple[NodeSpec, dict[str, Json]]] = [
    (llm("n", ("user", "Say {{#start.q#}}")),
     {"model": MODEL, "messages": [{"role": "user", "text": "Say hi"}]}),
    (node("n", "code", code="def main(x): return {'r': 1 / 0}", code_language="python3",
          variables=NAMED, outputs={"r": {"type": "number"}}),
     {"x": "hi"}),
    (template("n", "{% for i in x.y %}{{ i }}{% endfor %}{{ 1 // 0 }}", x=QUERY), {"x": "hi"}),
    (node("n", "http-request", method="get", url="http://h.test/{{#start.q#}}", params="",
          headers="X-Api-Key: secret\nA: {{#start.q#}}", body={"type": "none", "data": []},
          authorization={"type": "no-auth", "config": None}),
     {"method": "GET", "url": "http://h.test/hi", "headers": {"X-Api-Key": "*" * 20, "A": "hi"}}),
    (node("n", "memory-recall", scope="global", query_selector=QUERY, top_k=3),
     {"scope": "global", "query": "hi", "key": None}),
    (node("n", "memory-store", scope="global", key="k_{{#start.q#}}", value_selector=QUERY,
          metadata={"category": "fact"}),
     {"scope": "global", "key": "k_hi", "metadata": {"category": "fact"}, "value": "hi"}),
]  # fmt: skip


async def step_of(failing: NodeSpec, **more: Any) -> StepRecord:
    made = document([start("q"), failing, end(o=["n", "x"])], ["start -> n", "n -> end"])
    broken: Any = Breaks()
    runner = WorkflowRunner(
        made, models=broken, code=broken, http=broken, memory=broken, templates=JinjaHere(), **more
    )
    result = await runner.run(inputs={"q": "hi"}, system={"user_id": "ana"})
    return next(step for step in result.steps if step.key.node_id == "n")


@pytest.mark.parametrize(("failing", "given"), FAILING, ids=[spec.kind for spec, _ in FAILING])
async def test_failed_step_keeps_what_it_was_given(
    failing: NodeSpec, given: dict[str, Json]
) -> None:
    step = await step_of(failing)

    assert step.status is StepStatus.FAILED
    assert step.inputs == given


async def test_step_whose_error_leads_on_keeps_it_as_well() -> None:
    failing = node("n", "code", code="…", code_language="python3", variables=NAMED,
                   outputs={"r": {"type": "number"}}, error_strategy="fail-branch")  # fmt: skip

    step = await step_of(failing)

    assert (step.status, step.inputs) == (StepStatus.EXCEPTION, {"x": "hi"})


async def test_pinned_step_that_fails_tells_what_it_would_have_been_given() -> None:
    failing, given = FAILING[0]

    step = await step_of(failing, mocks={"n": {"error": "As if it broke"}})

    assert (step.status, step.inputs) == (StepStatus.FAILED, given)


async def test_container_that_fails_keeps_its_items() -> None:
    box = iteration("it", ["conversation", "v"], ["t", "output"])
    body = template("t", "{{ 1 // 0 }}", x=["it", "item"])
    made = document(
        [start(), *inside(box, body), end(o=["it", "output"])],
        ["start -> it", "itstart -> t", "it -> end"],
        conversation={"v": ("array[string]", ["a", "b"])},
    )

    result = await WorkflowRunner(made, templates=JinjaHere()).run()

    failed = {step.key.node_id: step.inputs for step in result.steps if step.error}
    assert failed == {"t": {"x": "a"}, "it": {"items": ["a", "b"]}}


async def test_model_that_fails_after_a_recall_still_tells_what_was_recalled() -> None:
    memory = InMemoryProvider()
    memory.store(StoreParams("user:ana", "k", value="Ana likes tea"))
    asking = llm(
        "n", ("user", "tea?"), enhanced_memory={"enabled": True, "scope": "user"}, model=MODEL
    )
    made = document([start("q"), asking, end(o=["n", "text"])], ["start -> n", "n -> end"])
    broken: Any = Breaks()
    handle = WorkflowRunner(made, models=broken, memory=memory).start(
        inputs={"q": "hi"}, system={"user_id": "ana"}
    )

    events = [event async for event in handle.events()]

    recalled = [event for event in events if isinstance(event, MemoryRecalled)]
    assert [[entry["key"] for entry in event.entries] for event in recalled] == [["k"]]
