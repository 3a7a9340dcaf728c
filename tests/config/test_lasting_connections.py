"""Which clients use one another's connections, and which never do."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
import uvloop

from config import net
from config.net.lasting_pools import find_lasting_pools


@dataclass
class Server:
    """Counts its connections, and answers every request with the number of the connection that it came by."""

    connections: list[asyncio.StreamWriter] = field(default_factory=list)
    requests: list[bytes] = field(default_factory=list)
    port: int = 0
    body: Callable[[int], bytes] = lambda number: str(number).encode()
    declared_length: int | None = None
    closes_after_answer: bool = False

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.append(writer)
        number = len(self.connections)
        try:
            while True:
                self.requests.append(await reader.readuntil(b"\r\n\r\n"))
                body = self.body(number)
                length = len(body) if self.declared_length is None else self.declared_length
                writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n".encode() + body)
                await writer.drain()
                if self.closes_after_answer:
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    @asynccontextmanager
    async def client(self, owner: str | None, **options: Any) -> AsyncIterator[httpx2.AsyncClient]:
        base_url = f"http://127.0.0.1:{self.port}"
        async with net.build_client(owner=owner, allow=("127.0.0.1:*",), **options) as client:
            client.base_url = base_url
            yield client

    async def ask(self, owner: str | None = "alice", **options: Any) -> int:
        """Ask with a client of its own, and return the number of the connection."""
        async with self.client(owner, **options) as client:
            return int((await client.get("/")).text)


def run_beside(server: Server, story: Callable[[], Awaitable[None]], *, keeps: bool = True) -> None:
    async def run() -> None:
        listening = await asyncio.start_server(server.accept, "127.0.0.1", 0)
        server.port = listening.sockets[0].getsockname()[1]
        async with listening:
            if not keeps:
                await story()
                return
            async with net.reuse_connections():
                await story()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())


def test_clients_of_one_owner_use_one_connection_whatever_their_limits() -> None:
    server = Server()

    async def story() -> None:
        numbers = [
            await server.ask(timeout=seconds, max_body=100 + seconds) for seconds in (5, 6, 7)
        ]
        assert numbers == [1, 1, 1]

    run_beside(server, story)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"owner": "alice"}, {"owner": "bob"}),
        ({"owner": None}, {"owner": None}),
        ({"owner": "alice"}, {"owner": None}),
        ({"verify": True}, {"verify": False}),
    ],
)
def test_connection_is_not_shared(first: dict[str, Any], second: dict[str, Any]) -> None:
    server = Server()

    async def story() -> None:
        assert (await server.ask(**first), await server.ask(**second)) == (1, 2)

    run_beside(server, story)


def test_connection_ends_with_its_client_where_none_are_kept() -> None:
    server = Server()

    async def story() -> None:
        assert (await server.ask(), await server.ask()) == (1, 2)
        assert find_lasting_pools() is None

    run_beside(server, story, keeps=False)


def test_calls_at_the_same_time_have_a_connection_each() -> None:
    server = Server()

    async def story() -> None:
        numbers = await asyncio.gather(*(server.ask() for _ in range(120)))
        assert sorted(numbers) == [*range(1, 121)]

    run_beside(server, story)


def test_left_answer_takes_its_connection_along() -> None:
    server = Server(declared_length=1_000_000)

    async def story() -> None:
        async with server.client("alice") as client, client.stream("GET", "/") as response:
            assert response.status_code == 200
        server.declared_length = None
        assert await server.ask() == 2

    run_beside(server, story)


def test_connection_that_the_server_closed_is_not_used() -> None:
    server = Server(closes_after_answer=True)

    async def story() -> None:
        assert await server.ask() == 1
        await server.connections[0].wait_closed()
        assert await server.ask() == 2

    run_beside(server, story)


def test_what_a_server_sends_too_much_is_no_answer_of_the_next_call() -> None:
    foreign = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n999"
    server = Server(body=lambda number: str(number).encode() + (foreign if number == 1 else b""))

    async def story() -> None:
        server.declared_length = 1
        assert (await server.ask(), await server.ask()) == (1, 2)

    run_beside(server, story)


def test_pool_is_closed_when_nobody_has_used_it_for_a_while() -> None:
    server = Server()

    async def story() -> None:
        pools = find_lasting_pools()
        assert pools is not None
        async with server.client("alice") as client:
            await client.get("/")
            await pools.close_unused(0)
            assert len(pools) == 1  # the client may ask again
        await pools.close_unused(3600)
        assert len(pools) == 1
        await pools.close_unused(0)
        assert len(pools) == 0
        await server.connections[0].wait_closed()
        assert await server.ask() == 2

    run_beside(server, story)


def test_all_connections_are_closed_at_the_end() -> None:
    server = Server()

    async def story() -> None:
        async with net.reuse_connections() as pools:
            await server.ask("alice")
            await server.ask("bob")
            assert len(pools) == 2
        assert len(pools) == 0
        for connection in server.connections:
            await connection.wait_closed()

    run_beside(server, story, keeps=False)
