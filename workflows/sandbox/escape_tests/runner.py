"""Runs the hostile programs against a back-end on this very machine, and says which got through."""

import os
import secrets
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from workflows.sandbox.code import CodeLimits, CodeRunner
from workflows.sandbox.escape_tests.corpus import ESCAPES, RESOURCES


LIMITS: Final = CodeLimits(seconds=0.5, memory_bytes=64 * 1024 * 1024)
# Enough to see that each limit is there; all of them take half a minute.
QUICK: Final = ("endless loop", "small objects", "recursion", "output", "large result")
_LATE_SECONDS: Final = LIMITS.seconds + 1.5
_VARIABLE: Final = "CODE_CANARY"


@dataclass(frozen=True, slots=True)
class Bait:
    """What the programs are after, on a host made for them."""

    canary: str
    words: dict[str, str]
    written: Path
    listener: socket.socket

    def filled(self, source: str) -> str:
        for name, value in self.words.items():
            source = source.replace(name, value)
        return source

    def was_called(self) -> bool:
        self.listener.settimeout(0.05)
        try:
            self.listener.accept()
        except TimeoutError:
            return False
        return True


@contextmanager
def bait() -> Iterator[Bait]:
    canary = f"canary-{secrets.token_hex(8)}"
    before = os.environ.get(_VARIABLE)
    with (
        tempfile.TemporaryDirectory() as folder,
        socket.create_server(("127.0.0.1", 0)) as listener,
    ):
        place = Path(folder)
        place.chmod(0o755)  # the system lets anybody read the file: only the walls are in the way
        (place / "secret.txt").write_text(canary)
        words = {
            "{file}": str(place / "secret.txt"),
            "{write}": str(place / "written.txt"),
            "{port}": str(listener.getsockname()[1]),
            "{parent}": str(os.getpid()),
        }
        os.environ[_VARIABLE] = canary
        try:
            yield Bait(canary, words, place / "written.txt", listener)
        finally:
            os.environ.pop(_VARIABLE)
            if before is not None:
                os.environ[_VARIABLE] = before


async def got_through(runner: CodeRunner, *, every: bool = False) -> list[str]:
    """The names of the attacks that reached something or cost too much; ``every`` takes longer."""
    found = []
    with bait() as place:
        for name, source in ESCAPES.items():
            outcome = await runner.run(place.filled(source), {}, LIMITS)
            said = f"{outcome.value}{outcome.stdout}{outcome.error}"
            if place.canary in said or place.written.exists():
                found.append(name)
        for name in RESOURCES if every else QUICK:
            # Late twice: once may be a busy machine's doing.
            source = place.filled(RESOURCES[name])
            if await _is_late(runner, source) and await _is_late(runner, source):
                found.append(name)
        if place.written.exists():
            found.append("a file")
        if place.was_called():
            found.append("a connection")
    alive = await runner.run("def main(): return {'alive': 1}", {}, LIMITS)
    return found if alive.ok else [*found, "the pool didn't live on"]


async def _is_late(runner: CodeRunner, source: str) -> bool:
    # The start of an interpreter isn't the attack's doing.
    await runner.run("def main(): return {}", {}, LIMITS)
    began = time.monotonic()
    await runner.run(source, {}, LIMITS)
    return time.monotonic() - began > _LATE_SECONDS
