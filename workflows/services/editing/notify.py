"""Announce a changed draft to the other open editors: after the commit, on the bus, best effort.

An editor that misses a message finds the revision in the rows; see ``workflows.live``.
"""

import json
import logging
import time
from functools import cache
from typing import Final

from django.db import transaction
from redis import Redis
from redis.exceptions import RedisError

from workflows.execution.events.bus import RETRY_AFTER, get_bus_url
from workflows.models import Revision, Workflow


log = logging.getLogger(__name__)

_silent_until: Final = {"at": 0.0}


def get_channel(workflow_id: object) -> str:
    return f"draft:{workflow_id}"


def announce(workflow: Workflow, revision: Revision) -> None:
    message = json.dumps({"revision": revision.number, "client": revision.client})
    name = get_channel(workflow.pk)
    transaction.on_commit(lambda: _publish(name, message))


def _publish(name: str, message: str) -> None:
    url = get_bus_url()
    if url is None or time.monotonic() < _silent_until["at"]:
        return
    try:
        _connect(url).publish(name, message)
    except (RedisError, OSError) as error:
        # A dead bus must not make every edit wait for it.
        _silent_until["at"] = time.monotonic() + RETRY_AFTER
        log.warning("bus_publish_failed", extra={"reason": str(error)})


@cache
def _connect(url: str) -> Redis:
    """Return the process's connection pool: a connection for each message would cost more than the
    edit.
    """
    return Redis.from_url(url, socket_connect_timeout=1, socket_timeout=1)
