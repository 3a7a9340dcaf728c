"""Publish messages from a request to all open tabs of a draft. The messages are small, may be lost and are not saved."""

import logging
from functools import cache
from json import dumps
from typing import Any
from uuid import UUID

from redis import Redis as SyncRedis
from redis.exceptions import RedisError

from workflows.engine.language.document import Json
from workflows.execution.events.bus import get_bus_url
from workflows.live.draft_feed import list_draft_feeds
from workflows.live.presence import update_card
from workflows.live.publish import get_channel


log = logging.getLogger(__name__)


def announce_comment(workflow_id: UUID, comment: dict[str, Json]) -> None:
    """Announce a comment after the commit. If the message is lost, the next poll finds the comment."""
    _publish(workflow_id, {"kind": "comment", "comment": comment})


def announce_published(workflow_id: UUID, number: int) -> None:
    """Announce the published version after the commit."""
    _publish(workflow_id, {"kind": "published", "number": number})


def announce_card(workflow_id: UUID, tab_key: str, changes: dict[str, Json]) -> None:
    """Publish what changed in a tab's card: its selection, or the node being edited there."""
    url = get_bus_url()
    if url is not None:
        try:
            update_card(_get_redis(url), workflow_id, tab_key, changes)
        except (RedisError, OSError) as error:
            log.debug("presence_lost", extra={"why": str(error)})
    _publish(workflow_id, {"kind": "card", "from": tab_key, "card": changes})


def announce_cursor(workflow_id: UUID, tab_key: str, cursor: Json) -> None:
    _publish(workflow_id, {"kind": "cursor", "from": tab_key, "cursor": cursor})


def _publish(workflow_id: UUID, message: dict[str, Any]) -> None:
    url = get_bus_url()
    if url is None:
        for feed in list_draft_feeds():
            feed.receive_from_thread(workflow_id, message)
        return
    try:
        _get_redis(url).publish(get_channel(workflow_id), dumps(message))
    except (RedisError, OSError) as error:
        log.debug("announcement_lost", extra={"why": str(error)})


@cache
def _get_redis(url: str) -> "SyncRedis":
    """Return the process's connection pool: a tab reports its cursor ten times a second."""
    options = {"socket_connect_timeout": 1, "socket_timeout": 1, "decode_responses": True}
    return SyncRedis.from_url(url, **options)
