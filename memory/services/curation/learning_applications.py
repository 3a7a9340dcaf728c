"""The applications that learn, or could: those with a rule of their own, and those that remember already."""

from collections.abc import Sequence
from dataclasses import dataclass

from accounts import access
from accounts.tenancy import tenant
from memory.models import Curation, CurationRule, Namespace
from memory.services.curation.learning_rules import Learning, learning_of
from memory.services.gateway.caller import MemoryCaller


MOST_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Learner:
    """``has_own``: a rule of its own rather than the team's."""

    app_id: str
    learning: Learning
    has_own: bool


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
