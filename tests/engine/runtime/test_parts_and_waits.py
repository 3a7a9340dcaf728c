"""Steps that consist of several calls, and steps that wait for an answer."""

import asyncio
from collections.abc import Awaitable, Mapping
from itertools import pairwise
from typing import Any, TypeVar

from workflows.engine.errors import ModelFailed
from workflows.engine.kinds import NodeContext, NodeKind, NodeResult
from workflows.engine.language.failure_policy import Retry
from workflows.engine.ports import Origin, Usage
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.runtime.step_parts import PartResult
from workflows.engine.runtime.step_records import RunStatus, StepKey
from workflows.engine.runtime.waits import Answer, Wait


T = TypeVar("T")


class Caller(NodeKind[Any, Any]):
    """Makes three calls; the second one fails as often as it is told to."""

    name = "caller"
    title = "Caller"
    has_effect = True
    retry = Retry(max_retries=3, interval_ms=1)
    has_parts = True

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.calls: list[str] = []

    async def run(self, prepared: Any, ctx: NodeContext) -> NodeResult:
        assert ctx.parts is not None
        results = []
        for number in range(3):
            outputs = await ctx.parts.run(str(number), "test", self._call(number), inputs={})
            results.append(outputs["n"])
        return NodeResult({"results": results}, usage=ctx.parts.usage)

    def _call(self, number: int) -> Any:
        async def call(origin: Origin) -> PartResult:
            self.calls.append(origin.idempotency_key.removeprefix(origin.run_id))
            if number == 1 and self.failures:
                self.failures -= 1
                raise ModelFailed("busy", retryable=True)
            return PartResult({"n": number}, Usage(10, 1))

        return call


class Asker(NodeKind[Any, Any]):
    """Asks a person two questions."""

    name = "asker"
    title = "Asker"

    async def run(self, prepared: Any, ctx: NodeContext) -> NodeResult:
        first = ctx.wait_for(Wait({"content": "Your name?"}), "first")
        second = ctx.wait_for(Wait({"content": "Your age?"}, due_at=0.0), "second")
        return NodeResult({"name": first.values["name"], "late": second.is_timed_out})


def document(*kinds: str, **data: Any) -> dict[str, Any]:
    ids = ["start", *kinds, "end"]
    last = kinds[-1]
    outputs = [
        {"variable": name, "value_selector": [last, name]} for name in ("results", "name", "late")
    ]
    return {
        "kind": "app",
        "app": {"name": "T", "mode": "workflow"},
        "version": "0.6.0",
        "workflow": {
            "graph": {
                "nodes": [
                    {"id": "start", "data": {"type": "start", "variables": []}},
                    *({"id": kind, "data": {"type": kind, **data}} for kind in kinds),
                    {"id": "end", "data": {"type": "end", "outputs": outputs}},
                ],
                "edges": [{"source": source, "target": target} for source, target in pairwise(ids)],
            }
        },
    }


def run(work: Awaitable[T]) -> T:
    async def main() -> T:
        return await work

    return asyncio.run(main())


def test_retry_of_a_step_makes_no_finished_call_again() -> None:
    caller = Caller(failures=2)
    retries = {"retry_config": {"retry_enabled": True, "max_retries": 3, "retry_interval": 1}}
    runner = WorkflowRunner(document("caller", **retries), plugins=[caller])

    async def work() -> tuple[Any, list[Any]]:
        handle = runner.start()
        return await handle.result(), [event async for event in handle.events()]

    result, events = run(work())

    assert result.outputs["results"] == [0, 1, 2]
    assert caller.calls == [":caller::0", ":caller::1", ":caller::1", ":caller::1", ":caller::2"]
    assert result.usage == Usage(30, 3)
    log = [(event.part, event.status) for event in events if event.name == "agent_log"]
    assert log == [
        *[("0", "running"), ("0", "completed")],
        *[("1", "running"), ("1", "failed")] * 2,
        *[("1", "running"), ("1", "completed")],
        *[("2", "running"), ("2", "completed")],
    ]


def test_run_that_waits_is_paused_and_goes_on_with_each_answer() -> None:
    caller = Caller()
    runner = WorkflowRunner(document("caller", "asker"), plugins=[caller, Asker()])

    async def work() -> list[Any]:
        handle, answers = runner.start(), [Answer({"name": "Mia"}), Answer(is_timed_out=True)]
        results = [await handle.result()]
        for answer in answers:
            (wait,) = results[-1].open_waits
            handle = runner.resume(handle, {wait.key: answer})
            results.append(await handle.result())
        return results

    first, second, last = run(work())

    assert (first.status, first.open_waits[0].key) == (
        RunStatus.PAUSED,
        StepKey("asker", (), "first"),
    )
    assert first.open_waits[0].wait.form == {"content": "Your name?"}
    assert (second.status, second.open_waits[0].key.part) == (RunStatus.PAUSED, "second")
    assert (last.status, last.outputs) == (
        RunStatus.SUCCEEDED,
        {"results": None, "name": "Mia", "late": True},
    )
    assert len(caller.calls) == 3  # it had ended before the first pause


def test_resumed_step_repeats_no_part() -> None:
    class CallerAndAsker(Caller):
        name = "both"

        async def run(self, prepared: Any, ctx: NodeContext) -> NodeResult:
            result = await super().run(prepared, ctx)
            answer = ctx.wait_for(Wait({"content": "Go on?"}))
            return NodeResult({**result.outputs, "name": answer.action})

    both = CallerAndAsker()
    runner = WorkflowRunner(document("both"), plugins=[both])

    async def work() -> Mapping[str, Any]:
        handle = runner.start()
        (wait,) = (await handle.result()).open_waits
        result = await runner.resume(handle, {wait.key: Answer(action="yes")}).result()
        return result.outputs

    assert run(work()) == {"results": [0, 1, 2], "name": "yes", "late": None}
    assert len(both.calls) == 3
