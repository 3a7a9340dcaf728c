"""A provider that limits how often it is asked says for how long: retries wait at least that long."""

from collections.abc import AsyncIterator

import pytest

from tests.support.documents import document, end, llm, start
from tests.support.engine import run_plan
from workflows.engine.errors import ModelFailed
from workflows.engine.ports import ModelChunk, ModelRequest, Usage
from workflows.engine.runtime.local_ports import SystemClock
from workflows.llm.failures import ModelRateLimited


class SkippingClock(SystemClock):
    """Notes how long a sleep would be, and doesn't sleep."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


class LimitedModels:
    """Answers once it has refused as often as there are faults."""

    def __init__(self, *faults: ModelFailed) -> None:
        self._faults = list(faults)
        self.calls = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        self.calls += 1
        if self._faults:
            raise self._faults.pop(0)
        yield ModelChunk(text="fine")
        yield ModelChunk(finish_reason="stop", usage=Usage(1, 1))


def limited(seconds: float | None) -> ModelFailed:
    return ModelRateLimited("Slow down.", retry_after=seconds)


def asking(**retry: object):
    # The back-off is named too, so that another default of the node breaks none of these tests.
    retry_config = {
        "retry_enabled": True,
        "max_retries": 3,
        "retry_interval": 2000,
        "backoff_strategy": "fixed",
        "retry_on_retryable_only": False,
        **retry,
    }
    nodes = [start(), llm("x", retry_config=retry_config), end(o=["x", "text"])]
    return document(nodes, ["start -> x", "x -> end"])


@pytest.mark.parametrize(
    ("asked", "slept"),
    [(7.5, [7.5]), (1.0, [2.0]), (None, [2.0]), (0.0, [2.0])],
    ids=["longer than the node's", "shorter", "unsaid", "none"],
)
async def test_retry_waits_as_long_as_the_node_or_the_provider_says(
    asked: float | None, slept: list[float]
) -> None:
    clock, models = SkippingClock(), LimitedModels(limited(asked))

    result = await run_plan(asking(), clock=clock, models=models)

    assert (result.is_successful, result.outputs) == (True, {"o": "fine"})
    assert clock.slept == slept


async def test_each_refusal_is_waited_out_by_itself() -> None:
    clock = SkippingClock()
    models = LimitedModels(limited(5), ModelFailed("Broke off.", retryable=True), limited(3))

    result = await run_plan(
        asking(backoff_strategy="exponential", retry_interval=1000), clock=clock, models=models
    )

    assert result.is_successful
    assert clock.slept == [5, 2, 4]


async def test_wait_that_ends_after_the_run_is_not_begun() -> None:
    clock, models = SkippingClock(), LimitedModels(limited(90))

    result = await run_plan(asking(), clock=clock, models=models, timeout_seconds=60)

    assert (result.error, result.error_type) == ("Slow down.", "ModelRateLimited")
    assert (clock.slept, models.calls) == ([], 1)


async def test_rate_limit_without_retries_fails_at_once() -> None:
    clock, models = SkippingClock(), LimitedModels(limited(1))

    result = await run_plan(asking(retry_enabled=False), clock=clock, models=models)

    assert result.error == "Slow down."
    assert clock.slept == []
