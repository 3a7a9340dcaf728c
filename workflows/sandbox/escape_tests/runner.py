"""Run the hostile programs against a back-end on this machine and report which of them succeed."""

import os
import secrets
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from workflows.sandbox.code import CodeLimits, CodeRunner
from workflows.sandbox.escape_tests import corpus, javascript


LIMITS: Final = CodeLimits(seconds=0.5, memory_bytes=64 * 1024 * 1024)
# They suffice to see that every limit is active. All resource attacks together take half a minute.
QUICK: Final = ("endless loop", "small objects", "recursion", "output", "large result")
# What isn't stopped goes on for ever, and a busy machine may be some seconds late.
_LATE_SECONDS: Final = LIMITS.seconds + 10
_VARIABLE: Final = "CODE_CANARY"


@dataclass(frozen=True, slots=True)
class Corpus:
    """The hostile programs of one language, and a harmless one."""

    escapes: Mapping[str, str]
    resources: Mapping[str, str]
    harmless: str


PYTHON: Final = Corpus(corpus.ESCAPES, corpus.RESOURCES, "def main(): return {'alive': 1}")
JAVASCRIPT: Final = Corpus(
    javascript.ESCAPES, javascript.RESOURCES, "function main() { return {alive: 1}; }"
)


@dataclass(frozen=True, slots=True)
class Target:
    """The secret, file and listener that the programs try to reach, on a host prepared for them."""

    canary: str
    placeholders: dict[str, str]
    written_file: Path
    listener: socket.socket

    def fill_in(self, source: str) -> str:
        for name, value in self.placeholders.items():
            source = source.replace(name, value)
        return source

    def was_called(self) -> bool:
        """Return whether a program has connected to the listener."""
        self.listener.settimeout(0.05)
        try:
            self.listener.accept()
        except TimeoutError:
            return False
        return True


@contextmanager
def provide_target() -> Iterator[Target]:
    """Provide the secret in the environment and a file, and the listener, and remove them afterwards."""
    canary = f"canary-{secrets.token_hex(8)}"
    previous_value = os.environ.get(_VARIABLE)
    with (
        tempfile.TemporaryDirectory() as folder,
        socket.create_server(("127.0.0.1", 0)) as listener,
    ):
        root = Path(folder)
        root.chmod(0o755)  # any user may read the file, so that only the restrictions prevent it
        (root / "secret.txt").write_text(canary)
        placeholders = {
            "{file}": str(root / "secret.txt"),
            "{write}": str(root / "written.txt"),
            "{port}": str(listener.getsockname()[1]),
            "{parent}": str(os.getpid()),
        }
        os.environ[_VARIABLE] = canary
        try:
            yield Target(canary, placeholders, root / "written.txt", listener)
        finally:
            os.environ.pop(_VARIABLE)
            if previous_value is not None:
                os.environ[_VARIABLE] = previous_value


async def list_successful_attacks(
    runner: CodeRunner, *, all_resources: bool = False, attacks_of: Corpus = PYTHON
) -> list[str]:
    """Return the names of the attacks that reached something or cost too much.

    ``all_resources`` runs all resource attacks, which takes longer.
    """
    attacks = []
    with provide_target() as target:
        for name, source in attacks_of.escapes.items():
            outcome = await runner.run(target.fill_in(source), {}, LIMITS)
            output = f"{outcome.value}{outcome.stdout}{outcome.error}"
            if target.canary in output or target.written_file.exists():
                attacks.append(name)
        for name in attacks_of.resources if all_resources else QUICK:
            # Late twice, because a busy machine may be late once.
            source = target.fill_in(attacks_of.resources[name])
            if await _is_late(runner, source, attacks_of) and await _is_late(
                runner, source, attacks_of
            ):
                attacks.append(name)
        if target.written_file.exists():
            attacks.append("a file")
        if target.was_called():
            attacks.append("a connection")
    next_outcome = await runner.run(attacks_of.harmless, {}, LIMITS)
    return attacks if next_outcome.ok else [*attacks, "the pool didn't live on"]


async def _is_late(runner: CodeRunner, source: str, attacks_of: Corpus) -> bool:
    # The interpreter is started first, so that its start is not measured.
    await runner.run(attacks_of.harmless, {}, LIMITS)
    started_at = time.monotonic()
    await runner.run(source, {}, LIMITS)
    return time.monotonic() - started_at > _LATE_SECONDS
