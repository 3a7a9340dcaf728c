"""Celery's own settings, where a person would notice them."""

import ast
import os
import subprocess
import sys
from uuid import uuid4

import pytest
from kombu.exceptions import OperationalError

from config.env import ROOT
from config.logs import build_logging_config
from tests.durability.conftest import point_celery_at
from tests.support.ports import hold_port
from workflows.tasks import advance_run


@pytest.mark.parametrize(
    "broker", ["redis+socket:///nonexistent/valkey.sock", "redis://127.0.0.1:{port}/0"]
)
def test_message_to_a_broker_that_is_away_is_given_up_at_once(
    broker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    # Each place in which the libraries wait before they try again.
    for module in ("kombu.utils.functional", "kombu.transport.virtual.base", "redis.retry"):
        monkeypatch.setattr(f"{module}.sleep", pauses.append)

    with (
        hold_port() as port,
        point_celery_at(broker.format(port=port)),
        pytest.raises(OperationalError),
    ):
        advance_run.apply_async((str(uuid4()),), retry=False)

    # Six seconds were a person's wait for a run that is found without the message all the same.
    assert sum(pauses) < 5


def test_workers_of_one_host_have_no_queue_that_only_one_of_them_can_have() -> None:
    assert advance_run.app.conf.worker_enable_remote_control is False


def test_every_queue_of_rabbitmq_is_a_quorum_queue() -> None:
    code = (
        "from config.celery import app; app.amqp.queues.select(['mnemoflow', 'upkeep']);"
        "print({name: queue.queue_arguments for name, queue in app.amqp.queues.consume_from.items()})"
    )
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings",  # those of tests empty the variable
        "BROKER_URL": "amqp://127.0.0.1:1//",
    }

    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=90,
    )  # fmt: skip

    quorum = {"x-queue-type": "quorum"}
    assert ast.literal_eval(done.stdout) == {"mnemoflow": quorum, "upkeep": quorum}


def test_log_has_no_line_for_each_task_that_is_sent_received_or_done():
    loggers = build_logging_config("console", "INFO")["loggers"]
    quiet = {name for name, options in loggers.items() if options["level"] == "WARNING"}

    assert {"celery.beat", "celery.worker.strategy", "celery.app.trace"} <= quiet
