"""The limits of a memory policy and their checks: allowed namespaces, entries per namespace, and bytes."""

from collections.abc import Mapping
from dataclasses import dataclass

from memory.core.errors import AccessDenied, QuotaExceeded, ValueTooLarge
from memory.core.records import Json, StoreParams
from memory.core.values import check_params, count_bytes, count_label_bytes, has_more_bytes


Prefixes = tuple[str, ...]

# Keys and metadata that the product itself writes fit into this: a message has its role, time and group, a fact its attribute.
MIN_LABEL_BYTES = 1_024


@dataclass(frozen=True, slots=True)
class MemorySecurityPolicy:
    """The limits of a team or an app. None means that there is no such limit.

    ``max_value_bytes`` limits the value of an entry and, likewise, its key and its metadata together, for which there is
    always room for ``MIN_LABEL_BYTES``.
    """

    allowed_namespace_prefixes: Prefixes | None = None
    max_entries_per_namespace: int | None = None
    max_value_bytes: int | None = None
    max_namespace_bytes: int | None = None

    def narrow_by(self, other: "MemorySecurityPolicy") -> "MemorySecurityPolicy":
        """Return the policy under which both apply: an app's policy can tighten its team's and never widen it."""
        return MemorySecurityPolicy(
            _intersect_prefixes(self.allowed_namespace_prefixes, other.allowed_namespace_prefixes),
            _find_minimum(self.max_entries_per_namespace, other.max_entries_per_namespace),
            _find_minimum(self.max_value_bytes, other.max_value_bytes),
            _find_minimum(self.max_namespace_bytes, other.max_namespace_bytes),
        )


NO_LIMITS = MemorySecurityPolicy()


def check_namespace(policy: MemorySecurityPolicy, namespace: str) -> None:
    """Raise AccessDenied if the policy does not allow the namespace."""
    allowed = policy.allowed_namespace_prefixes
    if allowed is not None and not any(namespace.startswith(prefix) for prefix in allowed):
        raise AccessDenied(f"The memory policy does not allow {namespace}.")


def check_entry(policy: MemorySecurityPolicy, params: StoreParams) -> int:
    """Return the size of the entry. Raise an error if no store may keep it under this policy."""
    check_bound(policy, params.value, key=params.key, metadata=params.metadata)
    check_params(params)
    check_namespace(policy, params.namespace)
    return check_value(policy, params.value, key=params.key, metadata=params.metadata)


def check_value(
    policy: MemorySecurityPolicy,
    value: Json,
    *,
    key: str = "",
    metadata: Mapping[str, Json] | None = None,
) -> int:
    """Return the size of the entry: of its value, key and metadata. Raise ValueTooLarge if the policy forbids it."""
    check_bound(policy, value, key=key, metadata=metadata)
    value_size, label_size = count_bytes(value), count_label_bytes(key, metadata or {})
    limit = policy.max_value_bytes
    if limit is not None:
        for name, size, allowed in (
            ("The value has", value_size, limit),
            ("Key and metadata have", label_size, max(limit, MIN_LABEL_BYTES)),
        ):
            if size > allowed:
                raise ValueTooLarge(f"{name} {size} bytes; {allowed} are allowed.")
    return value_size + label_size


def check_bound(
    policy: MemorySecurityPolicy,
    value: Json,
    *,
    key: str = "",
    metadata: Mapping[str, Json] | None = None,
) -> None:
    """Raise ValueTooLarge for an entry that is clearly too large, before anything reads all of it."""
    limit = policy.max_value_bytes
    if limit is None:
        return
    for name, parts, allowed in (
        ("The value has", [value], limit),
        ("Key and metadata have", [key, metadata or {}], max(limit, MIN_LABEL_BYTES)),
    ):
        if has_more_bytes(allowed, *parts):
            raise ValueTooLarge(f"{name} more than {allowed} bytes; {allowed} are allowed.")


def check_room(policy: MemorySecurityPolicy, namespace: str, *, entries: int, size: int) -> None:
    """Raise QuotaExceeded if the namespace's totals after a write, in entries and bytes, exceed its limits."""
    max_entries = policy.max_entries_per_namespace
    if max_entries is not None and entries > max_entries:
        raise QuotaExceeded(f"{namespace} is full: {max_entries} entries are allowed.")
    max_bytes = policy.max_namespace_bytes
    if max_bytes is not None and size > max_bytes:
        raise QuotaExceeded(f"{namespace} is full: {max_bytes} bytes are allowed.")


def _find_minimum(first: int | None, second: int | None) -> int | None:
    return min((limit for limit in (first, second) if limit is not None), default=None)


def _intersect_prefixes(first: Prefixes | None, second: Prefixes | None) -> Prefixes | None:
    """Return the prefixes that both allow: of two that overlap, the longer."""
    if first is None or second is None:
        return second if first is None else first
    shared = [a for a in first if any(a.startswith(b) for b in second)]
    shared += [b for b in second if any(b.startswith(a) for a in first) and b not in shared]
    return tuple(shared)
