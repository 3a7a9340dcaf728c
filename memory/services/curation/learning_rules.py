"""How an application learns from its runs: its own rule, else the team's, else not at all."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.utils.translation import gettext as _

from accounts import access
from accounts.principals import Principal
from accounts.tenancy import tenant
from memory.core.errors import AccessDenied, InvalidInput, NotFound
from memory.core.scopes import scope_named
from memory.logic.review.review_rules import Mode
from memory.models import Curation, CurationRule, Namespace
from memory.services.gateway.audit_lines import record, record_refusal
from memory.services.gateway.caller import MemoryCaller


CHANGED: Final = "memory.rule_changed"
LONGEST_APP: Final = 80
MOST_SHOWN: Final = 100


@dataclass(frozen=True, slots=True)
class Learning:
    """``provider`` without a name: no model is asked, the extractive curator does it."""

    auto_memory: bool = False
    scope: str = "user"
    review: Mode = Mode.OFF
    sampled: float = 0.1
    provider: str = ""
    model: str = ""
    token_budget: int = 6_000
    seconds: int = 60


@dataclass(frozen=True, slots=True)
class Learner:
    """``has_own``: a rule of its own rather than the team's."""

    app_id: str
    learning: Learning
    has_own: bool


NEVER = Learning()

# Where what runs taught may be kept: a run's own notes end with it.
SCOPES = frozenset({"user", "conversation", "workflow", "global"})


def learning_of(team_id: UUID, app_id: str) -> Learning:
    """What holds for an application's runs. Called with the team known, by whoever runs them."""
    with tenant([team_id]):
        found = CurationRule.objects.unscoped().filter(team_id=team_id, app_id__in=("", app_id))
        rows = {row.app_id: row for row in found}
    row = rows.get(app_id) or rows.get("")
    return _of(row) if row else NEVER


def rule_for(caller: MemoryCaller, *, app_id: str = "") -> Learning:
    """For who may look at the team's shared memory."""
    _check(caller.principal, caller.team_id, "view")
    return learning_of(caller.team_id, app_id)


def set_rule(caller: MemoryCaller, *, app_id: str = "", learning: Learning) -> Learning:
    _check_may_write(caller, app_id)
    _check_values(learning)
    with tenant([caller.team_id]):
        CurationRule.objects.unscoped().update_or_create(
            team_id=caller.team_id,
            app_id=app_id,
            defaults={
                "auto_memory": learning.auto_memory,
                "scope": learning.scope,
                "review": learning.review.value,
                "sampled": learning.sampled,
                "provider": learning.provider,
                "model": learning.model,
                "token_budget": learning.token_budget,
                "seconds": learning.seconds,
            },
        )
        detail = {
            "auto_memory": learning.auto_memory,
            "scope": learning.scope,
            "review": learning.review.value,
        }
        record(caller, CHANGED, f"app:{app_id}", detail)
    return learning


def learners(caller: MemoryCaller) -> Sequence[Learner]:
    """The team's rule first, then those of its applications."""
    if not access.can(caller.principal, "memory.view", caller.team_id):
        return []
    with tenant([caller.team_id]):
        mine = {"team_id": caller.team_id}
        own = set(CurationRule.objects.unscoped().filter(**mine).values_list("app_id", flat=True))
        curated = Curation.objects.unscoped().filter(**mine).order_by("app_id")
        known = set(curated.values_list("app_id", flat=True).distinct())
        shared = Namespace.objects.visible_to(caller.principal).filter(**mine, scope="global")
        known |= {text.removeprefix("global:") for text in shared.values_list("text", flat=True)}
    apps = sorted((own | known) - {"", "default"})[:MOST_SHOWN]
    return [
        Learner(app, learning_of(caller.team_id, app), has_own=app in own) for app in ("", *apps)
    ]


def may_change_rules(caller: MemoryCaller) -> bool:
    return access.can(caller.principal, "memory.write", caller.team_id)


def _check_may_write(caller: MemoryCaller, app_id: str) -> None:
    """Who may look and no more is refused, which stands in the team's trail."""
    try:
        _check(caller.principal, caller.team_id, "write")
    except AccessDenied as fault:
        record_refusal(caller, CHANGED, f"app:{app_id[:LONGEST_APP]}", fault)
        raise


def _check(principal: Principal, team_id: UUID, verb: str) -> None:
    if access.can(principal, f"memory.{verb}", team_id):
        return
    if access.can(principal, "memory.view", team_id):
        raise AccessDenied(_("You don't have permission to change the learning settings."))
    raise NotFound(_("Team not found."))


def _check_values(learning: Learning) -> None:
    if str(scope_named(learning.scope).word) not in SCOPES:
        raise InvalidInput(f"scope: one of {', '.join(sorted(SCOPES))}.")
    if not 0.0 <= learning.sampled <= 1.0:
        raise InvalidInput("sampled: must be from 0 to 1.")
    if not 200 <= learning.token_budget <= 1_000_000:
        raise InvalidInput("token_budget: must be from 200 to 1000000.")
    if not 1 <= learning.seconds <= 600:
        raise InvalidInput("seconds: must be from 1 to 600.")


def _of(row: CurationRule) -> Learning:
    return Learning(
        row.auto_memory,
        row.scope,
        Mode(row.review),
        row.sampled,
        row.provider,
        row.model,
        row.token_budget,
        row.seconds,
    )
