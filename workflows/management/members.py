"""Finds the member of a team as whom a command of the operator acts."""

from uuid import UUID

from django.core.management.base import CommandError

from accounts.models import Team, User
from accounts.principals import Principal, load_user_principal
from workflows.services.runs.shell import EMAIL


def find_member(email: str = "") -> Principal:
    """Return the principal with this address; without one, the only person who has an account."""
    if email:
        user = User.objects.filter(email=email).first()
        if user is None:
            raise CommandError(f"There is no account {email}.")
    else:
        people = User.objects.exclude(email=EMAIL).filter(is_active=True)[:2]
        if len(people) != 1:
            raise CommandError("Name the account to act as: --as EMAIL")
        user = people[0]
    principal = load_user_principal(user)
    if not user.is_active or not principal.team_ids:
        raise CommandError(f"{user.email} is not a member of a team.")
    return principal


def find_team(principal: Principal, name: str = "") -> UUID:
    """Return the team of this name of which the principal is a member, by default the first."""
    team_ids = sorted(principal.team_ids)
    if not name:
        return team_ids[0]
    for team in Team.objects.filter(pk__in=team_ids):
        if name in (team.name, str(team.pk)):
            return team.pk
    raise CommandError(f"There is no team {name} of which you are a member.")
