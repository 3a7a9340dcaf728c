"""Who may not say how a team remembers is refused, and the team's trail says so."""

from collections.abc import Callable

import pytest

from accounts.errors import NotAllowed
from accounts.models import AuditEntry
from accounts.tenancy import tenant
from memory.core.errors import AccessDenied, NotFound
from memory.services.access.quotas import Limits, change_limits, remove_application_limits
from memory.services.curation.learning_rules import LearningRule, set_learning_rule
from memory.services.gateway.caller import MemoryCaller
from tests.memory.services.conftest import at_door
from tests.support.cast import Cast


Change = Callable[[MemoryCaller], object]

# What is asked, what the trail calls it, about whom, and how it is refused.
REFUSED: list[tuple[Change, str, str, type[Exception]]] = [
    (
        lambda caller: change_limits(caller, Limits(max_entries=1)),
        "memory.policy_changed",
        "team:{team}",
        NotAllowed,
    ),
    (
        lambda caller: change_limits(caller, Limits(max_entries=1), app_id="shop"),
        "memory.policy_changed",
        "global:shop",
        NotAllowed,
    ),
    (
        lambda caller: remove_application_limits(caller, app_id="shop"),
        "memory.policy_changed",
        "global:shop",
        NotAllowed,
    ),
    (
        lambda caller: set_learning_rule(caller, app_id="x" * 999, learning=LearningRule(True)),
        "memory.rule_changed",
        "app:" + "x" * 80,
        AccessDenied,
    ),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("change", "action", "about", "fault"), REFUSED)
def test_refused_change_of_how_a_team_remembers_is_in_its_trail_once(
    cast: Cast, change: Change, action: str, about: str, fault: type[Exception]
) -> None:
    with pytest.raises(fault) as refused:
        change(at_door(cast.vic))

    with tenant([cast.team_a.pk]):
        lines = list(AuditEntry.objects.unscoped().filter(action="memory.refused"))
        done = AuditEntry.objects.unscoped().filter(action=action)
        assert not done.exists()
    assert [(one.subject, one.success, one.actor) for one in lines] == [
        (about.format(team=cast.team_a.pk), False, cast.vic.principal.actor)
    ]
    assert lines[0].detail["op"] == action
    assert lines[0].detail["why"] == str(refused.value)


@pytest.mark.django_db
@pytest.mark.parametrize(("change", "action", "about", "fault"), REFUSED)
def test_stranger_is_refused_and_leaves_no_line_in_the_trail_of_others(
    cast: Cast, change: Change, action: str, about: str, fault: type[Exception]
) -> None:
    stranger = MemoryCaller(cast.carol.principal, cast.team_a.pk)

    with pytest.raises((fault, NotFound)):
        change(stranger)

    with tenant([cast.team_a.pk, cast.team_b.pk]):
        assert not AuditEntry.objects.unscoped().filter(action="memory.refused").exists()
