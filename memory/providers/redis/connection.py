"""The connection that sends scripts to Valkey or Redis: one pool a process, and errors without the driver's texts."""

import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import structlog
from redis import BlockingConnectionPool, Redis, exceptions
from redis.backoff import NoBackoff
from redis.retry import Retry

from memory.core.errors import ProviderAway, ProviderError


SCRIPT_FOLDER = Path(__file__).parent / "lua"
SCRIPT_NAMES = ("store", "recall", "delete", "history", "measure")
SCRIPTS: Mapping[str, str] = {
    name: f"{(SCRIPT_FOLDER / 'common.lua').read_text()}\n{(SCRIPT_FOLDER / f'{name}.lua').read_text()}"
    for name in SCRIPT_NAMES
}

CONNECT_SECONDS = 2.0
MAX_CONNECTIONS = 16  # of one process; a further thread waits for a free one
AWAY_SECONDS: Final = 0.5  # without a further attempt after one that failed

AWAY: Final = "The memory provider redis can't be reached."
FAILED: Final = "The memory provider redis answered with an error; the server's log says which."
_OUTAGES = (exceptions.ConnectionError, exceptions.TimeoutError, OSError)
# These are ConnectionErrors, too, but of a server that is there.
_REFUSALS = (exceptions.AuthenticationError, exceptions.AuthorizationError)

log = structlog.get_logger(__name__)


class Connection:
    """A pool of connections that threads share; a forked process opens its own.

    Calls are never retried here: after a broken connection it is unknown whether the first attempt arrived, and a
    second store would be a second revision. While the server is away, one thread at a time tries to reach it; the
    others fail at once, so that a server that doesn't respond can't keep all threads waiting.
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
        self._away_until: float | None = None  # by the monotonic clock; None: not away
        self._attempt = threading.Lock()
        self._scripts = {
            name: self._redis.register_script(source) for name, source in SCRIPTS.items()
        }

    def call(self, name: str, keys: Sequence[str], args: Sequence[str | int]) -> Any:
        """Run the script and return its raw result.

        Raise ProviderAway if the server can't be reached, and ProviderError if it reports an error. Their messages don't
        contain the driver's, which names hosts and addresses.
        """
        away_until = self._away_until
        if away_until is None:
            return self._call(name, keys, args)
        if time.monotonic() < away_until or not self._attempt.acquire(blocking=False):
            raise ProviderAway(AWAY)
        try:
            return self._call(name, keys, args)
        finally:
            self._attempt.release()

    def _call(self, name: str, keys: Sequence[str], args: Sequence[str | int]) -> Any:
        try:
            result = self._scripts[name](keys=list(keys), args=list(args))
        except (exceptions.RedisError, OSError) as error:
            if not isinstance(error, _OUTAGES) or isinstance(error, _REFUSALS):
                log.error("memory_provider_failed", provider="redis", why=f"{error!r:.500}")
                raise ProviderError(FAILED) from error
            log.warning("memory_provider_away", provider="redis", why=type(error).__name__)
            self._away_until = time.monotonic() + AWAY_SECONDS
            raise ProviderAway(AWAY) from error
        self._away_until = None
        return result

    def close(self) -> None:
        self._redis.close()
        self._redis.connection_pool.disconnect()
