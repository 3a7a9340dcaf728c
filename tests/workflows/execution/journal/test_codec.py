"""What PostgreSQL takes, and what comes back."""

import json
from datetime import UTC, datetime

import pytest

from tests.support.cases import for_each
from workflows.engine.runtime.events import Event, NodeStateChange, RunFinished, RunStarted
from workflows.engine.runtime.step_records import StepError, StepKey, StepRecord, StepStatus, Write
from workflows.execution.journal.codec import (
    build_step_row,
    dump,
    dump_event,
    make_idempotency_key,
    parse_step_record,
    to_event_data,
)


@for_each(
    "value, stored",
    [
        ("a\0b", "a\ufffdb"),
        ("\\u0000", "\\u0000"),  # text that only looks like an escape
        ("\\\0", "\\\ufffd"),
        ("é\0", "é\ufffd"),
        ("half \ud83d pair", "half \ufffd pair"),
        ("🐈", "🐈"),
        (float("nan"), None),
        ({"x": [float("inf"), 1.5]}, {"x": [None, 1.5]}),
        ((1, 2), [1, 2]),
        ({1: "a", None: 2}, {"1": "a", "null": 2}),
        (2**70, 2**70),
        ({"x": {3}}, {"x": [3]}),
        (StepError("Type", "text"), "StepError(type='Type', message='text')"),
        (datetime(2026, 1, 2, 3, 4, tzinfo=UTC), "2026-01-02 03:04:00+00:00"),
        (StepStatus.FAILED, "failed"),
        ("".join(map(chr, range(1, 0x180))), "".join(map(chr, range(1, 0x180)))),
    ],
)
def test_value_is_stored_as_json_that_postgres_takes(value: object, stored: object) -> None:
    text = dump(value)

    assert json.loads(text) == stored
    text.encode()


@pytest.mark.parametrize(
    "event",
    [
        NodeStateChange(
            "n1", "completed", "llm", "Zürich \U0001f408", (1, 2), at=1.5, error="a\0b"
        ),
        RunStarted({"numbers": [1, float("nan"), 2**70], "half": "\ud83d", "nested": {"x": (1,)}}),
        RunFinished("failed", {"when": datetime(2026, 1, 2, tzinfo=UTC)}, error="x"),
    ],
)
def test_event_is_written_as_its_fields_are(event: Event) -> None:
    assert dump_event(event) == dump(to_event_data(event))


def test_secret_is_found_in_json_whichever_way_it_was_written() -> None:
    """The redactor escapes a secret as the standard library does; orjson has to write the same."""
    text = "".join(map(chr, [*range(1, 0x100), 0x2028, 0x1F408]))

    assert dump(text) == json.dumps(text, ensure_ascii=False)


def test_step_comes_back_as_it_was() -> None:
    record = StepRecord(
        key=StepKey("n1", (0, 3)),
        kind="llm",
        status=StepStatus.EXCEPTION,
        handle="fail-branch",
        outputs={"text": "x"},
        inputs={"q": 1},
        error=StepError("Boom", "It broke."),
        writes=(Write(("conversation", "v"), [1]),),
        tries=2,
        started_at=1.5,
        elapsed=0.25,
        prompt_tokens=3,
        completion_tokens=4,
    )

    again = parse_step_record(json.loads(dump(build_step_row(record))))

    assert dump(build_step_row(again)) == dump(build_step_row(record))
    assert (again.key, again.status, again.error) == (record.key, record.status, record.error)


def test_idempotency_key_depends_on_the_round_alone() -> None:
    assert make_idempotency_key("r", StepKey("n", (1, 2))) == "r:n:1:2"
    assert make_idempotency_key("r", StepKey("n", ())) == "r:n"
