"""The question whether an application learns from its runs has the same answer in SQL as in Python."""

from uuid import UUID

import pytest
from django.db import connection

from accounts.tenancy import tenant
from memory.models import CurationRule
from memory.services.curation.learning_rules import LEARNS_FROM_RUNS, get_learning_rule
from tests.support.cast import Cast


pytestmark = pytest.mark.django_db

# Rules by application (the team's is without one), and whether "app" learns.
CASES: list[tuple[dict[str, bool], bool]] = [
    ({}, False),
    ({"": True}, True),
    ({"": True, "app": False}, False),
    ({"": False, "app": True}, True),
    ({"another": True}, False),
]


@pytest.mark.parametrize(("rules", "expected"), CASES)
def test_application_learns_by_its_own_rule_or_by_the_teams(
    cast: Cast, rules: dict[str, bool], expected: bool
) -> None:
    team, other_team = cast.team_a.pk, cast.team_b.pk
    add_rules(team, rules)
    add_rules(other_team, {"": not expected, "app": not expected})

    with connection.cursor() as cursor:
        cursor.execute(LEARNS_FROM_RUNS, [team, "app"])
        answer = cursor.fetchone()

    assert answer == (expected,)
    assert get_learning_rule(team, "app").auto_memory is expected


def add_rules(team: UUID, rules: dict[str, bool]) -> None:
    with tenant([team]):
        for app, learns in rules.items():
            CurationRule.objects.unscoped().create(team_id=team, app_id=app, auto_memory=learns)
