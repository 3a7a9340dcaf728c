"""Whom a question asks: the members behind its keys, and the addresses to which its link is mailed."""

from collections.abc import Iterable
from typing import Final
from uuid import UUID

from django.db.models import Q

from accounts.models import Membership, TeamGroup, User
from accounts.roles import list_roles_above
from workflows.engine.answerers import EMAIL, GROUP, MEMBER, ROLE, list_ids, list_values
from workflows.engine.nodes.control.human_input import list_mail_addresses
from workflows.models import RunWait


MAX_MEMBERS: Final = 100  # who are told of one question


def list_asked_members(team_id: UUID, keys: Iterable[str]) -> list[User]:
    """Return the active members whom the keys name: by id, by their group, or by their role. The tenant is open."""
    keys = list(keys)
    roles = [role for text in list_values(keys, ROLE) for role in list_roles_above(text)]
    groups = TeamGroup.objects.unscoped().filter(team_id=team_id, pk__in=list_ids(keys, GROUP))
    members = Membership.objects.unscoped().filter(
        Q(user_id__in=list_ids(keys, MEMBER))
        | Q(role__in=roles)
        | Q(user__groups__in=groups.values("group_id")),
        team_id=team_id,
        user__is_active=True,
    )
    people = User.objects.filter(pk__in=members.values("user_id"))
    return list(people.order_by("name", "email", "pk")[:MAX_MEMBERS])


def list_asked_addresses(wait: RunWait) -> list[str]:
    """Return the addresses of people without an account: of *Who answers*, and of *Delivery*."""
    deliveries = (wait.form or {}).get("deliveries") or ()
    return list(
        dict.fromkeys([*list_values(wait.answerers, EMAIL), *list_mail_addresses(deliveries)])
    )
