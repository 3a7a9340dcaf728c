"""What PostgreSQL takes, and what comes back."""

import json

import pytest

from workflows.engine.runtime.step_records import StepError, StepKey, StepRecord, StepStatus, Write
from workflows.execution.journal.codec import (
    build_step_row,
    dump,
    make_idempotency_key,
    parse_step_record,
)


@pytest.mark.parametrize(
    ("value", "stored"),
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
    ],
)
def test_value_is_stored_as_json_that_postgres_takes(value: object, stored: object) -> None:
    text = dump(value)

    assert json.loads(text) == stored
    text.encode()


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
