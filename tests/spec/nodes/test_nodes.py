"""The tables against every backend; the durable one joins where it lives."""

import pytest

from tests.spec.nodes.tables import ROWS, Row
from tests.support.code import CODE
from tests.support.engine import EchoModels, JinjaHere
from workflows.engine.testing.backends import Backend, InProcessBackend


@pytest.fixture
def backend() -> Backend:
    return InProcessBackend(models=EchoModels(), templates=JinjaHere(), code=CODE)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
async def test_row_gives_what_it_says(row: Row, backend: Backend) -> None:
    outcome = await backend.run(row.request)

    got = {name: value for name, value in outcome.outputs.items() if name != "files"}
    assert (outcome.status, got) == (row.status, row.outputs), outcome.error
    if row.stream is not None:
        assert outcome.stream == row.stream
    for name, value in row.conversation.items():
        assert outcome.conversation[name] == value
