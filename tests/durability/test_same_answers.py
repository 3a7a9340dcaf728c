"""What the engine answers in this process it answers through the database and a Celery worker."""

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


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
async def test_row_of_the_tables_gives_what_it_says(row: Row, durable: DurableBackend) -> None:
    outcome = await durable.run(replace(row.request, offline=True))

    got = {name: value for name, value in outcome.outputs.items() if name != "files"}
    assert (outcome.status, got) == (row.status, row.outputs), outcome.error
    if row.stream is not None:
        assert outcome.stream == row.stream
    for name, value in row.conversation.items():
        assert outcome.conversation[name] == value


def _built() -> list[ConformanceCase]:
    if not SUITE.is_dir():
        return []
    return [case for case in read_cases(SUITE) if all(kind in KINDS for kind in case.kinds)]


@pytest.mark.slow
@pytest.mark.skipif(not SUITE.is_dir(), reason="no ../shared/conformance beside the checkout")
@pytest.mark.parametrize("case", _built(), ids=lambda case: case.id)
async def test_case_of_the_reference_suite_passes(
    case: ConformanceCase, durable: DurableBackend
) -> None:
    verdict = await evaluate_case(case, durable, KINDS)

    assert verdict.differences == ()


async def test_backend_uses_the_worker_there_is(
    child_worker: ChildWorker, durable: DurableBackend
) -> None:
    await durable.run(replace(ROWS[0].request, offline=True))

    assert durable._worker is None
