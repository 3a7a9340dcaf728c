"""The policy that holds for a namespace: the team's, narrowed by the application's and by its own limits."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from config.sql import named_call
from memory.core.policy import MemorySecurityPolicy
from memory.core.scopes import Scope
from memory.models import Namespace, Policy
from memory.providers.postgres.quick_paths import Call, Select


# Generous, but never endless: one runaway loop must not fill the disk.
DEFAULT = MemorySecurityPolicy(
    max_entries_per_namespace=100_000,
    max_value_bytes=256 * 1024,
    max_namespace_bytes=1024 * 1024 * 1024,
)
DEFAULT_MAX_NAMESPACES = 1_000_000


@dataclass(frozen=True, slots=True)
class Rules:
    policy: MemorySecurityPolicy
    max_namespaces: int
    subjects_write_global: bool


def at_door(team_id: UUID, text: str, app_id: str) -> tuple[Namespace | None, Rules]:
    """A namespace, if there is one of this name, and what holds there: asked at once, for all who come to a door."""
    namespace, (rows,) = _FIND_NAMESPACE.one(team_id, text, app_id)
    policies = [Policy(**row) for row in json.loads(rows or "[]")]
    return namespace, _rules(policies, app_id, namespace)


def rules_for(team_id: UUID, app_id: str, namespace: Namespace | None) -> Rules:
    return _rules(_POLICIES.all(team_id, app_id), app_id, namespace)


def _rules(policies: Sequence[Policy], app_id: str, namespace: Namespace | None) -> Rules:
    """A team without a policy of its own gets the defaults; what it sets replaces them one by one."""
    rows = {row.app_id: row for row in policies}
    own, app = rows.get(""), rows.get(app_id) if app_id else None
    policy = _of(own, DEFAULT) if own else DEFAULT
    if app:
        policy = policy.narrowed_by(_of(app, MemorySecurityPolicy()))
    if namespace:
        limits = MemorySecurityPolicy(
            max_entries_per_namespace=namespace.max_entries, max_namespace_bytes=namespace.max_bytes
        )
        policy = policy.narrowed_by(limits)
    return Rules(
        policy,
        own.max_namespaces if own and own.max_namespaces is not None else DEFAULT_MAX_NAMESPACES,
        bool(own and own.subjects_write_global)
        and (app is None or app.subjects_write_global is not False),
    )


def policies_of(team_id: UUID, namespaces: Sequence[Namespace]) -> dict[UUID, MemorySecurityPolicy]:
    """What holds for each of many, by one question: as ``rules_for`` has it for somebody at a door."""
    rows = {row.app_id: row for row in Policy.objects.unscoped().filter(team_id=team_id)}
    own = rows.get("")
    team = _of(own, DEFAULT) if own else DEFAULT
    found = {}
    for namespace in namespaces:
        app = rows.get(namespace.app_id) if namespace.scope == Scope.GLOBAL else None
        policy = team.narrowed_by(_of(app, MemorySecurityPolicy())) if app else team
        limits = MemorySecurityPolicy(
            max_entries_per_namespace=namespace.max_entries, max_namespace_bytes=namespace.max_bytes
        )
        found[namespace.pk] = policy.narrowed_by(limits)
    return found


_FIND_NAMESPACE = Call(
    named_call("memory_find_namespace", "p_team", "p_name", "p_app"),
    "namespace",
    Namespace,
    "policies",
)
_POLICIES = Select(Policy, "WHERE team_id = %s AND app_id IN ('', %s)")


def _of(row: Policy, otherwise: MemorySecurityPolicy) -> MemorySecurityPolicy:
    prefixes = row.allowed_prefixes
    return MemorySecurityPolicy(
        otherwise.allowed_namespace_prefixes if prefixes is None else tuple(prefixes),
        _or(row.max_entries, otherwise.max_entries_per_namespace),
        _or(row.max_value_bytes, otherwise.max_value_bytes),
        _or(row.max_namespace_bytes, otherwise.max_namespace_bytes),
    )


def _or(limit: int | None, otherwise: int | None) -> int | None:
    return otherwise if limit is None else limit
