"""What tests of memory share, whichever door they try."""

from collections.abc import Iterator
from typing import Any

import pytest

from memory import routing


@pytest.fixture
def in_redis(settings: Any, valkey_url: str) -> Iterator[None]:
    """What workflows and runs keep for a while is kept by another provider."""
    settings.MEMORY_REDIS_URL = valkey_url
    settings.MEMORY_PLACES = ("run=redis", "workflow = redis")
    routing.check()
    yield
    routing.close()
