"""What tests of memory share, whichever door they try."""

from collections.abc import Iterator
from typing import Any

import pytest

from memory import routing
from memory.host import get_host, register_host
from tests.memory.fake_host import FakeHost


@pytest.fixture
def in_redis(settings: Any, valkey_url: str) -> Iterator[None]:
    """What workflows and runs keep for a while is kept by another provider."""
    settings.MEMORY_REDIS_URL = valkey_url
    settings.MEMORY_PLACES = ("run=redis", "workflow = redis")
    routing.check_rules()
    yield
    routing.close_providers()


@pytest.fixture
def fake_host() -> Iterator[FakeHost]:
    """A host without workflows, in place of the real one."""
    registered = get_host()
    fake = FakeHost()
    register_host(fake)
    yield fake
    register_host(registered)
