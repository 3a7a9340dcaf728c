"""What goes in comes out: storing, overwriting, forgetting, expiring, limits."""

from functools import partial
from typing import Any

import pytest

from memory.core.errors import AccessDenied, InvalidInput, MemoryFault, QuotaExceeded, Serialization
from memory.core.policy import MIN_LABEL_BYTES, MemorySecurityPolicy
from memory.core.records import Source, Tier
from tests.spec.providers.conftest import Make, Memory, together


VALUES = [
    "text",
    "",
    "日本語 and 🐈 and \u200d",
    'quotes " and \\ and\nnewlines',
    0,
    -3,
    2**70,
    1.5,
    True,
    False,
    None,
    [],
    {},
    {"a": [1, {"b": None}], "ключ": "значение"},
]


def test_any_json_stored_comes_back_unchanged(memory: Memory) -> None:
    for number, value in enumerate(VALUES):
        memory.store(f"key {number}", value, metadata={"m": value})

        (entry,) = memory.recall(key=f"key {number}")

        assert (entry.value, entry.metadata) == (value, {"m": value})
        assert type(entry.value) is type(value), value


def test_entry_stored_has_everything_it_was_given(memory: Memory) -> None:
    stored = memory.store(
        "key",
        "value",
        metadata={"a": 1},
        category="learning",
        tier=Tier.WORKING,
        importance=0.9,
        ttl_seconds=60,
        source=Source(actor="user:1", run_id="r", node_id="n"),
    )

    (recalled,) = memory.recall(key="key")

    assert recalled == stored
    assert (stored.namespace, stored.key, stored.value) == ("user:mia", "key", "value")
    assert (stored.category, stored.tier, stored.importance) == ("learning", Tier.WORKING, 0.9)
    assert stored.source == Source(actor="user:1", run_id="r", node_id="n")
    assert stored.created_at is not None
    assert stored.expires_at is not None
    assert (stored.expires_at - stored.created_at).total_seconds() == 60
    assert (stored.revision, stored.score) == (1, None)


def test_same_key_overwrites_and_the_old_value_stays_in_history(memory: Memory) -> None:
    first = memory.store("key", "one", metadata={"n": 1})
    second = memory.store("key", "two")

    assert [entry.value for entry in memory.recall()] == ["two"]
    assert (second.id, second.revision, second.metadata) == (first.id, 2, {})
    assert second.created_at == first.created_at
    assert [(old.revision, old.value, old.metadata) for old in memory.history("key")] == [
        (1, "one", {"n": 1}),
        (2, "two", {}),
    ]


@pytest.mark.parametrize("tier", [Tier.WORKING, Tier.LONG_TERM])
def test_alike_values_are_there_under_each_key(memory: Memory, tier: Tier) -> None:
    values = {"a": "Mia likes green tea", "said_r1": "mia likes green tea."}
    for namespace in ("user:mia", "ai:notes:r1", "ai:memory:w:g"):
        for key, value in values.items():
            stored = memory.store(key, value, namespace, tier=tier, source=Source(run_id="r1"))
            [entry] = memory.recall(namespace, key=stored.key)

            assert (stored.key, entry.id, entry.value) == (key, stored.id, value), namespace


def test_changing_what_was_recalled_does_not_change_memory(memory: Memory) -> None:
    value = {"list": [1]}
    memory.store("key", value)
    value["list"].append(2)
    memory.recall(key="key")[0].value["list"].append(3)

    assert memory.recall(key="key")[0].value == {"list": [1]}


def test_namespaces_never_meet(memory: Memory) -> None:
    memory.store("key", "hers", "user:mia")
    memory.store("key", "his", "user:tom")
    memory.store("key", "ours", "conv:mia")

    assert [e.value for e in memory.recall("user:mia")] == ["hers"]
    assert [e.value for e in memory.recall("user:tom", query_text="his hers ours")] == ["his"]
    assert memory.recall("user:nobody") == []


def test_teams_with_the_same_namespace_never_meet(make: Make) -> None:
    one, other = make(), make()
    one.store("key", "one")
    other.store("key", "other")
    one.delete("key")

    assert one.recall() == []
    assert [entry.value for entry in other.recall()] == ["other"]


def test_delete_says_whether_there_was_anything(memory: Memory) -> None:
    memory.store("key", "value")

    assert memory.delete("key") is True
    assert memory.delete("key") is False
    assert memory.delete("key", "user:nobody") is False
    assert memory.recall() == []
    assert memory.history("key") == []


def test_key_deleted_and_stored_again_is_a_new_entry(memory: Memory) -> None:
    first = memory.store("key", "one")
    memory.delete("key")
    second = memory.store("key", "two")

    assert second.id != first.id
    assert second.revision == 1
    assert [old.value for old in memory.history("key")] == ["two"]


def test_clear_empties_one_namespace_and_says_how_much(memory: Memory) -> None:
    memory.store("a", 1)
    memory.store("b", 2)
    memory.store("a", 3, "user:tom")

    assert memory.clear() == 2
    assert memory.clear() == 0
    assert memory.recall() == []
    assert memory.keys("user:tom") == ["a"]


def test_entry_is_gone_at_the_instant_it_expires(memory: Memory) -> None:
    entry = memory.store("key", "soon gone", ttl_seconds=60)
    assert entry.expires_at is not None

    memory.clock.sleep(59.9)
    assert memory.keys() == ["key"]
    assert memory.keys(query_text="gone") == ["key"]

    memory.clock.now = entry.expires_at.replace(microsecond=entry.expires_at.microsecond - 1)
    assert memory.clock.now < entry.expires_at  # the next look is at exactly that instant
    assert memory.recall() == []
    assert memory.recall(key="key") == []
    assert memory.recall(query_text="gone") == []
    assert memory.history("key") == []
    assert memory.delete("key") is False


def test_expired_key_stored_again_starts_anew(memory: Memory) -> None:
    first = memory.store("key", "one", ttl_seconds=1)
    memory.clock.sleep(2)
    second = memory.store("key", "two")

    assert (second.revision, second.expires_at) == (1, None)
    assert second.id != first.id


def test_expired_entries_give_their_room_back(make: Make) -> None:
    memory = make(MemorySecurityPolicy(max_entries_per_namespace=1))
    memory.store("a", 1, ttl_seconds=1)
    memory.clock.sleep(2)

    memory.store("b", 2)

    assert memory.keys() == ["b"]


def test_overwriting_without_ttl_takes_the_end_away(memory: Memory) -> None:
    memory.store("key", "one", ttl_seconds=1)
    memory.store("key", "two")
    memory.clock.sleep(5)

    assert memory.keys() == ["key"]


def test_quarantine_is_never_recalled(memory: Memory) -> None:
    memory.store("key", "secret", tier=Tier.QUARANTINE)

    ways: tuple[dict[str, Any], ...] = (
        *({}, {"key": "key"}, {"query_text": "secret"}),
        {"filter": {}},
    )
    assert [memory.recall(**way) for way in ways] == [[]] * len(ways)


def test_namespace_full_refuses_new_keys_but_not_overwrites(make: Make) -> None:
    memory = make(MemorySecurityPolicy(max_entries_per_namespace=2))
    memory.store("a", 1)
    memory.store("b", 2)

    with pytest.raises(QuotaExceeded, match="user:mia is full: 2 entries"):
        memory.store("c", 3)

    memory.store("a", 4)
    memory.store("c", 3, "user:tom")
    memory.delete("b")
    memory.store("c", 3)
    assert sorted(memory.keys()) == ["a", "c"]


def test_bytes_of_a_namespace_are_counted_exactly(make: Make) -> None:
    memory = make(MemorySecurityPolicy(max_namespace_bytes=14))
    memory.store("a", "1234")  # with its quotes and its key, 7
    memory.store("b", "1234")

    with pytest.raises(QuotaExceeded, match="14 bytes"):
        memory.store("c", 1)
    with pytest.raises(QuotaExceeded):
        memory.store("b", "12345")

    memory.store("b", "12")
    memory.store("c", 1)
    assert sorted(memory.keys()) == ["a", "b", "c"]


def test_entries_and_their_bytes_are_counted_without_those_that_are_over(make: Make) -> None:
    memory = make()
    memory.store("猫", 1, metadata={"tags": ["é"]})  # 3 + 1 + 15 bytes
    memory.store("old", 1, ttl_seconds=60)
    memory.store("gone", 1)
    memory.delete("gone")
    memory.store("elsewhere", 1, "user:tom")
    before = memory.provider.measure("user:mia")
    memory.clock.sleep(61)

    after = memory.provider.measure("user:mia")

    assert (before.entries, before.size) in [(2, 23), (2, None)]
    assert (after.entries, after.size) in [(1, 19), (1, None)]
    assert memory.provider.measure("user:nobody").entries == 0


def test_value_bytes_are_utf8_of_compact_json(make: Make) -> None:
    memory = make(MemorySecurityPolicy(max_value_bytes=13))
    memory.store("fits", {"a": ["猫"]})  # {"a":["猫"]} is 11 characters, 13 bytes

    with pytest.raises(QuotaExceeded, match="14 bytes; 13"):
        memory.store("large", {"a": ["猫x"]})


def test_key_and_metadata_count_as_bytes_like_the_value(make: Make) -> None:
    most = MIN_LABEL_BYTES + 6
    memory = make(MemorySecurityPolicy(max_value_bytes=most))
    memory.store("a" * 391, 1, metadata={"tags": "é" * 314})  # {"tags":"…"} has 11 bytes more

    with pytest.raises(QuotaExceeded, match=f"{most + 1} bytes; {most}"):
        memory.store("a" * 392, 1, metadata={"tags": "é" * 314})
    with pytest.raises(QuotaExceeded, match=f"{most + 2} bytes; {most}"):
        memory.store("a" * 391, 1, metadata={"tags": "é" * 315})


def test_labels_of_the_product_fit_under_a_narrow_limit_of_values(make: Make) -> None:
    memory = make(MemorySecurityPolicy(max_value_bytes=5))

    memory.store("a" * 400, "tea", metadata={"role": "user", "at": "2026-01-01T00:00:00+00:00"})

    with pytest.raises(QuotaExceeded, match="6 bytes; 5"):
        memory.store("b", "teas", metadata={})
    with pytest.raises(QuotaExceeded, match=f"{MIN_LABEL_BYTES} are allowed"):
        memory.store("b", "tea", metadata={"tags": "é" * MIN_LABEL_BYTES})


def test_key_and_metadata_take_room_of_the_namespace(make: Make) -> None:
    memory = make(MemorySecurityPolicy(max_namespace_bytes=40))
    memory.store("猫", 1, metadata={"tags": ["é"]})  # 3 + 1 + {"tags":["é"]}, which has 15 bytes

    with pytest.raises(QuotaExceeded, match="40 bytes"):
        memory.store("b" * 6, 1, metadata={"tags": ["é"]})
    memory.store("b" * 5, 1, metadata={"tags": ["é"]})
    memory.store("猫", 1, metadata={})
    memory.store("c" * 14, 1)
    assert sorted(memory.keys()) == ["bbbbb", "cccccccccccccc", "猫"]


def test_policy_prefixes_are_the_only_namespaces(make: Make) -> None:
    memory = make(MemorySecurityPolicy(allowed_namespace_prefixes=("user:",)))
    memory.store("a", 1)

    for refused in (memory.recall, memory.clear):
        with pytest.raises(AccessDenied, match="global:x"):
            refused("global:x")
    with pytest.raises(AccessDenied):
        memory.store("a", 1, "global:x")
    with pytest.raises(AccessDenied):
        memory.delete("a", "global:x")


REFUSED: list[tuple[dict[str, Any], type[MemoryFault]]] = [
    ({"key": ""}, InvalidInput),
    ({"key": "k" * 401}, InvalidInput),
    ({"key": "nul\x00"}, InvalidInput),
    ({"value": "nul\x00"}, InvalidInput),
    ({"value": "\ud800"}, InvalidInput),
    ({"value": float("nan")}, Serialization),
    ({"value": [float("inf")]}, Serialization),
    ({"value": {1: 2}}, Serialization),
    ({"value": ...}, Serialization),
    ({"metadata": {"x": {1, 2}}}, Serialization),
    ({"metadata": [1]}, InvalidInput),
    ({"category": "No Such"}, InvalidInput),
    ({"importance": 1.1}, InvalidInput),
    ({"ttl_seconds": 0}, InvalidInput),
    ({"ttl_seconds": -1}, InvalidInput),
]


def test_what_makes_no_sense_is_refused(memory: Memory) -> None:
    for wrong, error in REFUSED:
        with pytest.raises(error):
            memory.store(**{"key": "key", "value": "value", **wrong})

        assert memory.recall() == [], wrong


def test_value_nested_too_deep_is_refused(memory: Memory) -> None:
    deep: Any = 1
    for _ in range(70):
        deep = [deep]

    with pytest.raises(InvalidInput, match="deep"):
        memory.store("key", deep)


def test_concurrent_writers_of_one_key_leave_every_revision(memory: Memory) -> None:
    together(partial(memory.store, "key", number) for number in range(8))

    assert [old.revision for old in memory.history("key")] == list(range(1, 9))
    assert sorted(old.value for old in memory.history("key")) == list(range(8))


def test_concurrent_writers_at_the_limit_store_exactly_the_limit(make: Make) -> None:
    memory = make(MemorySecurityPolicy(max_entries_per_namespace=5))

    results = together(partial(memory.store, f"k{number}", number) for number in range(12))

    assert sum(isinstance(one, QuotaExceeded) for one in results) == 7
    assert len(memory.recall()) == 5


def test_write_is_visible_to_the_very_next_recall(memory: Memory) -> None:
    memory.store("key", "value")

    assert [entry.value for entry in memory.recall(key="key")] == ["value"]
