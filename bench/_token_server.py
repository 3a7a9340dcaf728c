"""A model server for `bench.real_protocol` in a process of its own: it streams tokens, and notes when a client leaves.

It writes "listening PORT" first. Then it writes "asked SECONDS" for each request whose answer doesn't end by itself, and "left SECONDS"
when the client has closed the connection, by the clock that all processes of the machine share. The name of the model says what it does.
"""

import asyncio
import json
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from bench._common import ROOT


COUNTED: Final = "counted"  # streams as many tokens as it is asked for
STALLED: Final = "stalled"  # stops after the first tokens, but doesn't end
SILENT: Final = "silent"  # never answers
ENDLESS: Final = "endless"  # never stops

PAUSE: Final = 0.001  # seconds between two tokens, so that each one arrives alone
MOST_SECONDS: Final = 30.0  # until the server says what is waited for
FIRST: Final = 5  # tokens before a server stalls
TOKEN: Final = " lorem"
HEAD: Final = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
)


@dataclass
class TokenServer:
    """A running server."""

    address: str
    _process: "subprocess.Popen[bytes]"

    def wait_until_asked(self) -> float:
        """Return when the next request came, by ``time.monotonic()``."""
        return float(self._read("asked"))

    def wait_until_left(self) -> float:
        """Return when the client of the last request left, by ``time.monotonic()``."""
        return float(self._read("left"))

    def read_port(self) -> int:
        return int(self._read("listening"))

    def _read(self, word: str) -> str:
        """Return what the server says next, which is to be about this."""
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], MOST_SECONDS)
        words = self._process.stdout.readline().decode().split() if ready else []
        if not words or words[0] != word:
            raise RuntimeError(f"the model server said {words} instead of {word!r}")
        return words[1]


@contextmanager
def run_token_server() -> Iterator[TokenServer]:
    command = [sys.executable, "-m", "bench._token_server"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, bufsize=0) as process:
        try:
            server = TokenServer("", process)
            server.address = f"127.0.0.1:{server.read_port()}"
            yield server
        finally:
            process.kill()


async def serve() -> None:
    server = await asyncio.start_server(answer_requests, "127.0.0.1", 0)
    say("listening", server.sockets[0].getsockname()[1])
    await server.serve_forever()


async def answer_requests(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of a connection, until the client closes it or an answer has lost its client."""
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            method, body = await read_request(reader)
            if method == "GET":
                await write_models(writer)
                continue
            request = json.loads(body)
            if request["model"] != COUNTED:
                say("asked", time.monotonic())
            writing = asyncio.ensure_future(write_answer(writer, request))
            leaving = asyncio.ensure_future(wait_for_end(reader))
            await asyncio.wait({writing, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if leaving.done():
                say("left", leaving.result())
                writing.cancel()
                break
            leaving.cancel()
            await asyncio.gather(leaving, return_exceptions=True)  # before the next request is read
            await writing
    writer.close()


async def read_request(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    lengths = [int(line[15:]) for line in head.split("\r\n") if line.startswith("content-length:")]
    return head.split()[0].upper(), await reader.readexactly(sum(lengths))


async def wait_for_end(reader: asyncio.StreamReader) -> float:
    """Return when the client closed the connection."""
    with suppress(ConnectionError):
        await reader.read(1)
    return time.monotonic()


async def write_models(writer: asyncio.StreamWriter) -> None:
    body = json.dumps({"object": "list", "data": [{"id": ENDLESS, "object": "model"}]}).encode()
    writer.write(
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"
        % (len(body), body)
    )
    await writer.drain()


async def write_answer(writer: asyncio.StreamWriter, request: dict[str, Any]) -> None:
    kind = request["model"]
    if kind == SILENT:
        await asyncio.Future()
    writer.write(HEAD)
    number = 0
    while kind != COUNTED or number < request["max_tokens"]:
        write_event(writer, build_event([{"index": 0, "delta": {"content": TOKEN}}]))
        number += 1
        if kind == STALLED and number == FIRST:
            await asyncio.Future()
        await writer.drain()
        await asyncio.sleep(PAUSE)
    write_event(writer, build_event([{"index": 0, "delta": {}, "finish_reason": "stop"}]))
    usage = {"prompt_tokens": 3, "completion_tokens": number, "total_tokens": number + 3}
    write_event(writer, {**build_event([]), "usage": usage})
    write_chunk(writer, b"data: [DONE]\n\n")
    write_chunk(writer, b"")
    await writer.drain()


def build_event(choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": "chatcmpl-7QyqpwdfhqwajicIEznoc6Q47XAyW",
        "object": "chat.completion.chunk",
        "created": 1700000000,
        "model": COUNTED,
        "choices": choices,
    }


def write_event(writer: asyncio.StreamWriter, event: dict[str, Any]) -> None:
    write_chunk(writer, b"data: %s\n\n" % json.dumps(event).encode())


def write_chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(b"%x\r\n%s\r\n" % (len(data), data))


def say(word: str, value: object) -> None:
    sys.stdout.write(f"{word} {value}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(serve())
