"""Share a namespace with a member or a group of the team, verb by verb. The caller needs the permission to share it."""

from django.contrib.auth.models import Group
from django.utils.translation import gettext as _

from accounts import access as account_access
from accounts.models import TeamGroup, User
from config.retry import retry_on_conflict
from memory.core.errors import InvalidInput, NotFound
from memory.models import Namespace
from memory.permissions import Verb, can_share_with_groups
from memory.services.access.explanation import format_recipient
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import open_namespace
from memory.services.gateway.namespace_access import NamespaceAccess


@retry_on_conflict
def share(caller: MemoryCaller, *, namespace: str, verb: Verb, recipient: User | TeamGroup) -> None:
    """Grant the verb to the recipient. Raise InvalidInput if private memory would be shared with a group."""
    with open_namespace(caller, "share", "memory.shared", namespace=namespace) as access:
        _describe_grant(access, verb, recipient)
        if isinstance(recipient, TeamGroup) and not can_share_with_groups(access.target.parsed):
            raise InvalidInput(
                _("Private memory can be shared only with single members, not with groups.")
            )
        account_access.grant(_get_grantee(recipient), f"memory.{verb}", _get_row(access))


@retry_on_conflict
def unshare(
    caller: MemoryCaller, *, namespace: str, verb: Verb, recipient: User | TeamGroup
) -> None:
    with open_namespace(caller, "share", "memory.unshared", namespace=namespace) as access:
        _describe_grant(access, verb, recipient)
        account_access.revoke(_get_grantee(recipient), f"memory.{verb}", _get_row(access))


def _describe_grant(access: NamespaceAccess, verb: Verb, recipient: User | TeamGroup) -> None:
    user, group = (None, recipient) if isinstance(recipient, TeamGroup) else (recipient, None)
    access.detail.update({"verb": verb, "with": format_recipient(user, group)})


def _get_grantee(recipient: User | TeamGroup) -> User | Group:
    return recipient.group if isinstance(recipient, TeamGroup) else recipient


def _get_row(access: NamespaceAccess) -> Namespace:
    if access.target.row is None:
        raise NotFound(_("Memory not found."))
    return access.target.row
