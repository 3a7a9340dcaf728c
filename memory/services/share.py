"""Share a namespace with a member or a group of the team, for one verb; and end it. Only who may share may."""

from django.contrib.auth.models import Group
from django.utils.translation import gettext as _

from accounts import access
from accounts.models import TeamGroup, User
from config.again import tried_again
from memory.core.errors import InvalidInput, NotFound
from memory.models import Namespace
from memory.permissions import Verb, is_for_groups
from memory.services.caller import MemoryCaller
from memory.services.door import Door, opened
from memory.services.explain import recipient


@tried_again
def share(caller: MemoryCaller, *, namespace: str, verb: Verb, member: User | TeamGroup) -> None:
    with opened(caller, "share", "memory.shared", namespace=namespace) as door:
        _note(door, verb, member)
        _check_recipient(door, member)
        access.grant(_holder(member), f"memory.{verb}", _row(door))


@tried_again
def unshare(caller: MemoryCaller, *, namespace: str, verb: Verb, member: User | TeamGroup) -> None:
    with opened(caller, "share", "memory.unshared", namespace=namespace) as door:
        _note(door, verb, member)
        access.revoke(_holder(member), f"memory.{verb}", _row(door))


def _check_recipient(door: Door, member: User | TeamGroup) -> None:
    if isinstance(member, TeamGroup) and not is_for_groups(door.place.named):
        raise InvalidInput(
            _("What is private is shared with members one by one, not with a group.")
        )


def _note(door: Door, verb: Verb, member: User | TeamGroup) -> None:
    user, group = (None, member) if isinstance(member, TeamGroup) else (member, None)
    door.detail.update({"verb": verb, "with": recipient(user, group)})


def _holder(member: User | TeamGroup) -> User | Group:
    return member.group if isinstance(member, TeamGroup) else member


def _row(door: Door) -> Namespace:
    if door.place.row is None:
        raise NotFound(_("There is no such memory."))
    return door.place.row
