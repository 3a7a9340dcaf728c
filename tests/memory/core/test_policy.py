import pytest

from memory.core.errors import AccessDenied, QuotaExceeded
from memory.core.policy import MemorySecurityPolicy, check_namespace, check_room, check_value


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


def test_room_counts_what_would_be_there_afterwards() -> None:
    policy = MemorySecurityPolicy(max_entries_per_namespace=2, max_namespace_bytes=10)

    check_room(policy, "user:x", entries=2, size=10)
    with pytest.raises(QuotaExceeded, match="2 entries"):
        check_room(policy, "user:x", entries=3, size=1)
    with pytest.raises(QuotaExceeded, match="10 bytes"):
        check_room(policy, "user:x", entries=1, size=11)
