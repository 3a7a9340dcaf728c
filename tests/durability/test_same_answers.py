"""What the engine answers in this process it answers through the database and a Celery worker."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.durability.backend import child_worker, durable
from tests.spec.nodes.tables import ROWS, Row
from workflows.engine.nodes import build_kinds
from workflows.engine.testing.conformance import ConformanceCase, evaluate_case, read_cases
from workflows.services.runs.durable_backend import ChildWorker, DurableBackend


__all__ = ["child_worker", "durable"]

SUITE = Path(__file__).resolve().parents[2].parent / "shared" / "conformance"
KINDS = build_kinds()


AT_ONCE = 16
TABLES = [ROWS[first : first + AT_ONCE] for first in range(0, len(ROWS), AT_ONCE)]


@pytest.mark.parametrize("rows", TABLES, ids=lambda rows: f"from {rows[0].name}")
async def test_rows_of_the_tables_give_what_they_say(
    rows: Sequence[Row], durable: DurableBackend
) -> None:
    """They run at the same time, as those of different people do."""
    requests = [replace(row.request, offline=True) for row in rows]
    outcomes = await asyncio.gather(*(durable.run(request) for request in requests))

    got = {
        row.name: (
            outcome.status,
            {name: value for name, value in outcome.outputs.items() if name != "files"},
            outcome.stream if row.stream is not None else None,
            {name: outcome.conversation.get(name) for name in row.conversation},
        )
        for row, outcome in zip(rows, outcomes, strict=True)
    }
    assert got == {
        row.name: (row.status, row.outputs, row.stream, row.conversation) for row in rows
    }, {row.name: outcome.error for row, outcome in zip(rows, outcomes, strict=True)}


def _list_cases_by_group() -> dict[str, list[ConformanceCase]]:
    cases = read_cases(SUITE) if SUITE.is_dir() else []
    by_group: dict[str, list[ConformanceCase]] = {}
    for case in cases:
        if all(kind in KINDS for kind in case.kinds):
            by_group.setdefault(case.group, []).append(case)
    return by_group


CASES = _list_cases_by_group()


@pytest.mark.slow
@pytest.mark.skipif(not CASES, reason="no ../shared/conformance beside the checkout")
@pytest.mark.parametrize("group", CASES)
async def test_cases_of_the_reference_suite_pass(group: str, durable: DurableBackend) -> None:
    """The cases of a group run at the same time, as those of different people do."""
    verdicts = await asyncio.gather(*(evaluate_case(case, durable, KINDS) for case in CASES[group]))

    assert {v.case.id: v.differences for v in verdicts if v.differences} == {}


async def test_backend_uses_the_worker_there_is(
    child_worker: ChildWorker, durable: DurableBackend
) -> None:
    await durable.run(replace(ROWS[0].request, offline=True))

    assert durable._worker is None
