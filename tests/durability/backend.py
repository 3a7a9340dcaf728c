"""The durable backend on the test's own database, with one Celery worker for a whole module."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from tests.durability.conftest import point_celery_at
from tests.support import servers
from tests.support.database import worker_number
from workflows.services.runs.durable_backend import ChildWorker, DurableBackend


@pytest.fixture(scope="module")
def child_worker(
    django_db_setup: None, django_db_blocker: Any, valkey_url: str
) -> Iterator[ChildWorker]:
    socket = servers.start_valkey().socket
    broker = f"redis+socket://{socket}?virtual_host={worker_number()}"
    with (
        django_db_blocker.unblock(),
        pytest.MonkeyPatch.context() as patch,
        point_celery_at(broker),
    ):
        # Ours forget the environment, which is how the child learns of its services.
        patch.setenv("DJANGO_SETTINGS_MODULE", "config.settings")
        patch.setattr("django.conf.settings.REDIS_URL", valkey_url)
        patch.setattr("django.conf.settings.BROKER_URL", broker)
        worker = ChildWorker()
        try:
            worker.start()
            yield worker
        finally:
            worker.stop()


@pytest.fixture
async def durable(
    child_worker: ChildWorker, transactional_db: None
) -> AsyncIterator[DurableBackend]:
    backend = DurableBackend()
    yield backend
    await backend.close()
