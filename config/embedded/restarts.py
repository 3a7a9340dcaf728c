"""Starts PostgreSQL and Valkey again if their processes end while the product runs, each from a thread of its own."""

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

import psutil

from config.embedded.backoff import Backoff
from config.embedded.errors import EmbeddedFault


CHECK_INTERVAL = 0.25  # seconds between two looks at a process


class Service(Protocol):
    """A service that runs as a process and can be started again."""

    def find_process(self) -> psutil.Process | None: ...

    def start(self) -> bool: ...


class ServiceWatch:
    """Starts one service again whenever it has ended, with growing delays, until it is told to stop."""

    def __init__(
        self, name: str, service: Service, hold_lock: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self.name = name
        self._service = service
        self._hold_lock = hold_lock
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name=f"watch-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop watching, and wait for an attempt to start the service that is under way."""
        self._stopping.set()
        self._thread.join()

    def _watch(self) -> None:
        backoff = Backoff()
        while not self._stopping.wait(CHECK_INTERVAL):
            if self._service.find_process():
                continue
            print(f"{self.name} has ended; starting it again.", file=sys.stderr)
            if self._stopping.wait(backoff.record_end()):
                return
            self._start_service()
            backoff.record_start()

    def _start_service(self) -> None:
        """Start the service under the lock that every process takes for this. A failure is printed."""
        try:
            with self._hold_lock():
                self._service.start()
        except (EmbeddedFault, OSError) as fault:
            print(f"{self.name}: {fault}", file=sys.stderr)


@contextmanager
def restart_services(
    services: Mapping[str, Service | None],
    hold_lock: Callable[[], AbstractContextManager[None]],
) -> Iterator[None]:
    """Watch these services, by their names for people, for the duration of a ``with`` block. None is left out."""
    watches = [
        ServiceWatch(name, service, hold_lock) for name, service in services.items() if service
    ]
    for watch in watches:
        watch.start()
    try:
        yield
    finally:
        for watch in watches:
            watch.stop()
