"""Runs web server, worker and beat as child processes: prefixes their output, restarts them, stops them together.

Ctrl-C and SIGTERM end every child in order. When the supervisor itself is killed -9, the kernel tells the children
(Linux), and the next start ends the processes that are left over, identified by pid file and command line.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from config.embedded.processes import end_process, end_with_parent, find_process


# A child that dies this often within this many seconds is not restarted any more.
MAX_DEATHS, DEATHS_WINDOW = 5, 60.0

COLOURS = {"web": "36", "worker": "33", "beat": "35"}


@dataclass(frozen=True)
class Program:
    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    stop_timeout: float = 8  # seconds between SIGTERM and SIGKILL
    command_marker: str = ""  # part of its command line that identifies a left-over process

    def build_environment(self) -> dict[str, str]:
        """Return the environment of a child: that of this process, overridden by the program's variables."""
        return {**os.environ, **self.environment, "PYTHONUNBUFFERED": "1"}


class Child:
    """A program and its current process."""

    def __init__(self, program: Program, pid_files: Path) -> None:
        self.program = program
        self.pid_file = pid_files / f"{program.name}.pid"
        self.process: subprocess.Popen[str] | None = None
        self._relaying: threading.Thread | None = None
        self.deaths: deque[float] = deque(maxlen=MAX_DEATHS)

    def end_left_over(self) -> None:
        if self.pid_file.exists():
            pid, marker = self.pid_file.read_text(), self.program.command_marker
            if pid.isdecimal() and (process := find_process(int(pid), argument=marker)):
                end_process(process, timeout=self.program.stop_timeout)
            self.pid_file.unlink(missing_ok=True)

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
            preexec_fn=end_with_parent(os.getpid()),
        )
        self.pid_file.write_text(str(self.process.pid))
        self._relaying = threading.Thread(target=self._relay, args=(self.process,), daemon=True)
        self._relaying.start()

    def has_died(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    def is_hopeless(self) -> bool:
        """Record a death and return whether there were too many to restart the child."""
        self.deaths.append(time.monotonic())
        return len(self.deaths) == MAX_DEATHS and self.deaths[-1] - self.deaths[0] < DEATHS_WINDOW

    def ask_to_end(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.terminate()

    def end(self) -> None:
        if self.process:
            try:
                self.process.wait(self.program.stop_timeout)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            if self._relaying:
                self._relaying.join(1)  # until its last lines are written
        self.pid_file.unlink(missing_ok=True)

    def _relay(self, process: subprocess.Popen[str]) -> None:
        name = self.program.name
        colour = COLOURS.get(name, "37")
        prefix = f"\x1b[{colour}m{name:<6}\x1b[0m │ " if sys.stderr.isatty() else f"{name:<6} | "
        if process.stdout is None:
            return
        with process.stdout as lines:
            for line in lines:
                sys.stderr.write(prefix + line)
                sys.stderr.flush()


class Supervisor:
    def __init__(self, programs: Sequence[Program], pid_files: Path) -> None:
        pid_files.mkdir(parents=True, exist_ok=True)
        self.children = [Child(program, pid_files) for program in programs]
        self._ending = threading.Event()

    def start(self) -> None:
        signal.signal(signal.SIGTERM, self._handle_signal)
        signal.signal(signal.SIGINT, self._handle_signal)
        for child in self.children:
            child.end_left_over()
        self.children[0].start()

    def start_rest(self) -> None:
        """Start the other children after the first one is up, so that they don't slow its start down."""
        for child in self.children:
            if child.process is None:
                child.start()

    @property
    def ending(self) -> bool:
        return self._ending.is_set()

    def watch(self) -> int:
        """Watch the children until the end is requested or a child can't be restarted; return the exit status."""
        self.start_rest()
        while not self._ending.wait(0.2):
            for child in self.children:
                if child.has_died() and not self._revive(child):
                    return 1
        return 0

    def stop(self) -> None:
        for child in self.children:
            child.ask_to_end()
        for child in self.children:
            child.end()

    def _revive(self, child: Child) -> bool:
        name, status = child.program.name, child.process.returncode if child.process else None
        if child.is_hopeless():
            print(f"{name} keeps exiting (status {status}); giving up.", file=sys.stderr)
            return False
        print(f"{name} exited with status {status}; restarting it.", file=sys.stderr)
        self._ending.wait(min(len(child.deaths) - 1, 3))
        child.start()
        return True

    def _handle_signal(self, number: int, frame: FrameType | None) -> None:
        self._ending.set()
