"""The policies by which a store evicts items: none, by age, or by number."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeVar

from memory.core.errors import InvalidInput


# As in ``memory.core.provider``, which needs more than the standard library.
Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class NoEviction:
    """No eviction, for knowledge, which accumulates."""


@dataclass(frozen=True, slots=True)
class Ttl:
    """Eviction by age, for general use: items older than ``ttl_seconds`` are evicted."""

    ttl_seconds: float

    def __post_init__(self) -> None:
        if not self.ttl_seconds > 0:
            raise InvalidInput("ttl_seconds: must be a positive number.")


@dataclass(frozen=True, slots=True)
class Capacity:
    """Eviction by number, for conversations, whose old messages lose value: only the newest items stay."""

    max_items: int

    def __post_init__(self) -> None:
        if self.max_items < 0:
            raise InvalidInput("max_items: must be 0 or more.")


EvictionPolicy = NoEviction | Ttl | Capacity


@dataclass(frozen=True, slots=True)
class EvictionConfig:
    """An eviction policy, which applies after every ``check_interval`` writes and never between them."""

    policy: EvictionPolicy = field(default_factory=NoEviction)
    check_interval: int = 1

    def __post_init__(self) -> None:
        if self.check_interval < 1:
            raise InvalidInput("check_interval: must be 1 or more.")


class HasCreationTime(Protocol):
    """The part of an item that eviction needs."""

    @property
    def created_at(self) -> datetime: ...


Item = TypeVar("Item", bound=HasCreationTime)


def filter_survivors(
    policy: EvictionPolicy, items: Sequence[Item], now: datetime
) -> Sequence[Item]:
    """Return the items that the policy does not evict. ``items`` are sorted by age, the oldest first."""
    match policy:
        case NoEviction():
            return items
        case Ttl(seconds):
            return [item for item in items if item.created_at > now - timedelta(seconds=seconds)]
        case Capacity(max_items):
            return items[max(0, len(items) - max_items) :]
