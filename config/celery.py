"""Celery only wakes up workers: a message carries an id, and the work to do is a row in the database.

Messages are acknowledged early on purpose: once a run is claimed, its message is no longer needed, and recovery uses
the lease. A lost, duplicate or late message costs at most one round of the reconciler.
"""

import gc
import os
from importlib import import_module
from typing import Any

from celery import Celery
from celery.signals import setup_logging
from django.apps import apps
from django.conf import settings


os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
gc.set_threshold(20_000, 10, 20)  # as manage.py does

IS_AMQP = settings.BROKER_URL.startswith("amqp")
REDIS_OPTIONS = {
    "visibility_timeout": 120,
    "unacked_restore_interval": 5,
    "unacked_restore_throttle": 1,
}

app = Celery("mnemoflow")
app.conf.update(
    broker_url=settings.BROKER_URL,
    # Without a broker, a worker keeps polling the database for runs and retrying the connection.
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_transport_options={
        # For the sender: without this limit a request would wait six seconds for an unreachable broker.
        "max_retries": 0,
        **({"confirm_publish": True} if IS_AMQP else REDIS_OPTIONS),
    },
    task_default_queue="mnemoflow",
    task_default_queue_type="quorum" if IS_AMQP else None,
    task_create_missing_queue_type="quorum"
    if IS_AMQP
    else "classic",  # of upkeep, which --queues creates
    task_acks_late=False,
    worker_prefetch_multiplier=1,
    worker_pool="threads",
    worker_concurrency=settings.WORKER_THREADS,
    worker_send_task_events=False,
    # Nobody asks a worker by its name, and in RabbitMQ the queue for it belongs to one worker of a host only: the others
    # would get no messages at all.
    worker_enable_remote_control=False,
    task_ignore_result=True,
    task_store_errors_even_if_ignored=False,
    task_serializer="json",
    accept_content=["json"],
    result_accept_content=["json"],
    task_publish_retry=False,  # the run row is the outbox: a request never waits for a broker
    enable_utc=True,
    timezone="UTC",
    # Two queues, so that runs and upkeep don't delay each other. Workers are started with
    # --queues mnemoflow,upkeep; without it Celery reads the default queue only.
    task_routes={
        "memory.*": {"queue": "upkeep"},
        "accounts.*": {"queue": "upkeep"},
        "workflows.count_usage": {"queue": "upkeep"},
        "workflows.resume_evaluations": {"queue": "upkeep"},
        "workflows.tidy_files": {"queue": "upkeep"},
        "workflows.start_scheduled_runs": {"queue": "upkeep"},
        "workflows.send_deliveries": {"queue": "upkeep"},
        "workflows.tidy_deliveries": {"queue": "upkeep"},
        "workflows.give_notices": {"queue": "upkeep"},
    },
)
app.autodiscover_tasks()


@app.on_after_finalize.connect
def merge_schedules(sender: Celery, **_: Any) -> None:
    """Merge the schedules of the apps: each app with periodic tasks defines BEAT_SCHEDULE in its ``tasks`` module."""
    for name in ("accounts", "memory", "workflows"):
        if apps.is_installed(name):
            tasks = import_module(f"{name}.tasks")
            sender.conf.beat_schedule.update(getattr(tasks, "BEAT_SCHEDULE", {}))


@setup_logging.connect
def keep_django_logging(**_: Any) -> None:
    """Do nothing. It is connected so that Celery doesn't replace Django's logging configuration."""
