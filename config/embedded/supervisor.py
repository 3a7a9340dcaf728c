"""Runs web processes, worker and beat as child processes: prefixes their output, restarts them, stops them together.

A child that ends is started again, after growing delays if it keeps ending. Only if the first program, which is a web
process, keeps ending before it was ever ready does the supervisor give up, because the installation is broken then.

Ctrl-C and SIGTERM end all children. If the supervisor itself is killed with kill -9, the kernel ends the children (on
Linux), and the next start ends left-over processes, which it identifies by pid file and command line.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from config.embedded.backoff import Backoff
from config.embedded.processes import build_parent_death_hook, end_process, find_process


# The supervisor gives up if the first program ends this often in a row before it was ever ready.
MAX_FAILED_STARTS = 5

COLOURS = {"web": "36", "worker": "33", "beat": "35"}


@dataclass(frozen=True)
class Program:
    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    stop_timeout: float = 8  # seconds between SIGTERM and SIGKILL
    command_marker: str = ""  # part of its command line that identifies a left-over process
    inherited_fds: tuple[int, ...] = ()  # open files that the process gets under the same numbers
    is_spare: bool = (
        False  # started last, so that it doesn't slow down the others that the site begins with
    )

    def build_environment(self) -> dict[str, str]:
        """Return the variables of this process, overridden by those of the program."""
        return {**os.environ, **self.environment, "PYTHONUNBUFFERED": "1"}


class Child:
    """A program and its current process."""

    def __init__(self, program: Program, pid_files: Path) -> None:
        self.program = program
        self.pid_file = pid_files / f"{program.name}.pid"
        self.process: subprocess.Popen[str] | None = None
        self._relay_thread: threading.Thread | None = None
        self.backoff = Backoff()
        self.restart_at: float | None = (
            None  # when an ended process is started again, by the monotonic clock
        )

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.program.command,
            env=self.program.build_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            preexec_fn=build_parent_death_hook(os.getpid()),
            pass_fds=self.program.inherited_fds,
        )
        self.backoff.record_start()
        self.restart_at = None
        self.pid_file.write_text(str(self.process.pid))
        self._relay_thread = threading.Thread(target=self._relay, args=(self.process,), daemon=True)
        self._relay_thread.start()

    def has_died(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    def restart_if_ended(self) -> None:
        """Start the child again if its process has ended and the delay is over. Call this again and again."""
        if not self.has_died():
            return
        if self.restart_at is None:
            delay = self.backoff.record_end()
            self.restart_at = time.monotonic() + delay
            status = self.process.returncode if self.process else None
            when = f"in {delay:g} s" if delay else "now"
            print(
                f"{self.program.name} exited with status {status}; restarting it {when}.",
                file=sys.stderr,
            )
        if time.monotonic() >= self.restart_at:
            self.start()

    def terminate(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.terminate()

    def wait_for_end(self) -> None:
        """Wait until the process has ended after ``terminate``; kill it after the program's timeout."""
        if self.process:
            try:
                self.process.wait(self.program.stop_timeout)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            if self._relay_thread:
                self._relay_thread.join(1)  # until its last lines are written
        self.pid_file.unlink(missing_ok=True)

    def _relay(self, process: subprocess.Popen[str]) -> None:
        """Copy the process's output to standard error, each line with the name of the program."""
        name = self.program.name
        colour = COLOURS.get(name.partition("-")[0], "37")
        prefix = f"\x1b[{colour}m{name:<6}\x1b[0m │ " if sys.stderr.isatty() else f"{name:<6} | "
        if process.stdout is None:
            return
        with process.stdout as lines:
            for line in lines:
                sys.stderr.write(prefix + line)
                sys.stderr.flush()


class Supervisor:
    """Runs programs until the end is requested. The first one starts alone, so that it is up sooner."""

    def __init__(self, programs: Sequence[Program], pid_files: Path) -> None:
        pid_files.mkdir(parents=True, exist_ok=True)
        self._pid_files = pid_files
        self.children = [Child(program, pid_files) for program in programs]
        self._ending = threading.Event()
        self._has_been_ready = False

    def start(self) -> None:
        """Handle signals, end the processes of an earlier supervisor, and start the first program."""
        signal.signal(signal.SIGTERM, self._handle_signal)
        signal.signal(signal.SIGINT, self._handle_signal)
        self._end_left_over()
        self.children[0].start()

    def start_others(self, *, with_spares: bool = False) -> None:
        """Start the other programs. Do so after the first one is up, so that they don't slow its start down."""
        for child in self.children:
            if child.process is None and (with_spares or not child.program.is_spare):
                child.start()

    @property
    def is_ending(self) -> bool:
        return self._ending.is_set()

    def record_ready(self) -> None:
        """Record that the first program works, so that from now on it is started again however often it ends."""
        self._has_been_ready = True

    def watch(self) -> int:
        """Watch the children until the end is requested or the first one never works; return the exit status."""
        self.start_others(with_spares=True)
        while self.keep_running():
            if not self._has_been_ready and self.children[0].backoff.ends >= MAX_FAILED_STARTS:
                print(f"{self.children[0].program.name} keeps exiting; giving up.", file=sys.stderr)
                return 1
        return 0

    def keep_running(self) -> bool:
        """Start the children again that have ended, after a moment; return False if the end is requested meanwhile."""
        if self._ending.wait(0.2):
            return False
        for child in self.children:
            child.restart_if_ended()
        return True

    def stop(self) -> None:
        for child in self.children:
            child.terminate()
        for child in self.children:
            child.wait_for_end()

    def _end_left_over(self) -> None:
        """End the processes that an earlier supervisor started, perhaps more of a kind than there are to be now."""
        markers = {child.program.command_marker for child in self.children}
        timeout = max(child.program.stop_timeout for child in self.children)
        for pid_file in self._pid_files.glob("*.pid"):
            pid = pid_file.read_text()
            found = (find_process(int(pid), argument=each) for each in markers if pid.isdecimal())
            if process := next(filter(None, found), None):
                end_process(process, timeout=timeout)
            pid_file.unlink(missing_ok=True)

    def _handle_signal(self, number: int, frame: FrameType | None) -> None:
        self._ending.set()
