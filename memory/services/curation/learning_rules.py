"""The rules by which applications learn from their runs: each has its own, or the team's applies."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Final
from uuid import UUID

from django.utils.translation import gettext as _

from accounts import access
from accounts.principals import Principal
from accounts.tenancy import tenant
from memory.core.errors import AccessDenied, InvalidInput, NotFound
from memory.core.scopes import get_scope, parse_namespace
from memory.logic.review.review_rules import ReviewMode
from memory.models import Curation, CurationRule, Namespace
from memory.services.gateway.audit_lines import record, record_refusal
from memory.services.gateway.caller import MemoryCaller, select_visible


RULE_CHANGED: Final = "memory.rule_changed"
MAX_APP_ID_LENGTH: Final = 80
MAX_APPLICATIONS: Final = 100

_RANGES: Final = {"sampled": (0, 1), "token_budget": (200, 1_000_000), "seconds": (1, 600)}


@dataclass(frozen=True, slots=True)
class LearningRule:
    """It says how an application learns from its runs. Without a ``provider``, the extractive curator replaces a model."""

    auto_memory: bool = False
    scope: str = "user"
    review: ReviewMode = ReviewMode.OFF
    sampled: float = 0.1
    provider: str = ""
    model: str = ""
    token_budget: int = 6_000
    seconds: int = 60


@dataclass(frozen=True, slots=True)
class LearningApplication:
    """An application and the rule that applies to it: its own if ``has_own`` is set, otherwise the team's."""

    app_id: str
    learning: LearningRule
    has_own: bool


NO_LEARNING = LearningRule()

# Returns ``get_learning_rule(team_id, app_id).auto_memory``, for callers with a connection of their own.
LEARNS_FROM_RUNS: Final = "SELECT memory_learns_from_runs(%s, %s)"

# The scopes that learned entries may be stored in. A run's own scope is not among them because it ends with the run.
SCOPES = frozenset({"user", "conversation", "workflow", "global"})


def get_learning_rule(team_id: UUID, app_id: str) -> LearningRule:
    """Return the rule that applies to an application's runs, without a permission check."""
    with tenant([team_id]):
        matches = CurationRule.objects.unscoped().filter(team_id=team_id, app_id__in=("", app_id))
        rows = {row.app_id: row for row in matches}
    row = rows.get(app_id) or rows.get("")
    return _build_rule(row) if row else NO_LEARNING


def read_learning_rule(caller: MemoryCaller, *, app_id: str = "") -> LearningRule:
    """Return the rule that applies to an application. The caller needs the permission to view the team's memory."""
    _check_permission(caller.principal, caller.team_id, "view")
    return get_learning_rule(caller.team_id, app_id)


def set_learning_rule(
    caller: MemoryCaller, *, app_id: str = "", learning: LearningRule
) -> LearningRule:
    """Replace the rule of an application or, without ``app_id``, the team's. The change is audited."""
    _check_may_write(caller, app_id)
    _check_values(learning)
    values = {**asdict(learning), "review": learning.review.value}
    with tenant([caller.team_id]):
        CurationRule.objects.unscoped().update_or_create(
            team_id=caller.team_id, app_id=app_id, defaults=values
        )
        detail = {name: values[name] for name in ("auto_memory", "scope", "review")}
        record(caller, RULE_CHANGED, f"app:{app_id}", detail)
    return learning


def list_learning_applications(caller: MemoryCaller) -> Sequence[LearningApplication]:
    """Return the team's rule, then those of its applications that have their own or have learned already."""
    if not access.can(caller.principal, "memory.view", caller.team_id):
        return []
    with tenant([caller.team_id]):
        rules = CurationRule.objects.unscoped().filter(team_id=caller.team_id)
        own_rules = set(rules.values_list("app_id", flat=True))
        curated = Curation.objects.unscoped().filter(team_id=caller.team_id).order_by("app_id")
        app_ids = set(curated.values_list("app_id", flat=True).distinct())
        shared = select_visible(caller, Namespace).filter(scope="global")
        app_ids |= {parse_namespace(text).ids[0] for text in shared.values_list("text", flat=True)}
    apps = sorted((own_rules | app_ids) - {"", "default"})[:MAX_APPLICATIONS]
    return [
        LearningApplication(app, get_learning_rule(caller.team_id, app), has_own=app in own_rules)
        for app in ("", *apps)
    ]


def can_change_rules(caller: MemoryCaller) -> bool:
    return access.can(caller.principal, "memory.write", caller.team_id)


def _check_may_write(caller: MemoryCaller, app_id: str) -> None:
    """Refuse a caller who may only view, and record the refusal in the team's audit log."""
    try:
        _check_permission(caller.principal, caller.team_id, "write")
    except AccessDenied as fault:
        record_refusal(caller, RULE_CHANGED, f"app:{app_id[:MAX_APP_ID_LENGTH]}", fault)
        raise


def _check_permission(principal: Principal, team_id: UUID, verb: str) -> None:
    if access.can(principal, f"memory.{verb}", team_id):
        return
    if access.can(principal, "memory.view", team_id):
        raise AccessDenied(_("You don't have permission to change the learning settings."))
    raise NotFound(_("Team not found."))


def _check_values(learning: LearningRule) -> None:
    if str(get_scope(learning.scope).word) not in SCOPES:
        raise InvalidInput(f"scope: one of {', '.join(sorted(SCOPES))}.")
    for name, (least, most) in _RANGES.items():
        if not least <= getattr(learning, name) <= most:
            raise InvalidInput(f"{name}: must be from {least} to {most}.")


def _build_rule(row: CurationRule) -> LearningRule:
    values = {field.name: getattr(row, field.name) for field in fields(LearningRule)}
    return LearningRule(**{**values, "review": ReviewMode(row.review)})
