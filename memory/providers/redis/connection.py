"""The connection that sends scripts to Valkey or Redis: one pool a process, one kind of error."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from redis import BlockingConnectionPool, Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from memory.core.errors import ProviderError


SCRIPT_FOLDER = Path(__file__).parent / "lua"
SCRIPT_NAMES = ("store", "recall", "delete", "history")
SCRIPTS: Mapping[str, str] = {
    name: f"{(SCRIPT_FOLDER / 'common.lua').read_text()}\n{(SCRIPT_FOLDER / f'{name}.lua').read_text()}"
    for name in SCRIPT_NAMES
}

CONNECT_SECONDS = 2.0
MAX_CONNECTIONS = 16  # of one process; a further thread waits for a free one


class Connection:
    """A pool of connections that threads share; a forked process opens its own.

    Calls are never retried: after a broken connection it is unknown whether the first attempt arrived, and a second
    store would be a second revision.
    """

    def __init__(self, url: str, *, timeout: float) -> None:
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=MAX_CONNECTIONS,
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

    def call(self, name: str, keys: Sequence[str], args: Sequence[str | int]) -> Any:
        """Run the script and return its raw result; raise ProviderError if the server does not answer."""
        try:
            return self._scripts[name](keys=list(keys), args=list(args))
        except (RedisError, OSError) as error:
            # The error's message names hosts and addresses, which must not reach the user.
            raise ProviderError(f"Redis did not answer ({type(error).__name__}).") from error

    def close(self) -> None:
        self._redis.close()
        self._redis.connection_pool.disconnect()
