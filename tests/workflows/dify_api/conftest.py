"""A worker in the test's own process, which is woken directly, and readers that read rows."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from tests.support.cast import Cast
from tests.support.working import hurry
from tests.workflows.dify_api.apps import (
    AsyncProgram,
    build_chat,
    build_workflow,
    make_app_key,
    publish,
)
from workflows.execution.events.hub import get_hub
from workflows.execution.worker import Worker
from workflows.models import Workflow


@pytest.fixture(autouse=True)
def no_bus(settings: Any) -> None:
    settings.REDIS_URL = ""


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker(capacity=4)
    yield made
    made.stop(0)


@pytest.fixture
async def working(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Worker]:
    """Whatever is queued is executed."""
    await asyncio.to_thread(worker.start)
    hurry(worker, monkeypatch)
    yield worker
    await get_hub().close()


@pytest.fixture
def chat(cast: Cast) -> Workflow:
    return publish(cast.alice, build_chat())


@pytest.fixture
def flow(cast: Cast) -> Workflow:
    return publish(cast.alice, build_workflow())


@pytest.fixture
def chatter(cast: Cast, chat: Workflow) -> AsyncProgram:
    return AsyncProgram(make_app_key(cast.alice, chat)[1])


@pytest.fixture
def runner(cast: Cast, flow: Workflow) -> AsyncProgram:
    return AsyncProgram(make_app_key(cast.alice, flow)[1])
