"""What the shared tables can't ask: agreement with the oracle at random, the server's own clock, a dead server."""

import asyncio
import time
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
    def both() -> Any:
        provider = own_clock(valkey_url, space)
        stored = provider.store(StoreParams("ai:notes:r", "k", value="v", ttl_seconds=2))
        early = provider.recall(MemoryQuery("ai:notes:r"))
        time.sleep(2.01)
        late = provider.recall(MemoryQuery("ai:notes:r"))
        provider.close()
        return stored, early, late

    stored, early, late = both()

    assert abs((stored.created_at - datetime.now(UTC)).total_seconds()) < 5
    assert stored.expires_at - stored.created_at == timedelta(seconds=2)
    assert [entry.value for entry in early] == ["v"]
    assert late == []


def test_namespace_where_everything_ends_leaves_nothing_behind(valkey_url: str, space: str) -> None:
    def write() -> Any:
        provider = own_clock(valkey_url, space, past_kept=timedelta(seconds=1))
        provider.store(StoreParams("ai:notes:r", "k", value="v", ttl_seconds=1))
        provider.close()

    write()
    assert keys_of(valkey_url, space) == ["bytes", "ends", "log", "rows"]

    time.sleep(2.1)
    assert keys_of(valkey_url, space) == []


def test_namespace_where_something_stays_stays_whole(valkey_url: str, space: str) -> None:
    def write() -> Any:
        provider = own_clock(valkey_url, space, past_kept=timedelta(seconds=0.05))
        provider.store(StoreParams("user:mia", "ends", value="v", ttl_seconds=0.05))
        provider.store(StoreParams("user:mia", "stays", value="v"))
        time.sleep(0.2)
        found = provider.recall(MemoryQuery("user:mia"))
        provider.clear_namespace("user:mia")
        provider.close()
        return found

    assert [entry.key for entry in write()] == ["stays"]
    time.sleep(0.1)
    assert keys_of(valkey_url, space) == []  # emptied, nothing keeps it


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


def test_silent_server_keeps_one_thread_waiting_and_is_found_again() -> None:
    """It accepts connections all the time, and begins to answer later."""

    async def ask() -> tuple[list[float], list[Any]]:
        is_mute = True

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while await reader.read(65_536):
                if not is_mute:
                    writer.write(b"-ERR found\r\n")
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        provider = RedisProvider(f"redis://127.0.0.1:{port}/0", timeout=2)

        def recall() -> tuple[float, Any]:
            began = time.monotonic()
            try:
                return 0.0, provider.recall(MemoryQuery("user:mia"))
            except ProviderError as error:
                return time.monotonic() - began, error

        await asyncio.to_thread(recall)
        await asyncio.sleep(AWAY_SECONDS)
        others = await asyncio.gather(*(asyncio.to_thread(recall) for _ in range(8)))
        seconds = [took for took, _error in others]
        is_mute = False
        async with asyncio.timeout(30):
            while type((await asyncio.to_thread(recall))[1]) is not ProviderError:
                await asyncio.sleep(0.05)
        provider.close()
        server.close()
        return seconds, [error for _took, error in others]

    seconds, errors = asyncio.run(ask())

    assert [type(error) for error in errors] == [ProviderAway] * 8
    assert sum(took > 1.8 for took in seconds) <= 1


def test_server_that_is_silent_is_a_provider_error_in_time() -> None:
    async def ask() -> tuple[list[Any], float]:
        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        began = time.monotonic()
        done = await asyncio.to_thread(
            _everything, RedisProvider(f"redis://127.0.0.1:{port}/0", timeout=0.5)
        )
        took = time.monotonic() - began
        server.close()
        return done, took

    done, took = asyncio.run(ask())

    assert [type(one) for one in done] == [ProviderAway] * 5
    assert took < 15  # without a limit it waits for ever


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
