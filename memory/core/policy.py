"""The limits of a team's policy: namespaces, entries and bytes."""

from dataclasses import dataclass

from memory.core.errors import AccessDenied, QuotaExceeded, ValueTooLarge
from memory.core.records import Json
from memory.core.values import size_of


@dataclass(frozen=True, slots=True)
class MemorySecurityPolicy:
    """``None`` means no limit of this kind."""

    allowed_namespace_prefixes: tuple[str, ...] | None = None
    max_entries_per_namespace: int | None = None
    max_value_bytes: int | None = None
    max_namespace_bytes: int | None = None

    def narrowed_by(self, other: "MemorySecurityPolicy") -> "MemorySecurityPolicy":
        """Both apply: an app's policy can tighten its team's, never widen it."""
        return MemorySecurityPolicy(
            _both(self.allowed_namespace_prefixes, other.allowed_namespace_prefixes),
            _least(self.max_entries_per_namespace, other.max_entries_per_namespace),
            _least(self.max_value_bytes, other.max_value_bytes),
            _least(self.max_namespace_bytes, other.max_namespace_bytes),
        )


NO_LIMITS = MemorySecurityPolicy()


def check_namespace(policy: MemorySecurityPolicy, namespace: str) -> None:
    allowed = policy.allowed_namespace_prefixes
    if allowed is not None and not any(namespace.startswith(prefix) for prefix in allowed):
        raise AccessDenied(f"The memory policy does not allow {namespace}.")


def check_value(policy: MemorySecurityPolicy, value: Json) -> int:
    """The value's size, if the policy lets it in."""
    size = size_of(value)
    if policy.max_value_bytes is not None and size > policy.max_value_bytes:
        raise ValueTooLarge(f"The value has {size} bytes; {policy.max_value_bytes} are allowed.")
    return size


def check_room(policy: MemorySecurityPolicy, namespace: str, *, entries: int, size: int) -> None:
    """``entries`` and ``size`` are what the namespace would hold after the write."""
    most = policy.max_entries_per_namespace
    if most is not None and entries > most:
        raise QuotaExceeded(f"{namespace} is full: {most} entries are allowed.")
    widest = policy.max_namespace_bytes
    if widest is not None and size > widest:
        raise QuotaExceeded(f"{namespace} is full: {widest} bytes are allowed.")


def _least(one: int | None, other: int | None) -> int | None:
    limits = [limit for limit in (one, other) if limit is not None]
    return min(limits) if limits else None


def _both(one: tuple[str, ...] | None, other: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Prefixes allowed by both: of two that overlap, the longer."""
    if one is None or other is None:
        return other if one is None else one
    shared = [a for a in one if any(a.startswith(b) for b in other)]
    shared += [b for b in other if any(b.startswith(a) for a in one) and b not in shared]
    return tuple(shared)
