"""Scripts sent to Valkey or Redis: one pool of connections an event loop, one kind of error."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from memory.core.errors import ProviderError


FOLDER = Path(__file__).parent / "lua"
NAMES = ("store", "recall", "delete", "history")
SCRIPTS: Mapping[str, str] = {
    name: f"{(FOLDER / 'common.lua').read_text()}\n{(FOLDER / f'{name}.lua').read_text()}"
    for name in NAMES
}

CONNECT_SECONDS = 2.0
CONNECTIONS = 16  # of one loop; who needs a seventeenth waits


class Connection:
    """A connection belongs to the loop it was made in, so each loop has its own.

    Nothing is sent twice: after a broken line nobody knows whether the first try was heard, and a
    second store would be a second revision.
    """

    def __init__(self, url: str, *, timeout: float) -> None:
        self._url = url
        self._timeout = timeout
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Client] = WeakKeyDictionary()

    async def call(self, name: str, keys: Sequence[str], args: Sequence[str | int]) -> Any:
        """What the script answers; its own form."""
        try:
            async with asyncio.timeout(self._timeout):
                return await self._client().call(name, keys, args)
        except (RedisError, OSError, TimeoutError) as error:
            # The error's own words name hosts and addresses, which are nobody's business here.
            raise ProviderError(f"Redis did not answer ({type(error).__name__}).") from error

    async def aclose(self) -> None:
        """Of the running loop; whoever ends one with connections open is warned by Python."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    def _client(self) -> "Client":
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            self._clients[loop] = Client(self._url, self._timeout)
        return self._clients[loop]


class Client:
    def __init__(self, url: str, timeout: float) -> None:
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=CONNECTIONS,
            timeout=timeout,
            socket_timeout=timeout,
            socket_connect_timeout=min(CONNECT_SECONDS, timeout),
            health_check_interval=30,
            retry=Retry(NoBackoff(), 0),
            decode_responses=True,
        )
        self._redis = Redis(connection_pool=pool)
        self._scripts = {
            name: self._redis.register_script(source) for name, source in SCRIPTS.items()
        }

    async def call(self, name: str, keys: Sequence[str], args: Sequence[str | int]) -> Any:
        return await self._scripts[name](keys=list(keys), args=list(args))

    async def aclose(self) -> None:
        await self._redis.aclose()
        await self._redis.connection_pool.disconnect()
