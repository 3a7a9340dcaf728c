"""Share a namespace with a member, for one verb; and end it. Only whose it is may."""

from django.utils.translation import gettext as _

from accounts import access
from accounts.models import User
from memory.core.errors import NotFound
from memory.models import Namespace
from memory.permissions import Verb
from memory.services.caller import MemoryCaller
from memory.services.door import Door, opened


def share(caller: MemoryCaller, *, namespace: str, verb: Verb, member: User) -> None:
    with opened(caller, "share", "memory.shared", namespace=namespace) as door:
        _note(door, verb, member)
        access.grant(member, f"memory.{verb}", _row(door))


def unshare(caller: MemoryCaller, *, namespace: str, verb: Verb, member: User) -> None:
    with opened(caller, "share", "memory.unshared", namespace=namespace) as door:
        _note(door, verb, member)
        access.revoke(member, f"memory.{verb}", _row(door))


def _note(door: Door, verb: Verb, member: User) -> None:
    door.detail.update({"verb": verb, "with": str(member.pk)})


def _row(door: Door) -> Namespace:
    if door.place.row is None:
        raise NotFound(_("There is no such memory."))
    return door.place.row
