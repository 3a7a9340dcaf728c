"""Start, call and kill a runner process, which gets no credentials and exchanges frames with its parent."""

import contextlib
import functools
import os
import select
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from typing import Any, Literal

from workflows.sandbox import frames


START_SECONDS = 15.0
_MAX_GREETING_BYTES = 4096
_NICENESS = 5
_PACKAGE = Path(__file__).resolve().parent
_ROOT = _PACKAGE.parent.parent
_BOOT = "import sys; sys.path.append(sys.argv[1]); from workflows.sandbox.{} import main; main()"

# Modules of this package.
Program = Literal["child", "code_child", "full_child", "documents.child", "javascript.child"]
# Modules of other packages that a runner imports; they import nothing of this application.
_SHARED = (
    *("engine/__init__.py", "engine/tools/__init__.py", "engine/tools/html_text.py"),
    *("engine/files/__init__.py", "engine/files/media_types.py"),
)


class RunnerGone(Exception):
    """The runner died or broke the protocol."""


class JobNotTaken(RunnerGone):
    """The runner had died before it took the job, so nothing of the job was done."""


class RunnerLate(Exception):
    """The runner didn't answer in time."""


class Runner:
    """A runner process. It is not thread-safe: the pool gives it to one caller at a time."""

    def __init__(
        self, program: Program = "child", max_request: int = frames.MAX_REQUEST_BYTES
    ) -> None:
        self._max_request = max_request
        self._is_killed = False
        self._process = subprocess.Popen(
            build_command(program),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env={},
            cwd="/",
            close_fds=True,
            start_new_session=True,  # a separate process group: killed as a whole, not stopped by the parent's Ctrl-C
        )
        self._pipes = [pipe for pipe in (self._process.stdin, self._process.stdout) if pipe]
        self._input_fd, self._output_fd = (pipe.fileno() for pipe in self._pipes)
        os.set_blocking(self._input_fd, False)
        os.set_blocking(self._output_fd, False)
        try:
            greeting = self._receive(time.monotonic() + START_SECONDS, _MAX_GREETING_BYTES)
            self._yield_processor()
            self.restrictions: tuple[str, ...] = tuple(map(str, greeting.get("walls", ())))
        except BaseException:
            self.kill()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def call(self, message: dict[str, Any], *, seconds: float) -> dict[str, Any]:
        """Send a message and return the reply. Raises RunnerGone or RunnerLate; the runner must be killed then.

        Raises JobNotTaken, a RunnerGone, if the job can be given to another runner.
        """
        data = frames.encode(message)
        if len(data) - frames.HEADER_BYTES > self._max_request:
            raise ValueError("request too large")
        deadline = time.monotonic() + seconds
        self._hand_over(data, deadline)
        return self._receive(deadline, frames.MAX_REPLY_BYTES)

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def interrupt(self) -> None:
        """End the process from another thread than the one that communicates with it."""
        if self._is_killed:  # its number may be that of another process now
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def kill(self) -> None:
        """Kill the whole process group and wait for it, so that no zombie remains."""
        self.interrupt()
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self.close_pipes()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)
            self._is_killed = True

    def _yield_processor(self) -> None:
        """Let the worker, the database and starting runners have the processors before programs that may loop."""
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PGRP, self._process.pid, _NICENESS)

    def close_pipes(self) -> None:
        """Close the parent's ends of the pipes, which ends an idle runner."""
        for pipe in self._pipes:
            with contextlib.suppress(OSError):
                pipe.close()

    def _hand_over(self, data: bytes, deadline: float) -> None:
        """Send a frame, and wait until the runner says that it has read it."""
        try:
            self._write(data, deadline)
            answer = self._read(len(frames.TAKEN), deadline)
        except (RunnerGone, OSError) as error:
            raise JobNotTaken from error
        if answer != frames.TAKEN:
            raise RunnerGone

    def _receive(self, deadline: float, max_bytes: int) -> dict[str, Any]:
        try:
            length = frames.parse_length(self._read(frames.HEADER_BYTES, deadline), max_bytes)
            return frames.decode(self._read(length, deadline))
        except (frames.BadFrame, OSError) as error:
            raise RunnerGone from error

    def _write(self, data: bytes, deadline: float) -> None:
        view = memoryview(data)
        while view:
            self._wait(self._input_fd, select.POLLOUT, deadline)
            with contextlib.suppress(BlockingIOError):
                view = view[os.write(self._input_fd, view[:65536]) :]

    def _read(self, count: int, deadline: float) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            self._wait(self._output_fd, select.POLLIN, deadline)
            try:
                part = os.read(self._output_fd, min(count - len(parts), 65536))
            except BlockingIOError:
                continue
            if not part:
                raise RunnerGone
            parts += part
        return bytes(parts)

    def _wait(self, fd: int, event: int, deadline: float) -> None:
        poll = select.poll()
        poll.register(fd, event)
        remaining = deadline - time.monotonic()
        if remaining <= 0 or not poll.poll(remaining * 1000):
            raise RunnerLate


def build_command(program: Program = "child") -> list[str]:
    """Return the command that starts a runner: inside bubblewrap if that works, else as a plain process."""
    python = [sys.executable, "-I", "-B", "-X", "utf8", "-c", _BOOT.format(program), str(_ROOT)]
    return [*get_jail(), *python]


def is_jailed() -> bool:
    """Return whether runners on this machine start inside bubblewrap."""
    return bool(get_jail())


@functools.cache
def get_jail() -> tuple[str, ...]:
    """Return the command that starts a program inside bubblewrap, or an empty tuple if bubblewrap doesn't work.

    The result is cached, because the check starts a program in the jail.
    """
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return ()
    jail = (bwrap, *_build_jail_arguments(), "--")
    probe = [*jail, sys.executable, "-I", "-c", "import jinja2"]
    try:
        result = subprocess.run(
            probe, env={}, capture_output=True, timeout=START_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return jail if result.returncode == 0 else ()


def _build_jail_arguments() -> list[str]:
    """Return bubblewrap's arguments: no network, no other processes, and only the files that Python needs.

    No ``--new-session``: ``Runner`` starts a session without a terminal already, and a second one would take the
    program out of the process group that ``Runner.kill`` ends. No ``--die-with-parent`` either: it follows the thread
    that started the runner, and the pool's threads end before their runners do.
    """
    system = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache")
    python = (sys.prefix, sys.base_prefix, sysconfig.get_path("purelib"))
    shared = (str(_PACKAGE.parent / path) for path in ("__init__.py", *_SHARED))
    application = (str(_PACKAGE), *shared)
    arguments = ["--unshare-all", "--clearenv", *("--cap-drop", "ALL"), *("--dev", "/dev")]
    for path in dict.fromkeys((*system, *python, *application)):
        arguments += ["--ro-bind-try", path, path]
    return [*arguments, "--chdir", "/"]
