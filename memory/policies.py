"""Find the policy that applies to a namespace: the team's, narrowed by the application's and the namespace's limits."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from config.sql import build_call
from memory.core.policy import MemorySecurityPolicy
from memory.core.scopes import Scope
from memory.models import Namespace, Policy
from memory.providers.postgres.fixed_queries import FunctionCall, Select


# The defaults are generous: they only keep a faulty loop from filling the disk.
DEFAULT = MemorySecurityPolicy(
    max_entries_per_namespace=100_000,
    max_value_bytes=256 * 1024,
    max_namespace_bytes=1024 * 1024 * 1024,
)
DEFAULT_MAX_NAMESPACES = 1_000_000
# For what the product notes about a run. A goal, its todos and its notes stay far below.
BOOKKEEPING = MemorySecurityPolicy(
    max_entries_per_namespace=10_000,
    max_value_bytes=2 * 1024 * 1024,
    max_namespace_bytes=64 * 1024 * 1024,
)

_FIND_NAMESPACE = FunctionCall(
    build_call("memory_find_namespace", "p_team", "p_name", "p_app"),
    "namespace",
    Namespace,
    "policies",
)
_POLICIES = Select(Policy, "WHERE team_id = %s AND app_id IN ('', %s)")


@dataclass(frozen=True, slots=True)
class Rules:
    policy: MemorySecurityPolicy
    max_namespaces: int  # of the team
    subjects_write_global: bool  # whether runs for external users may write to the team's memory


def find_namespace_and_rules(
    team_id: UUID, text: str, app_id: str
) -> tuple[Namespace | None, Rules]:
    """Return the namespace of this name, if there is one, and the rules that apply to it, by one query."""
    namespace, (policies_json,) = _FIND_NAMESPACE.fetch_one(team_id, text, app_id)
    policies = [Policy(**row) for row in json.loads(policies_json or "[]")]
    return namespace, _combine_rules(policies, app_id, namespace)


def load_rules(team_id: UUID, app_id: str, namespace: Namespace | None) -> Rules:
    return _combine_rules(_POLICIES.fetch_all(team_id, app_id), app_id, namespace)


def load_policies(
    team_id: UUID, namespaces: Sequence[Namespace]
) -> dict[UUID, MemorySecurityPolicy]:
    """Return the policy of each namespace as ``load_rules`` does, but by one query for all."""
    policies = list(Policy.objects.unscoped().filter(team_id=team_id))
    return {
        row.pk: _combine_rules(
            policies, row.app_id if row.scope == Scope.GLOBAL else "", row
        ).policy
        for row in namespaces
    }


def _combine_rules(policies: Sequence[Policy], app_id: str, namespace: Namespace | None) -> Rules:
    """Return the team's limits, or the defaults, narrowed by those of the application and of the namespace."""
    rows = {row.app_id: row for row in policies}
    team_row, app_row = rows.get(""), rows.get(app_id) if app_id else None
    policy = _build_policy(team_row, DEFAULT) if team_row else DEFAULT
    if app_row:
        policy = policy.narrow_by(_build_policy(app_row, MemorySecurityPolicy()))
    if namespace:
        limits = MemorySecurityPolicy(
            max_entries_per_namespace=namespace.max_entries, max_namespace_bytes=namespace.max_bytes
        )
        policy = policy.narrow_by(limits)
    max_namespaces = team_row.max_namespaces if team_row else None
    return Rules(
        policy,
        DEFAULT_MAX_NAMESPACES if max_namespaces is None else max_namespaces,
        bool(team_row and team_row.subjects_write_global)
        and (app_row is None or app_row.subjects_write_global is not False),
    )


def _build_policy(row: Policy, default: MemorySecurityPolicy) -> MemorySecurityPolicy:
    prefixes = row.allowed_prefixes
    return MemorySecurityPolicy(
        default.allowed_namespace_prefixes if prefixes is None else tuple(prefixes),
        _resolve_limit(row.max_entries, default.max_entries_per_namespace),
        _resolve_limit(row.max_value_bytes, default.max_value_bytes),
        _resolve_limit(row.max_namespace_bytes, default.max_namespace_bytes),
    )


def _resolve_limit(limit: int | None, default: int | None) -> int | None:
    return default if limit is None else limit
