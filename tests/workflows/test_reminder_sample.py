"""The reminder sample reminds by itself: its run waits until the day, and sends what it has stored then."""

from datetime import UTC, datetime
from typing import Any, Final

import pytest

from memory.core.records import MemoryQuery
from memory.providers.in_memory import InMemoryProvider
from tests.support.engine import JinjaHere
from workflows.engine.ports import CodeRequest, CodeResult
from workflows.engine.runtime.local_ports import SystemClock
from workflows.engine.runtime.runner import RunHandle, WorkflowRunner
from workflows.engine.runtime.waits import Answer
from workflows.samples import SAMPLES_BY_SLUG


NOON: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
ADDRESS: Final = "https://hooks.example.com/due"
NAMESPACE: Final = "user:ana"


class StoppedClock(SystemClock):
    def now(self) -> datetime:
        return NOON


class PythonOfSamples:
    """Runs the code of the sample in the test's own process, with its variables as arguments."""

    async def run(self, request: CodeRequest) -> CodeResult:
        names: dict[str, Any] = {}
        exec(request.source, names)
        return CodeResult(names["main"](**request.inputs))


@pytest.fixture
def memory() -> InMemoryProvider:
    return InMemoryProvider()


@pytest.fixture
def sample(memory: InMemoryProvider) -> WorkflowRunner:
    return WorkflowRunner(
        SAMPLES_BY_SLUG["reminder"].source,
        memory=memory,
        templates=JinjaHere(),
        code=PythonOfSamples(),
        mocks={"post": {"http": [{"status": 202, "body": "ok"}]}},
        clock=StoppedClock(),
    )


def start(sample: WorkflowRunner, text: str, due: str, webhook: str = ADDRESS) -> RunHandle:
    inputs = {"task": "remember", "text": text, "due": due, "webhook": webhook}
    return sample.start(inputs=inputs, system={"user_id": "ana", "app_id": "app"})


async def wake(sample: WorkflowRunner, handle: RunHandle) -> Any:
    (wait,) = (await handle.result()).open_waits
    return await sample.resume(handle, {wait.key: Answer(is_timed_out=True)}).result()


async def test_run_waits_until_eight_and_sends_its_own_reminder_alone(
    sample: WorkflowRunner,
) -> None:
    other = await start(sample, "Pay the rent", "2026-03-02", webhook="").result()
    handle = start(sample, "Call Ben", "2026-03-02")
    (wait,) = (await handle.result()).open_waits

    result = await wake(sample, handle)

    assert other.outputs == {"text": "Pay the rent", "due": "2026-03-02"}
    assert datetime.fromtimestamp(wait.wait.due_at or 0, UTC) == datetime(2026, 3, 2, 8, tzinfo=UTC)
    assert result.outputs == {"text": "2026-03-02: Call Ben", "status": 202}
    (sent,) = (step for step in result.steps if step.key.node_id == "post")
    assert sent.inputs["body"] == {"due": [{"due": "2026-03-02", "text": "Call Ben"}]}


async def test_reminder_that_was_forgotten_meanwhile_is_not_sent(
    sample: WorkflowRunner, memory: InMemoryProvider
) -> None:
    handle = start(sample, "Call Ben", "2026-03-02")
    await handle.result()
    (entry,) = memory.recall(MemoryQuery(namespace=NAMESPACE))
    memory.delete(NAMESPACE, entry.key)

    result = await wake(sample, handle)

    assert result.outputs == {"text": "Nothing is due.", "count": 0}


async def test_day_that_is_past_is_sent_at_once(sample: WorkflowRunner) -> None:
    result = await start(sample, "Call Ben", "2026-02-01").result()

    assert result.outputs == {"text": "2026-02-01: Call Ben", "status": 202}
