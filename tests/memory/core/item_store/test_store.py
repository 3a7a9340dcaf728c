"""The lowest layer, row by row of the design it comes from.

| requirement | test |
|---|---|
| F1 save, get, delete, list | ``test_saved_item_…``, ``test_deleted_item_…``, ``test_list_…`` |
| F6 pluggable, NF5 modular | ``store`` fixture: the same table against a store of another kind |
| F7 eviction; three policies; after ``save`` | ``test_ttl_…``, ``test_capacity_…``, ``test_none_…``, ``test_check_interval_…`` |
| NF2 errors | ``test_item_that_makes_no_sense_…``, tests of ``MemoryFault`` in ``test_errors`` |
| NF3 thread safety | ``test_many_threads_…`` |
| NF4 asynchronous | every call is awaited |
| 4.5 serialisation | ``test_item_written_as_json_…`` |
| NF1 no embedding, 8 size and documentation | ``test_store_needs_nothing_…``, ``test_modules_…``, ``test_everything_public_…`` |
"""

import inspect
import json
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from config.env import ROOT
from memory.core import errors
from memory.core.errors import InvalidInput, Serialization
from memory.core.item_store import eviction, provider_store
from memory.core.item_store import store as store_module
from memory.core.item_store.eviction import Capacity, EvictionConfig, NoEviction, Ttl
from memory.core.item_store.provider_store import ProviderStore
from memory.core.item_store.store import InMemoryStore, MemoryFilter, MemoryItem, MemoryStore
from memory.providers.in_memory import InMemoryProvider
from memory.providers.items import ItemProvider
from tests.support.documented_store import load_store


START = datetime(2026, 6, 7, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def item(name: str, seconds: float = 0, content: str = "text", metadata: Any = None) -> MemoryItem:
    return MemoryItem(name, content, metadata or {}, at(seconds))


class Hand:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture(params=["in_memory", "provider", "documented", "there and back"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> MemoryStore:
    match request.param:
        case "in_memory":
            return InMemoryStore()
        case "provider":
            return ProviderStore(InMemoryProvider(), "global:store")
        case "documented":
            return load_store()(tmp_path / "memory.db")  # type: ignore[call-arg]
        case _:  # a store on a provider on a store
            return ProviderStore(ItemProvider(InMemoryStore()), "global:store")


def ids(store: MemoryStore, **filter_: Any) -> list[str]:
    return [found.id for found in store.list(MemoryFilter(**filter_))]


def fill(store: MemoryStore, *items: MemoryItem) -> None:
    for one in items:
        store.save(one)


def test_saved_item_comes_back_unchanged(store: MemoryStore) -> None:
    saved = item("a", 1.5, "你好 and 🐈", {"tags": ["x"], "n": {"deep": None}})
    store.save(saved)

    assert store.get("a") == saved


def test_item_that_is_not_there_is_none(store: MemoryStore) -> None:
    assert store.get("nobody") is None


def test_saving_the_same_id_overwrites(store: MemoryStore) -> None:
    fill(store, item("a", 1, "old"), item("a", 2, "new"))

    assert store.list() == [item("a", 2, "new")]


def test_deleted_item_is_gone_and_deleting_it_again_is_no_mistake(store: MemoryStore) -> None:
    fill(store, item("a"), item("b"))
    store.delete("a")
    store.delete("a")

    assert store.get("a") is None
    assert ids(store) == ["b"]


def test_list_is_oldest_first_with_ties_by_id(store: MemoryStore) -> None:
    fill(store, item("z", 1), item("b", 2), item("a", 2), item("y", 0))

    assert ids(store) == ["y", "z", "a", "b"]


@pytest.mark.parametrize(
    ("filter_", "expected"),
    [
        ({"prefix": "chat:"}, ["chat:1", "chat:2", "chat:3"]),
        ({"prefix": "nothing"}, []),
        ({"prefix": ""}, ["chat:1", "page:1", "chat:2", "chat:3"]),
        ({"since": at(2)}, ["chat:2", "chat:3"]),
        ({"since": at(99)}, []),
        ({"limit": 2}, ["chat:1", "page:1"]),
        ({"limit": 0}, []),
        ({"limit": 99}, ["chat:1", "page:1", "chat:2", "chat:3"]),
        ({"prefix": "chat:", "since": at(1), "limit": 1}, ["chat:2"]),
    ],
)
def test_list_filter_lets_through(
    store: MemoryStore, filter_: dict[str, Any], expected: list[str]
) -> None:
    fill(store, item("chat:1", 0), item("page:1", 1), item("chat:2", 2), item("chat:3", 3))

    assert ids(store, **filter_) == expected


def test_changing_what_was_given_or_taken_changes_nothing_inside(store: MemoryStore) -> None:
    metadata = {"list": [1]}
    store.save(item("a", metadata=metadata))
    metadata["list"].append(2)
    found = store.get("a")
    assert found is not None
    found.metadata["list"].append(3)

    assert store.get("a") == item("a", metadata={"list": [1]})


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"id": ""}, InvalidInput),
        ({"id": "nul\x00"}, InvalidInput),
        ({"content": "\ud800"}, InvalidInput),
        ({"metadata": {"x": float("nan")}}, Serialization),
        ({"metadata": {1: 2}}, Serialization),
        ({"created_at": datetime(2026, 1, 1)}, InvalidInput),  # noqa: DTZ001 - what is refused
    ],
)
def test_item_that_makes_no_sense_is_refused(
    store: MemoryStore, wrong: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        store.save(MemoryItem(**{"id": "a", "content": "text", "created_at": START, **wrong}))

    assert store.list() == []


def test_filter_that_makes_no_sense_is_refused(store: MemoryStore) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        store.list(MemoryFilter(limit=-1))
    with pytest.raises(InvalidInput, match="since"):
        store.list(MemoryFilter(since=datetime(2026, 1, 1)))  # noqa: DTZ001


# -- eviction ---------------------------------------------------------------------------------------


def test_none_is_the_default_and_drops_nothing() -> None:
    clock = Hand()
    store = InMemoryStore(clock=clock)
    assert EvictionConfig() == EvictionConfig(NoEviction(), 1)

    for number in range(500):
        store.save(item(f"{number:03}", number))
    clock.now = at(10**8)
    store.save(item("last", 500))

    assert len(store.list()) == 501


def test_ttl_drops_what_is_older_at_the_next_save() -> None:
    clock = Hand()
    store = InMemoryStore(EvictionConfig(Ttl(60)), clock=clock)
    fill(store, item("old", 0), item("young", 30))

    clock.now = at(59.999)
    store.save(item("x", 59))
    assert ids(store) == ["old", "young", "x"]

    clock.now = at(60)  # as old as it may be, and no longer kept
    store.save(item("y", 60))
    assert ids(store) == ["young", "x", "y"]


def test_ttl_drops_nothing_without_a_save() -> None:
    clock = Hand()
    store = InMemoryStore(EvictionConfig(Ttl(60)), clock=clock)
    store.save(item("old", 0))
    clock.now = at(600)

    assert ids(store) == ["old"]


def test_capacity_keeps_the_newest_whatever_the_order_they_came_in() -> None:
    store = InMemoryStore(EvictionConfig(Capacity(3)))
    fill(store, *(item(f"i{second}", second) for second in (4, 1, 5, 2, 3)))

    assert ids(store) == ["i3", "i4", "i5"]


def test_capacity_never_drops_when_an_item_is_only_overwritten() -> None:
    store = InMemoryStore(EvictionConfig(Capacity(2)))
    fill(store, item("a", 1), item("b", 2), item("b", 3), item("b", 4))

    assert ids(store) == ["a", "b"]


def test_capacity_of_equally_old_items_drops_by_id() -> None:
    store = InMemoryStore(EvictionConfig(Capacity(2)))
    fill(store, item("c"), item("a"), item("b"))

    assert ids(store) == ["b", "c"]


def test_check_interval_looks_every_so_many_writes() -> None:
    store = InMemoryStore(EvictionConfig(Capacity(1), check_interval=3))
    sizes = []
    for number in range(7):
        store.save(item(f"i{number}", number))
        sizes.append(len(store.list()))

    assert sizes == [1, 2, 1, 2, 3, 1, 2]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Ttl(0),
        lambda: Ttl(-1),
        lambda: Capacity(-1),
        lambda: EvictionConfig(check_interval=0),
    ],
)
def test_eviction_that_makes_no_sense_is_refused(make: Any) -> None:
    with pytest.raises(InvalidInput):
        make()


# -- threads and JSON -------------------------------------------------------------------------------


def test_many_threads_save_delete_and_list_without_losing_any() -> None:
    store = InMemoryStore(EvictionConfig(Capacity(10_000)))
    broke: list[BaseException] = []

    def work(thread: int) -> None:
        try:
            for number in range(100):
                store.save(item(f"{thread}:{number}", number))
                store.list(MemoryFilter(prefix=f"{thread}:"))
                if number % 2:
                    store.delete(f"{thread}:{number}")
        except BaseException as error:
            broke.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert broke == []
    assert len(store.list()) == 8 * 50


def test_item_written_as_json_is_read_back_the_same() -> None:
    written = item("a", 1.25, "内容", {"a": [1, None]})

    read = MemoryItem.from_json(json.loads(json.dumps(written.to_json())))

    assert read == written


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {**item("a").to_json(), "created_at": "yesterday"},
        {**item("a").to_json(), "content": 7},
        {**item("a").to_json(), "id": None},
    ],
)
def test_json_that_is_no_item_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(Serialization):
        MemoryItem.from_json(broken)


def test_item_made_without_a_time_is_of_now() -> None:
    before = datetime.now(UTC)

    made = MemoryItem("a", "text")

    assert before <= made.created_at <= datetime.now(UTC)
    assert made.metadata == {}


# -- what the modules are like ----------------------------------------------------------------------

MODULES = [errors, eviction, provider_store, store_module]


def test_store_needs_nothing_but_python() -> None:
    """No embedding, no database, no framework comes along with the lowest layer."""
    code = (
        "import sys; import memory.core.item_store.store, memory.core.item_store.eviction;"
        "print(sorted({name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "['__main__', 'config', 'memory']"


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_modules_have_three_hundred_lines_at_most(module: ModuleType) -> None:
    assert len(inspect.getsource(module).splitlines()) <= 300


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_everything_public_is_documented(module: ModuleType) -> None:
    public = [
        one
        for name, one in vars(module).items()
        if isinstance(one, type) and one.__module__ == module.__name__ and name[0] != "_"
    ]

    assert public
    assert module.__doc__
    assert [one.__name__ for one in public if not one.__dict__.get("__doc__")] == []
