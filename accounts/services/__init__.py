"""Operations on people and teams. Each verb checks, changes and writes the audit entry in one transaction."""

from accounts.services.firstrun import prepare_first_run, redeem_start_token
from accounts.services.groups import add_to_group, create_group, delete_group, remove_from_group
from accounts.services.invitations import (
    accept_invitation,
    create_invitation,
    find_invitation,
    revoke_invitation,
)
from accounts.services.key_expiry import list_expiring_keys
from accounts.services.keys import (
    authenticate_key,
    change_key_history,
    change_key_limits,
    create_page_key,
    find_key,
    issue_key,
    list_key_workflows,
    revoke_key,
    rotate_key,
)
from accounts.services.people import (
    assign_first_team,
    change_language,
    change_password,
    change_profile,
)
from accounts.services.service_accounts import list_own_actors, list_service_accounts
from accounts.services.teams import add_member, change_role, create_team, remove_member, rename_team


__all__ = [
    "accept_invitation",
    "add_member",
    "add_to_group",
    "assign_first_team",
    "authenticate_key",
    "change_key_history",
    "change_key_limits",
    "change_language",
    "change_password",
    "change_profile",
    "change_role",
    "create_group",
    "create_invitation",
    "create_page_key",
    "create_team",
    "delete_group",
    "find_invitation",
    "find_key",
    "issue_key",
    "list_expiring_keys",
    "list_key_workflows",
    "list_own_actors",
    "list_service_accounts",
    "prepare_first_run",
    "redeem_start_token",
    "remove_from_group",
    "remove_member",
    "rename_team",
    "revoke_invitation",
    "revoke_key",
    "rotate_key",
]
