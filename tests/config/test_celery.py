"""Celery's own settings, where a person would notice them."""

import time
from uuid import uuid4

import pytest
from kombu.exceptions import OperationalError

from tests.durability.conftest import point_celery_at
from workflows.tasks import advance_run


@pytest.mark.parametrize(
    "broker", ["redis+socket:///nonexistent/valkey.sock", "redis://127.0.0.1:1/0"]
)
def test_message_to_a_broker_that_is_away_is_given_up_at_once(broker: str) -> None:
    with point_celery_at(broker):
        began = time.monotonic()
        with pytest.raises(OperationalError):
            advance_run.apply_async((str(uuid4()),), retry=False)

    # Six seconds were a person's wait for a run that is found without the message all the same.
    assert time.monotonic() - began < 2
