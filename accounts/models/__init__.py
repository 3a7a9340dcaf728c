"""The models of people, teams and their credentials."""

from accounts.models.audit import AuditEntry, AuditHead
from accounts.models.groups import TeamGroup
from accounts.models.persons import AuditPerson
from accounts.models.secrets import ApiKey, HistoryKeeper, Invitation, ServiceAccount, StartToken
from accounts.models.sign_in import SignInFailures
from accounts.models.teams import Membership, Role, Team
from accounts.models.users import User


__all__ = [
    "ApiKey",
    "AuditEntry",
    "AuditHead",
    "AuditPerson",
    "HistoryKeeper",
    "Invitation",
    "Membership",
    "Role",
    "ServiceAccount",
    "SignInFailures",
    "StartToken",
    "Team",
    "TeamGroup",
    "User",
]
