"""Scripts sent to Valkey or Redis: one pool of connections a process, one kind of error."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from redis import BlockingConnectionPool, Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from memory.core.errors import ProviderError


FOLDER = Path(__file__).parent / "lua"
NAMES = ("store", "recall", "delete", "history")
SCRIPTS: Mapping[str, str] = {
    name: f"{(FOLDER / 'common.lua').read_text()}\n{(FOLDER / f'{name}.lua').read_text()}"
    for name in NAMES
}

CONNECT_SECONDS = 2.0
CONNECTIONS = 16  # of one process; who needs a seventeenth waits


class Connection:
    """A pool of connections that threads share; a process that was forked makes new ones.

    Nothing is sent twice: after a broken line nobody knows whether the first try was heard, and a
    second store would be a second revision.
    """

    def __init__(self, url: str, *, timeout: float) -> None:
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

    def call(self, name: str, keys: Sequence[str], args: Sequence[str | int]) -> Any:
        """Return what the script answers, in its own form."""
        try:
            return self._scripts[name](keys=list(keys), args=list(args))
        except (RedisError, OSError) as error:
            # The error's own words name hosts and addresses, which are nobody's business here.
            raise ProviderError(f"Redis did not answer ({type(error).__name__}).") from error

    def close(self) -> None:
        self._redis.close()
        self._redis.connection_pool.disconnect()
