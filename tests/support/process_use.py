"""What processes use: the memory and processor time of runners, and by how much this process itself has grown.

The system's own sums don't answer either question in a process that runs thousands of tests: those of children contain
every test's children, and this process's memory between fork and exec; the largest size of this process is that of the
largest test before.
"""

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from workflows.sandbox.pool import RunnerPool


@dataclass
class Growth:
    """By how much more kilobytes this process had in memory than at the beginning."""

    kilobytes: int = 0


@contextmanager
def measure_growth() -> Iterator[Growth]:
    """Measure the most memory that this process takes for the block."""
    growth = Growth()
    # What was freed stays in memory, and is taken again without growth, unless it is given back first.
    with suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    # Linux lets a process forget its largest size; where it doesn't, the growth may be found too small, never too large.
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = read_peak_memory(os.getpid())
    yield growth
    growth.kilobytes = read_peak_memory(os.getpid()) - before


@dataclass
class RunnerUse:
    """What the runners of a pool use during a block. Inside bubblewrap the runner is a process below the pool's own."""

    pool: RunnerPool
    kilobytes: int = 0  # of the largest process
    # Of the address space of each interpreter that was seen; None is no limit.
    address_limits: dict[int, int | None] = field(default_factory=dict)
    _seconds: dict[int, float] = field(default_factory=dict)
    _seconds_before: dict[int, float] = field(default_factory=dict)
    _families: dict[int, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> "RunnerUse":
        for pid in self._list_processes():
            self._seconds_before[pid] = read_cpu_seconds(pid)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self._take_sample()

    @property
    def cpu_seconds(self) -> float:
        return sum(self._seconds.values()) - sum(
            before for pid, before in self._seconds_before.items() if pid in self._seconds
        )

    def _watch(self) -> None:
        while not self._done.wait(0.005):
            self._take_sample()

    def _take_sample(self) -> None:
        for pid in self._list_processes():
            self.kilobytes = max(self.kilobytes, read_peak_memory(pid))
            self._seconds[pid] = max(self._seconds.get(pid, 0), read_cpu_seconds(pid))

    def _list_processes(self) -> list[int]:
        """Return the pool's processes and those below, which are there as soon as a runner has sent its greeting."""
        for pid in self.pool.list_pids():
            if pid not in self._families:
                self._families[pid] = list_family(pid)
                interpreter = self._families[pid][-1]
                limit = read_address_limit(interpreter)
                if is_interpreter(interpreter):  # it may have ended, and leave bubblewrap behind
                    self.address_limits[interpreter] = limit
        return [member for family in self._families.values() for member in family]


def list_family(pid: int) -> list[int]:
    """Return the process and those below it, the lowest last."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:
        children = []
    return [pid, *(member for child in children for member in list_family(int(child)))]


def is_interpreter(pid: int) -> bool:
    return _read(pid, "cmdline").startswith(f"{sys.executable}\0")


def read_peak_memory(pid: int) -> int:
    """Return the most kilobytes that the process had in memory since its program began."""
    lines = _read(pid, "status").splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


def read_cpu_seconds(pid: int) -> float:
    """Return the processor time of a process, without its children's."""
    fields = _read(pid, "stat").rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


def read_address_limit(pid: int) -> int | None:
    """Return how many kilobytes of addresses the process may have, or None if there is no limit."""
    lines = _read(pid, "limits").splitlines()
    limit = next((line.split()[3] for line in lines if line.startswith("Max address space")), "")
    return int(limit) // 1024 if limit.isdecimal() else None


def _read(pid: int, name: str) -> str:
    """Return a file about a process, or nothing if the process has ended."""
    try:
        return Path(f"/proc/{pid}/{name}").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
