from typing import Any

import pytest

from memory.core.errors import AccessDenied, QuotaExceeded
from memory.core.policy import (
    MIN_LABEL_BYTES,
    MemorySecurityPolicy,
    check_namespace,
    check_room,
    check_value,
)
from tests.support.steps import count_steps


def test_app_policy_narrows_the_teams_and_never_widens_it() -> None:
    team = MemorySecurityPolicy(("user:", "conv:a"), 10, None, 100)
    app = MemorySecurityPolicy(("user:x", "conv:", "global:"), 20, 5, 50)

    both = MemorySecurityPolicy(("conv:a", "user:x"), 10, 5, 50)
    narrowed = team.narrow_by(app)

    assert narrowed.allowed_namespace_prefixes is not None
    assert sorted(narrowed.allowed_namespace_prefixes) == ["conv:a", "user:x"]
    assert narrowed.max_entries_per_namespace == both.max_entries_per_namespace
    assert (narrowed.max_value_bytes, narrowed.max_namespace_bytes) == (5, 50)
    assert team.narrow_by(MemorySecurityPolicy()) == team


def test_no_prefix_at_all_allows_nothing() -> None:
    with pytest.raises(AccessDenied):
        check_namespace(MemorySecurityPolicy(()), "user:x")


def test_value_is_counted_in_utf8_bytes_of_compact_json() -> None:
    policy = MemorySecurityPolicy(max_value_bytes=9)

    assert check_value(policy, "猫猫") == 8
    with pytest.raises(QuotaExceeded):
        check_value(policy, "猫猫猫")


def test_key_and_metadata_are_part_of_the_size() -> None:
    policy = MemorySecurityPolicy(max_value_bytes=10)

    assert check_value(policy, "猫猫", key="猫", metadata={}) == 11
    assert check_value(policy, "猫猫", key="猫", metadata={"a": 1}) == 18


def test_labels_have_room_under_any_limit_of_values() -> None:
    policy = MemorySecurityPolicy(max_value_bytes=10)
    text = "x" * (MIN_LABEL_BYTES - 11)  # the key has three bytes, and {"a":""} has eight

    assert check_value(policy, "猫猫", key="猫", metadata={"a": text}) == 8 + MIN_LABEL_BYTES
    with pytest.raises(QuotaExceeded, match="Key and metadata have 1025 bytes; 1024"):
        check_value(policy, "猫猫", key="猫", metadata={"a": f"{text}x"})


@pytest.mark.parametrize(
    "large",
    [
        {"value": "x" * 10_000_000},
        {"value": 1, "metadata": {"a": "x" * 10_000_000}},
        {"value": [[]] * 1_000_000},
        {"value": [[[["x"]] * 100] * 100] * 100},
        {"value": 1, "metadata": dict.fromkeys(map(str, range(100_000)), 1)},
    ],
    ids=["text", "metadata", "list", "nested", "names"],
)
def test_what_is_far_too_large_is_refused_before_it_is_read(
    large: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("memory.core.policy.count_bytes")  # it would write all of it as JSON
    limit = 256 * 1024

    with count_steps(20 * limit), pytest.raises(QuotaExceeded, match="more than 262144 bytes"):
        check_value(MemorySecurityPolicy(max_value_bytes=limit), key="a", **large)


def test_room_counts_what_would_be_there_afterwards() -> None:
    policy = MemorySecurityPolicy(max_entries_per_namespace=2, max_namespace_bytes=10)

    check_room(policy, "user:x", entries=2, size=10)
    with pytest.raises(QuotaExceeded, match="2 entries"):
        check_room(policy, "user:x", entries=3, size=1)
    with pytest.raises(QuotaExceeded, match="10 bytes"):
        check_room(policy, "user:x", entries=1, size=11)
