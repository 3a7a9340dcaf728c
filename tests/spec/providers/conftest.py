"""One provider at a time, behind the same few words, so that every table runs against each."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID, uuid4

import pytest

from memory.core.policy import NO_LIMITS, MemorySecurityPolicy
from memory.core.records import MemoryEntry, MemoryQuery, StoreParams
from memory.providers.base import MemoryProvider, Usage
from memory.providers.in_memory import InMemoryProvider
from memory.providers.items import ItemProvider
from tests.support.documented_store import load_store
from tests.support.own_server import own_server


T = TypeVar("T")

Make = Callable[..., "Memory"]


class Ticking:
    """A clock that is never twice at the same time, and that tests move."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(microseconds=1)
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class Memory:
    """A provider called from tests that are not coroutines."""

    def __init__(self, provider: MemoryProvider, clock: Ticking) -> None:
        self.provider = provider
        self.clock = clock

    def store(self, key: str, value: Any, namespace: str = "user:mia", **more: Any) -> MemoryEntry:
        return self.provider.store(StoreParams(namespace, key, value=value, **more))

    def recall(self, namespace: str = "user:mia", **query: Any) -> list[MemoryEntry]:
        return self.provider.recall(MemoryQuery(namespace, **query))

    def keys(self, namespace: str = "user:mia", **query: Any) -> list[str]:
        return [entry.key for entry in self.recall(namespace, **query)]

    def delete(self, key: str, namespace: str = "user:mia") -> bool:
        return self.provider.delete(namespace, key)

    def clear(self, namespace: str = "user:mia") -> int:
        return self.provider.clear_namespace(namespace)

    def history(self, key: str, namespace: str = "user:mia") -> list[MemoryEntry]:
        return list(self.provider.history(namespace, key))


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def together(calls: Iterable[Callable[[], T]]) -> list[T | Exception]:
    """All at once, each in a thread of its own: what they gave, or raised."""
    from django.db import connections

    def outcome(call: Callable[[], T]) -> T | Exception:
        try:
            return call()
        except Exception as error:
            return error
        finally:
            connections.close_all()

    listed = list(calls)
    with ThreadPoolExecutor(len(listed)) as threads:
        return list(threads.map(outcome, listed))


SLOW_MACHINE = 60.0  # seconds; what is late is not what is tested here

# Threads have connections of their own, so what Postgres is told must be committed.
COMMITTED = pytest.mark.django_db(transaction=True)


KINDS = [
    "in_memory",
    pytest.param("postgres", marks=COMMITTED),
    "redis",
    pytest.param("http", marks=COMMITTED),
    "documented",
    "items",
]


@pytest.fixture(params=KINDS)
def make(request: pytest.FixtureRequest) -> Make:
    """Makes memories of one kind; each has a team of its own unless one is named."""
    if request.param == "in_memory":
        return make_in_memory
    if request.param == "postgres":
        return make_postgres
    made: Make = request.getfixturevalue(f"make_{request.param}")
    return made


@pytest.fixture(scope="session")
def served(django_db_setup: None) -> Iterator[str]:
    with own_server() as url:
        yield url


class DoorClock:
    """The server's, as the door of memory asks it: that of the memory that asks right now."""

    def __init__(self) -> None:
        self.asking: Ticking | None = None

    def now(self) -> datetime:
        return self.asking() if self.asking else datetime.now(UTC)


class Asking(MemoryProvider):
    """Another installation's memory, which lives by this test's clock while it is asked."""

    def __init__(self, provider: MemoryProvider, clock: Ticking, door: DoorClock) -> None:
        self._provider, self._clock, self._door = provider, clock, door

    def store(self, params: StoreParams) -> MemoryEntry:
        return self._here().store(params)

    def recall(self, query: MemoryQuery) -> list[MemoryEntry]:
        return self._here().recall(query)

    def delete(self, namespace: str, key: str) -> bool:
        return self._here().delete(namespace, key)

    def clear_namespace(self, namespace: str) -> int:
        return self._here().clear_namespace(namespace)

    def history(self, namespace: str, key: str) -> Sequence[MemoryEntry]:
        return self._here().history(namespace, key)

    def measure(self, namespace: str) -> Usage:
        return self._here().measure(namespace)

    def _here(self) -> MemoryProvider:
        self._door.asking = self._clock
        return self._provider


@pytest.fixture
def make_http(served: str, monkeypatch: pytest.MonkeyPatch) -> Make:
    """At a real server of ours; each memory is a team of its own there, with a key and a policy."""
    from memory.providers.http import HttpProvider

    door = DoorClock()
    monkeypatch.setattr("memory.services.gateway.gateway.timezone", door)

    def make(policy: MemorySecurityPolicy = NO_LIMITS, clock: Ticking | None = None) -> Memory:
        clock = clock or Ticking()
        provider = HttpProvider(
            served, new_guest(policy), allow=["127.0.0.1:*"], timeout=SLOW_MACHINE
        )
        return Memory(Asking(provider, clock, door), clock)

    return make


def new_guest(policy: MemorySecurityPolicy = NO_LIMITS) -> str:
    """The key of another installation, in a team that is its memory."""
    from accounts.models import User
    from accounts.principals import load_user_principal
    from accounts.services import create_team, issue_key
    from accounts.tenancy import tenant
    from memory.models import Policy

    name = uuid4().hex
    owner = User.objects.create_user(f"{name}@example.org", name="Owner")
    team = create_team(owner=owner, name=name)
    _row, key = issue_key(
        principal=load_user_principal(owner),
        team=team,
        name="guest",
        scopes={"memory:read", "memory:write", "memory:serve"},
    )
    prefixes = policy.allowed_namespace_prefixes
    with tenant([team.pk]):
        Policy.objects.unscoped().create(
            team=team,
            allowed_prefixes=None if prefixes is None else list(prefixes),
            max_entries=policy.max_entries_per_namespace,
            max_value_bytes=policy.max_value_bytes,
            max_namespace_bytes=policy.max_namespace_bytes,
        )
    return key


@pytest.fixture
def make_redis(valkey_url: str) -> Iterator[Make]:
    """In a real Valkey; whose memory it is has a name of its own each time."""
    from redis import Redis

    from memory.providers.redis import RedisProvider

    spaces: list[str] = []
    providers: list[RedisProvider] = []

    def make(policy: MemorySecurityPolicy = NO_LIMITS, clock: Ticking | None = None) -> Memory:
        clock = clock or Ticking()
        spaces.append(uuid4().hex)
        provider = RedisProvider(valkey_url, space=spaces[-1], clock=clock, policy=policy)
        providers.append(provider)
        return Memory(provider, clock)

    yield make
    for provider in providers:
        provider.close()
    with Redis.from_url(valkey_url) as server:
        for space in spaces:
            for key in server.scan_iter(f"mnemoflow:memory:{{{space}:*"):
                server.delete(key)


@pytest.fixture(scope="session")
def documented_provider() -> type[MemoryProvider]:
    """The example of the guide to new providers, as it is printed there."""
    guide = (
        Path(__file__)
        .parents[3]
        .joinpath("docs/extend/add-a-memory-provider.md")
        .read_text("utf-8")
    )
    example = guide.partition("```python\n")[2].partition("```")[0]
    names: dict[str, Any] = {}
    exec(compile(example, "add-a-memory-provider.md", "exec"), names)
    provider: type[MemoryProvider] = names["FileProvider"]
    return provider


@pytest.fixture
def make_documented(documented_provider: type[MemoryProvider], tmp_path: Path) -> Make:
    def make(policy: MemorySecurityPolicy = NO_LIMITS, clock: Ticking | None = None) -> Memory:
        clock = clock or Ticking()
        space, folder = uuid4().hex, str(tmp_path)
        provider = documented_provider(space=space, folder=folder, policy=policy, clock=clock)  # type: ignore[call-arg]
        return Memory(provider, clock)

    return make


@pytest.fixture
def make_items(tmp_path: Path) -> Make:
    """Over the store of four functions that is printed in its guide."""

    def make(policy: MemorySecurityPolicy = NO_LIMITS, clock: Ticking | None = None) -> Memory:
        clock = clock or Ticking()
        store = load_store()(tmp_path / f"{uuid4().hex}.db")  # type: ignore[call-arg]
        return Memory(ItemProvider(store, policy=policy, clock=clock), clock)

    return make


@pytest.fixture
def memory(make: Make) -> Memory:
    return make()


def make_postgres(
    policy: MemorySecurityPolicy = NO_LIMITS,
    clock: Ticking | None = None,
    team_id: UUID | None = None,
) -> Memory:
    # Inline import: the tables of the in-memory provider run without Django's apps.
    from memory.providers.postgres import PostgresProvider

    clock = clock or Ticking()
    return Memory(PostgresProvider(team_id or new_team(), clock=clock, policy=policy), clock)


def new_team() -> UUID:
    from accounts.models import Team
    from config.ids import uuid7

    return Team.objects.create(name="Team", slug=uuid7().hex).pk


def make_in_memory(
    policy: MemorySecurityPolicy = NO_LIMITS, clock: Ticking | None = None
) -> Memory:
    clock = clock or Ticking()
    return Memory(InMemoryProvider(clock=clock, policy=policy), clock)
