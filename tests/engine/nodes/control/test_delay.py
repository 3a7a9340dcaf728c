"""Delay: short ones sleep, long ones pause the run until a time."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from workflows.engine.errors import DocumentInvalid
from workflows.engine.runtime.local_ports import SystemClock
from workflows.engine.runtime.run_request import RunResult
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.runtime.step_records import RunStatus
from workflows.engine.runtime.waits import Answer


NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class StoppedClock(SystemClock):
    """Is always at noon and records how long it was asked to sleep."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def now(self) -> datetime:
        return NOON

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def document(**data: Any) -> dict[str, Any]:
    return {
        "kind": "app",
        "version": "0.6.0",
        "app": {"name": "T", "mode": "workflow"},
        "workflow": {
            "graph": {
                "nodes": [
                    {"id": "start", "data": {"type": "start", "variables": [
                        {"variable": "when", "type": "text-input"}]}},
                    {"id": "delay", "data": {"type": "delay", **data}},
                    {"id": "end", "data": {"type": "end", "outputs": [
                        {"variable": "until", "value_selector": ["delay", "until"]}]}},
                ],
                "edges": [
                    {"source": "start", "target": "delay"},
                    {"source": "delay", "target": "end"},
                ],
            }
        },
    }  # fmt: skip


def run(when: str = "", *, wake: bool = False, **data: Any) -> tuple[RunResult, list[float]]:
    clock = StoppedClock()

    async def main() -> RunResult:
        runner = WorkflowRunner(document(**data), clock=clock)
        handle = runner.start(inputs={"when": when})
        result = await handle.result()
        if wake:
            (wait,) = result.open_waits
            result = await runner.resume(handle, {wait.key: Answer(is_timed_out=True)}).result()
        return result

    return asyncio.run(main()), clock.slept


@pytest.mark.parametrize("amount", [0, 0.5, 5])
def test_short_delay_sleeps_in_process(amount: float) -> None:
    result, slept = run(amount=amount, unit="seconds")

    assert result.status is RunStatus.SUCCEEDED
    assert slept == ([amount] if amount else [])


@pytest.mark.parametrize(
    ("amount", "unit", "duration"),
    [
        (6, "seconds", timedelta(seconds=6)),
        (2, "minutes", timedelta(minutes=2)),
        (1.5, "hours", timedelta(hours=1.5)),
        (30, "days", timedelta(days=30)),
    ],
)
def test_long_delay_pauses_the_run(amount: float, unit: str, duration: timedelta) -> None:
    result, slept = run(amount=amount, unit=unit)

    (wait,) = result.open_waits
    assert result.status is RunStatus.PAUSED
    assert (wait.wait.form, wait.wait.due_at) == (None, (NOON + duration).timestamp())
    assert not slept


def test_delay_goes_on_when_its_time_has_come() -> None:
    result, _slept = run(amount=2, unit="hours", wake=True)

    assert result.status is RunStatus.SUCCEEDED
    assert result.outputs == {"until": NOON.isoformat()}


@pytest.mark.parametrize(
    ("when", "seconds"),
    [
        ("2026-03-01T13:00:00Z", 3600),
        ("2026-03-01T13:00:00+01:00", 0),
        ("2026-03-01 12:30", 1800),
        (str(int(NOON.timestamp()) + 60), 60),
        ("2020-01-01", 0),
    ],
)
def test_until_a_time_of_a_variable(when: str, seconds: int) -> None:
    result, _slept = run(when, mode="until", until="{{#start.when#}}")

    due = [wait.wait.due_at for wait in result.open_waits]
    assert due == ([NOON.timestamp() + seconds] if seconds else [])


@pytest.mark.parametrize(
    ("when", "words"), [("tomorrow", "'tomorrow' is not a time"), ("2030-01-01", "366 days")]
)
def test_text_that_is_no_time_fails_the_node(when: str, words: str) -> None:
    result, _slept = run(when, mode="until", until="{{#start.when#}}")

    assert (result.status, result.error_node) == (RunStatus.FAILED, "delay")
    assert words in (result.error or "")


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({"amount": -1}, "amount"),
        ({"amount": 400, "unit": "days"}, "amount"),
        ({"unit": "weeks"}, "unit"),
        ({"mode": "until", "until": ""}, "until"),
        ({"mode": "until", "until": "tomorrow"}, "until"),
    ],
)
def test_bad_setting_is_an_error_at_its_field(data: dict[str, Any], field: str) -> None:
    with pytest.raises(DocumentInvalid) as invalid:
        WorkflowRunner(document(**data))

    assert [problem.field for problem in invalid.value.problems] == [field]
