"""A step that asked people shows how long they took, which is no part of the time that it worked."""

from datetime import UTC, datetime, timedelta

from workflows.models import RunWait, Step
from workflows.views.runs.detail import build_step_rows


ASKED_AT = datetime(2026, 5, 1, 12, tzinfo=UTC)


def make_wait(node: str, seconds: float | None, rounds: tuple[int, ...] = ()) -> RunWait:
    answered_at = None if seconds is None else ASKED_AT + timedelta(seconds=seconds)
    return RunWait(
        node_key=node, rounds=list(rounds), form={}, created_at=ASKED_AT, answered_at=answered_at
    )


def test_step_has_the_time_of_its_own_answers_in_its_own_round() -> None:
    delay = RunWait(node_key="ask", form=None, created_at=ASKED_AT, answered_at=ASKED_AT)
    waits = [
        make_wait("ask", 16),
        make_wait("ask", 4),
        make_wait("ask", 99, rounds=(1,)),
        make_wait("open", None),
        delay,
    ]
    steps = [
        Step(node_key=node, rounds=[], status="succeeded", started_at=1.0, elapsed=0.001)
        for node in ("ask", "open", "answer")
    ]

    rows = build_step_rows(steps, None, waits)

    assert [(row.answer_seconds, row.milliseconds) for row in rows] == [
        (20.0, 1),
        (None, 1),
        (None, 1),
    ]
