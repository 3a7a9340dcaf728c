"""What the shared tables can't ask: agreement with the oracle at random, the server's own clock, a dead server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis import Redis

from memory.core.errors import InvalidInput, ProviderAway, ProviderError, QuotaExceeded
from memory.core.policy import MemorySecurityPolicy
from memory.core.records import MemoryQuery, StoreParams, Tier
from memory.providers.redis import RedisProvider
from memory.providers.redis.connection import AWAY_SECONDS
from memory.providers.redis.rows import from_ticks, to_ticks
from tests.spec.providers.conftest import Make, Memory, Ticking, make_in_memory, together
from tests.spec.providers.test_agreement import ACTS, POLICY, QUESTIONS, agree_all_along, do, told
from tests.support.movable_time import movable_time
from tests.support.waiting import LIMIT, until, until_async


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
    ],
)
@given(st.lists(ACTS, max_size=8), st.lists(QUESTIONS, min_size=1, max_size=4))
def test_redis_agrees_with_the_oracle(
    make_redis: Make, acts: list[Any], questions: list[Any]
) -> None:
    agree_all_along(make_redis(policy=POLICY, clock=Ticking()), acts, questions)


def test_past_of_a_namespace_agrees_with_the_oracle(make_redis: Make) -> None:
    oracle, other = make_in_memory(clock=Ticking()), make_redis(clock=Ticking())
    began = oracle.clock.now
    for second, act in enumerate(LIFE):
        for memory in (oracle, other):
            memory.clock.now = began + timedelta(seconds=second)
            do(memory, act)

    for second in (-1, 0, 1, 2, 3, 4, 5, 99):
        for query in ({}, {"key": "b"}, {"query_text": "cats"}, {"filter": {"group": "g"}}):
            asked: dict[str, Any] = {"namespace": "user:mia", "as_of": second + 0.5, **query}
            assert told(other, asked, began) == told(oracle, asked, began)


LIFE = [
    ("store", "user:mia", "a", "one", {"group": "g"}, Tier.LONG_TERM, None),
    ("store", "user:mia", "b", "two cats", {"group": "g"}, Tier.LONG_TERM, 10),
    ("store", "user:mia", "a", "three cats", {"group": "h"}, Tier.LONG_TERM, None),
    ("delete", "user:mia", "b"),
    ("store", "user:mia", "b", "four", {}, Tier.LONG_TERM, None),
    ("clear", "user:mia"),
]


def test_place_in_a_group_is_given_once_and_kept(make_redis: Make) -> None:
    memory = make_redis()
    places = [
        memory.store("a", 1, metadata={"group": "chat"}).position,
        memory.store("b", 1, metadata={"group": "chat"}).position,
        memory.store("a", 2, metadata={"group": "chat"}).position,
        memory.store("other", 1, metadata={"group": 'odd|"\n'}).position,
        memory.store("none", 1).position,
    ]
    memory.clear()
    places.append(memory.store("a", 3, metadata={"group": "chat"}).position)

    assert places == [1, 2, 1, 1, 0, 3]


# -- the server's own clock -------------------------------------------------------------------------


@pytest.fixture
def space() -> str:
    return uuid4().hex


def own_clock(url: str, space: str, **options: Any) -> RedisProvider:
    return RedisProvider(url, space=space, **options)


def keys_of(url: str, space: str) -> list[str]:
    with Redis.from_url(url, decode_responses=True) as server:
        return sorted(
            key.rpartition(":")[2] for key in server.scan_iter(f"mnemoflow:memory:{{{space}:*")
        )


def test_entry_ends_by_the_clock_of_the_server(valkey_url: str, space: str) -> None:
    provider = own_clock(valkey_url, space)
    tolerance = timedelta(seconds=1)  # it looks at its clock once for several commands
    before = datetime.now(UTC) - tolerance
    stored = provider.store(StoreParams("ai:notes:r", "k", value="v", ttl_seconds=3600))
    after = datetime.now(UTC) + tolerance
    early = provider.recall(MemoryQuery("ai:notes:r"))
    soon = provider.store(StoreParams("ai:notes:r", "k", value="v", ttl_seconds=1))

    assert stored.created_at
    assert before <= stored.created_at <= after
    assert stored.expires_at == stored.created_at + timedelta(hours=1)
    assert [entry.value for entry in early] == ["v"]
    assert soon.updated_at
    assert soon.expires_at == soon.updated_at + timedelta(seconds=1)
    until(lambda: provider.recall(MemoryQuery("ai:notes:r")) == [])
    provider.close()


def test_namespace_where_everything_ends_leaves_nothing_behind(valkey_url: str, space: str) -> None:
    provider = own_clock(valkey_url, space, past_kept=timedelta(seconds=1))
    provider.store(StoreParams("ai:notes:r", "k", value="v", ttl_seconds=3600))
    assert keys_of(valkey_url, space) == ["bytes", "ends", "log", "rows"]

    provider.store(StoreParams("ai:notes:r", "k", value="v", ttl_seconds=1))
    provider.close()
    until(lambda: keys_of(valkey_url, space) == [])


def test_namespace_where_something_stays_stays_whole(valkey_url: str, space: str) -> None:
    provider = own_clock(valkey_url, space, past_kept=timedelta(seconds=0.05))
    provider.store(StoreParams("user:mia", "ends", value="v", ttl_seconds=0.05))
    provider.store(StoreParams("user:mia", "stays", value="v"))
    until(lambda: [entry.key for entry in provider.recall(MemoryQuery("user:mia"))] == ["stays"])

    provider.clear_namespace("user:mia")
    provider.close()
    until(lambda: keys_of(valkey_url, space) == [])  # emptied, nothing keeps it


def test_two_processes_worth_of_writers_never_pass_the_limit(valkey_url: str, space: str) -> None:
    policy = MemorySecurityPolicy(max_entries_per_namespace=50, max_namespace_bytes=210)

    def write() -> Any:
        providers = [own_clock(valkey_url, space, policy=policy) for _ in range(4)]
        done = together(
            partial(providers[n % 4].store, StoreParams("user:mia", f"k{n:02}", value="xx"))
            for n in range(60)
        )
        count = providers[0].recall(MemoryQuery("user:mia"))
        for provider in providers:
            provider.close()
        return [sum(isinstance(one, QuotaExceeded) for one in done), len(count)]

    assert write() == [30, 30]  # thirty values of four bytes, with keys of three


def test_scripts_survive_a_server_that_forgot_them(valkey_url: str, space: str) -> None:
    def both() -> Any:
        provider = own_clock(valkey_url, space)
        provider.store(StoreParams("user:mia", "k", value=1))
        with Redis.from_url(valkey_url) as server:
            server.script_flush()
        found = provider.recall(MemoryQuery("user:mia"))
        provider.clear_namespace("user:mia")
        provider.close()
        return [entry.value for entry in found]

    assert both() == [1]


# -- a server that doesn't answer -------------------------------------------------------------------


def _everything(provider: RedisProvider) -> list[Any]:
    done = together(
        [
            lambda: provider.store(StoreParams("user:mia", "k", value=1)),
            lambda: provider.recall(MemoryQuery("user:mia")),
            lambda: provider.delete("user:mia", "k"),
            lambda: provider.clear_namespace("user:mia"),
            lambda: provider.history("user:mia", "k"),
        ]
    )
    provider.close()
    return done


def test_server_that_is_not_there_is_a_provider_error_without_its_address() -> None:
    provider = RedisProvider("redis://user:secret@127.0.0.1:1/0", timeout=2)

    done = _everything(provider)

    assert [type(one) for one in done] == [ProviderAway] * 5
    assert not [one for one in done if "127.0.0.1" in str(one) or "secret" in str(one)]


def test_server_that_refuses_the_password_is_a_provider_error_without_the_drivers_text(
    valkey_url: str,
) -> None:
    provider = RedisProvider(valkey_url.replace("unix://", "unix://mallory:secret@"), timeout=2)

    done = _everything(provider)

    sentence = "The memory provider redis answered with an error; the server's log says which."
    assert [(type(one), str(one)) for one in done] == [(ProviderError, sentence)] * 5


class SilentServer:
    """Accepts connections, which break off when the test lets them, until it begins to answer."""

    def __init__(self) -> None:
        self.connections = self.open = 0
        self.may_break = asyncio.Event()
        self.is_silent = True

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        while await reader.read(65_536):
            if self.is_silent:
                await self.may_break.wait()
                break
            writer.write(b"-ERR found\r\n")
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
        self.open -= 1

    @asynccontextmanager
    async def listen(self) -> AsyncIterator[str]:
        """Yield the address. At the end all connections are closed."""
        async with await asyncio.start_server(self.serve, "127.0.0.1", 0) as server:
            yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0"
            self.may_break.set()
            await until_async(lambda: not self.open)


def test_silent_server_keeps_one_thread_waiting_and_is_found_again() -> None:
    """It accepts connections all the time, and begins to answer later."""

    async def ask() -> None:
        silent = SilentServer()
        async with silent.listen() as address:
            provider = RedisProvider(address, timeout=LIMIT)

            def recall() -> type[Exception] | None:
                try:
                    provider.recall(MemoryQuery("user:mia"))
                except ProviderError as error:
                    return type(error)
                return None

            silent.may_break.set()
            assert await asyncio.to_thread(recall) is ProviderAway
            silent.may_break.clear()
            silent.connections = 0

            time.let_pass(AWAY_SECONDS)
            others = [asyncio.create_task(asyncio.to_thread(recall)) for _ in range(8)]
            await until_async(lambda: sum(one.done() for one in others) == 7)
            await until_async(lambda: silent.connections > 0)  # the seven don't wait for it
            assert silent.connections == 1
            silent.may_break.set()
            assert await asyncio.gather(*others) == [ProviderAway] * 8

            silent.is_silent = False
            time.let_pass(AWAY_SECONDS)
            assert await asyncio.to_thread(recall) is ProviderError
            provider.close()

    with movable_time() as time:
        asyncio.run(ask())


def test_server_that_is_silent_is_a_provider_error_in_time() -> None:
    """Without a limit it would be waited for without an end."""

    async def ask() -> list[Any]:
        async with SilentServer().listen() as address:
            return await asyncio.to_thread(_everything, RedisProvider(address, timeout=0.5))

    assert [type(one) for one in asyncio.run(ask())] == [ProviderAway] * 5


@pytest.mark.parametrize("space", ["", "a{b", "a}b"])
def test_space_that_could_be_mistaken_for_another_is_refused(space: str) -> None:
    with pytest.raises(InvalidInput, match="space"):
        RedisProvider("redis://127.0.0.1", space=space)


@pytest.mark.parametrize("url", ["", "127.0.0.1:6379", "http://127.0.0.1"])
def test_address_of_no_server_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="url"):
        RedisProvider(url)


def test_moment_is_kept_to_the_microsecond() -> None:
    moment = datetime(2255, 6, 5, 23, 47, 34, 740_991, UTC)

    assert from_ticks(str(to_ticks(moment))) == moment


def test_empty_key_names_nothing(make_redis: Make) -> None:
    memory: Memory = make_redis()
    memory.store("k", 1)

    assert memory.recall(key="") == []
    assert memory.delete("") is False
    assert memory.history("") == []
    assert memory.recall()[0].value == 1
