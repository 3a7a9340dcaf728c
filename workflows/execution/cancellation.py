"""Cancel requests that arrive over the bus, which is quicker than the worker's own polling."""

import asyncio
import logging
from collections.abc import Callable
from uuid import UUID

from redis.exceptions import RedisError

from workflows.execution.events.bus import RETRY_AFTER, connect, get_cancel_channel


log = logging.getLogger(__name__)


async def listen_for_cancels(url: str | None, cancel: Callable[[UUID], None]) -> None:
    if url is None:
        return
    while True:
        redis = connect(url)
        try:
            async with redis.pubsub() as subscription:
                await subscription.subscribe(get_cancel_channel())
                async for message in subscription.listen():
                    if message["type"] == "message":
                        _handle_message(message["data"], cancel)
        except (RedisError, OSError) as error:
            log.debug("cancel_channel_lost", extra={"why": str(error)})
            await asyncio.sleep(RETRY_AFTER)
        finally:
            await redis.aclose()


def _handle_message(text: str, cancel: Callable[[UUID], None]) -> None:
    try:
        cancel(UUID(text))
    except ValueError:
        log.warning("cancel_not_understood", extra={"text": text[:80]})
