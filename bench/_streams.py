"""Clients of event streams for `bench.live`, and figures of the server's process."""

import asyncio
import os
import random
import re
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from uuid import UUID


FRAME: Final = re.compile(rb"(?:retry: \d+\n)?id: (\d+)\nevent: (\w+)\n")


@dataclass(eq=False)
class Client(asyncio.Protocol):
    """One client of a run's stream. ``arrivals`` has the number and the time of arrival of each event, over all connections."""

    port: int
    run_id: UUID
    headers: Mapping[str, str]
    arrivals: list[tuple[int, float]] = field(default_factory=list)
    last_name: bytes = b""
    connected_at: float = 0.0
    first_event_after: float | None = None
    status: str = ""
    buffer: bytes = b""
    transport: asyncio.Transport | None = None
    is_closed: asyncio.Event = field(default_factory=asyncio.Event)

    async def connect(self, *, receive_buffer: int | None = None) -> None:
        """Open a connection that continues after the last event."""
        self.connected_at = time.time()
        sock = socket.socket()
        if receive_buffer is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        sock.setblocking(False)
        loop = asyncio.get_running_loop()
        try:
            await loop.sock_connect(sock, ("127.0.0.1", self.port))
        except OSError:
            sock.close()
            raise
        self.buffer, self.status, self.is_closed = b"", "", asyncio.Event()
        await loop.create_connection(lambda: self, sock=sock)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not isinstance(transport, asyncio.Transport):
            raise TypeError(transport)
        self.transport = transport
        last = {"Last-Event-ID": str(self.arrivals[-1][0])} if self.arrivals else {}
        headers = {"Host": f"127.0.0.1:{self.port}", **self.headers, **last}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        request = f"GET /api/v1/runs/{self.run_id}/events HTTP/1.1\r\n{lines}\r\n"
        transport.write(request.encode())

    def data_received(self, data: bytes) -> None:
        now = time.time()
        self.buffer += data
        if not self.status:
            self.status = self.buffer[:32].split(b" ", 2)[1].decode()
        end = self.buffer.rfind(b"\n\n") + 2
        if end < 2:
            return
        for match in FRAME.finditer(self.buffer, 0, end):
            self.arrivals.append((int(match[1]), now))
            self.last_name = match[2]
        if self.arrivals and self.first_event_after is None:
            self.first_event_after = now - self.connected_at
        self.buffer = self.buffer[end:]

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_closed.set()

    async def close(self) -> None:
        """Leave without a word, as a closed page does."""
        if self.transport is not None:
            self.transport.abort()
            await self.is_closed.wait()

    @property
    def numbers(self) -> list[int]:
        return [number for number, _at in self.arrivals]

    @property
    def has_finished(self) -> bool:
        return self.last_name == b"run_finished"


async def connect_all(clients: list[Client]) -> None:
    """Connect all clients at once, and wait up to a minute until each has an event."""
    await asyncio.gather(*(client.connect() for client in clients))
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and any(c.first_event_after is None for c in clients):
        await asyncio.sleep(0.05)


async def reconnect_some(clients: list[Client], times: int, seed: int = 7) -> None:
    """Drop and reopen connections of clients of unfinished runs, at random moments."""
    generator = random.Random(seed)
    for _ in range(times):
        client = generator.choice([each for each in clients if not each.has_finished])
        await client.close()
        await asyncio.sleep(generator.random() * 0.1)
        await client.connect()


@dataclass
class Probe:
    """Requests a path repeatedly, each time over a new connection, and records the seconds until the response."""

    port: int
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    statuses: set[str] = field(default_factory=set)

    async def run(self, pause: float = 0.25) -> None:
        while True:
            await self.ask()
            await asyncio.sleep(pause)

    async def ask(self) -> None:
        start = time.perf_counter()
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        fields = {"Host": f"127.0.0.1:{self.port}", "Connection": "close", **self.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        writer.write(f"GET {self.path} HTTP/1.1\r\n{lines}\r\n".encode())
        response = await reader.read()
        writer.close()
        self.seconds.append(time.perf_counter() - start)
        self.statuses.add(response[:32].split(b" ", 2)[1].decode() if response else "-")


def find_process(home: str, marker: str) -> int:
    """Return the process with this text in its command line that serves this home folder."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
            environment = (folder / "environ").read_bytes()
        except OSError:
            continue
        if marker.encode() in command and f"MNEMOFLOW_HOME={home}\0".encode() in environment:
            return int(folder.name)
    raise RuntimeError(f"no process {marker} of {home}")


def read_figure(pid: int, name: str) -> int:
    """Return a figure of a process, such as Threads or VmRSS (in kB)."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"^{name}:\s+(\d+)", text, re.M)[1])  # type: ignore[index]


def read_cpu_seconds(pid: int) -> float:
    """Return the processor time that a process has used, all its threads together."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass
class Watch:
    """Records the highest number of threads of a process."""

    pid: int
    threads: int = 0

    async def run(self) -> None:
        while True:
            self.threads = max(self.threads, read_figure(self.pid, "Threads"))
            await asyncio.sleep(0.05)
