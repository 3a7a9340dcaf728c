"""Rows about the provider over a store of four functions that no other provider has."""

from pathlib import Path
from typing import Any

import pytest

from memory.core.errors import Serialization
from memory.core.item_store.store import InMemoryStore, MemoryItem
from memory.core.records import MemoryQuery, StoreParams
from memory.providers.items import SWEEP_INTERVAL, ItemProvider
from tests.spec.providers.conftest import Ticking
from tests.support.documented_store import list_examples


HERE = "user:mia"


def store_all(provider: ItemProvider, values: dict[str, Any], **more: Any) -> None:
    for key, value in values.items():
        provider.store(StoreParams(HERE, key, value=value, **more))


def test_guide_gives_a_conversation_and_pages_to_four_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """seed 4, F6: whoever implements save, get, delete and list has conversations and knowledge."""
    monkeypatch.chdir(tmp_path)
    store, use = list_examples()
    names: dict[str, Any] = {}

    exec(compile(f"{store}\n{use}", "guide", "exec"), names)

    assert [message.content for message in names["history"]] == ["How is green tea brewed?"]
    assert [hit.page.title for hit in names["hits"]] == ["Green tea"]
    again = names["ItemProvider"](names["SqliteStore"](tmp_path / "memory.db"))
    assert names["KnowledgeStore"]("global:wiki", again).get_page("green-tea")


def test_text_is_an_items_content_and_a_deleted_entry_leaves_nothing_of_it() -> None:
    store = InMemoryStore()
    provider = ItemProvider(store)
    store_all(provider, {"a": "first", "b": {"n": 1}}, metadata={"group": "g"})
    store_all(provider, {"a": "second"}, metadata={"group": "g"})

    items = {item.id: item.content for item in store.list()}
    assert items == {
        "user:mia::a": "second", "user:mia::b": '{"n":1}', "positions::user:mia": '{"g":2}',
    }  # fmt: skip

    provider.clear_namespace(HERE)
    assert [item.id for item in store.list()] == ["positions::user:mia"]


def test_expired_items_leave_the_store_in_time() -> None:
    store, clock = InMemoryStore(), Ticking()
    provider = ItemProvider(store, clock=clock)
    store_all(provider, {"short": "text"}, ttl_seconds=1)
    clock.sleep(2)

    for number in range(SWEEP_INTERVAL):
        store_all(provider, {f"k{number}": number})

    assert store.get("user:mia::short") is None


def test_deleted_and_expired_entries_are_not_found_at_past_moments_either() -> None:
    clock = Ticking()
    provider = ItemProvider(InMemoryStore(), clock=clock)
    store_all(provider, {"short": "first"})
    store_all(provider, {"short": "second"}, ttl_seconds=1)
    store_all(provider, {"deleted": "text", "stays": "old"})
    then = clock()
    store_all(provider, {"stays": "new"})
    provider.delete(HERE, "deleted")
    clock.sleep(2)

    assert [entry.value for entry in provider.recall(MemoryQuery(HERE, as_of=then))] == ["old"]


def test_key_that_begins_like_a_separator_is_another_entry() -> None:
    provider = ItemProvider(InMemoryStore())
    store_all(provider, {":": 1, "::": 2, "a::b": 3})
    provider.store(StoreParams("user:mia2", "a", value=4))

    assert {entry.key: entry.value for entry in provider.recall(MemoryQuery(HERE))} == {
        ":": 1, "::": 2, "a::b": 3,
    }  # fmt: skip


@pytest.mark.parametrize("metadata", [{}, [], {"entry": {}, "is_text": True}, {"entry": 3}])
def test_item_that_is_no_entry_is_named(metadata: Any) -> None:
    store = InMemoryStore()
    store.save(MemoryItem("user:mia::odd", "text", metadata))

    with pytest.raises(Serialization, match="user:mia::odd is not an entry"):
        ItemProvider(store).recall(MemoryQuery(HERE))
