"""The bus channel of a draft, and a publisher for it that runs in an event loop."""

import logging
from json import dumps
from uuid import UUID

from redis.asyncio import Redis
from redis.exceptions import RedisError

from workflows.engine.language.document import Json
from workflows.execution.events.bus import connect


log = logging.getLogger(__name__)

PREFIX = "draft"


def get_channel(workflow_id: object) -> str:
    """Return the channel of a draft.

    It carries ``{"revision", "client"}`` of an edit, or ``{"kind": "card" | "cursor" | "comment" | "published", …}``.
    """
    return f"{PREFIX}:{workflow_id}"


class DraftPublisher:
    """Publishes messages to the channels of drafts. If a message is lost, the next poll finds the change."""

    def __init__(self, url: str | None) -> None:
        self._redis: Redis | None = connect(url) if url else None

    async def publish(self, workflow_id: UUID, message: Json) -> None:
        if self._redis is None:
            return
        try:
            await self._redis.publish(get_channel(workflow_id), dumps(message))
        except (RedisError, OSError) as error:
            log.debug("announcement_lost", extra={"why": str(error)})

    async def close(self) -> None:
        if self._redis is not None:
            await self._redis.aclose()
