"""Telling everybody on a draft, from a request: small messages that may be lost and are never saved."""

import logging
from functools import cache
from json import dumps
from typing import Any
from uuid import UUID

from redis import Redis as SyncRedis
from redis.exceptions import RedisError

from workflows.engine.language.document import Json
from workflows.execution.events.bus import get_bus_url
from workflows.live.board import update_card
from workflows.live.draft_feed import list_draft_feeds
from workflows.live.publish import channel


log = logging.getLogger(__name__)


def announce_comment(workflow_id: UUID, comment: dict[str, Json]) -> None:
    """After the commit. Unheard, it is found by the next look at the rows."""
    _say(workflow_id, {"kind": "comment", "comment": comment})


def announce_published(workflow_id: UUID, number: int) -> None:
    """After the commit: which version others run from now on."""
    _say(workflow_id, {"kind": "published", "number": number})


def announce_card(workflow_id: UUID, key: str, more: dict[str, Json]) -> None:
    """Publish what a tab shows of itself: its selection, and the field being edited there."""
    url = get_bus_url()
    if url is not None:
        try:
            update_card(_get_redis(url), workflow_id, key, more)
        except (RedisError, OSError) as error:
            log.debug("presence_lost", extra={"why": str(error)})
    _say(workflow_id, {"kind": "card", "from": key, "card": more})


def announce_cursor(workflow_id: UUID, key: str, cursor: Json) -> None:
    _say(workflow_id, {"kind": "cursor", "from": key, "cursor": cursor})


def _say(workflow_id: UUID, body: dict[str, Any]) -> None:
    url = get_bus_url()
    if url is None:
        for feed in list_draft_feeds():
            feed.hear_from_thread(workflow_id, body)
        return
    try:
        _get_redis(url).publish(channel(workflow_id), dumps(body))
    except (RedisError, OSError) as error:
        log.debug("announcement_lost", extra={"why": str(error)})


@cache
def _get_redis(url: str) -> "SyncRedis":
    """One pool a process: a cursor moves ten times a second."""
    return SyncRedis.from_url(
        url, socket_connect_timeout=1, socket_timeout=1, decode_responses=True
    )
