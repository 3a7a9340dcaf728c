"""The acting principals: a user, an API client with a key, or a run. Each knows its teams and its roles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Protocol
from uuid import UUID

from django.http import HttpRequest
from django.utils.translation import gettext as _

from accounts.errors import NotAllowed, NotSignedIn
from accounts.models import ApiKey, Role, User
from accounts.roles import KEY_ROLE
from accounts.tenancy import fetch_by_key, fetch_each, tenant


TEAM_IN_SESSION = "team_id"
_FIND_ROLES = "SELECT team_id, role FROM accounts_membership WHERE user_id = %s"


class Principal(Protocol):
    """A user, API client or run that acts. ``workflow_id`` is set if it may use this workflow only."""

    @property
    def kind(self) -> Literal["user", "key", "run"]: ...
    @property
    def team_ids(self) -> frozenset[UUID]: ...
    @property
    def actor(self) -> str: ...
    @property
    def user_id(self) -> UUID | None: ...
    @property
    def workflow_id(self) -> UUID | None: ...
    def get_role(self, team_id: UUID) -> Role | None: ...
    def allows(self, scope: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class UserPrincipal:
    """A user, with the roles that they had when the request began."""

    user: User
    roles: dict[UUID, Role]

    kind: Literal["user"] = "user"
    workflow_id: None = None

    @property
    def team_ids(self) -> frozenset[UUID]:
        return frozenset(self.roles)

    @property
    def actor(self) -> str:
        return f"user:{self.user.pk}"

    @property
    def user_id(self) -> UUID | None:
        return self.user.pk

    def get_role(self, team_id: UUID) -> Role | None:
        return self.roles.get(team_id)

    def allows(self, scope: str) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class KeyPrincipal:
    """An API client with a key: one team, the key's scopes, an editor's rights at most, and perhaps one workflow.

    ``visitor`` is the subject of the visitor for whom a public page acts with its key. It then has that person's rows only.
    """

    key: ApiKey
    visitor: str = ""

    kind: Literal["key"] = "key"

    @property
    def team_ids(self) -> frozenset[UUID]:
        return frozenset([self.key.team_id])

    @property
    def actor(self) -> str:
        return f"key:{self.key.pk}"

    @property
    def user_id(self) -> UUID | None:
        return None

    @property
    def workflow_id(self) -> UUID | None:
        return self.key.workflow_id

    def get_role(self, team_id: UUID) -> Role | None:
        return KEY_ROLE if team_id == self.key.team_id else None

    def allows(self, scope: str) -> bool:
        return scope in self.key.scopes


@dataclass(frozen=True, slots=True)
class RunPrincipal:
    """A run: it has one team, and at most the current rights of its starter. ``load_run_principal`` creates it.

    It isn't bound to the workflow of the key that started it: its document decides which other workflows it calls.
    """

    run_id: UUID
    team_id: UUID
    starter: UserPrincipal | KeyPrincipal | None

    kind: Literal["run"] = "run"
    workflow_id: None = None

    @property
    def team_ids(self) -> frozenset[UUID]:
        return frozenset([self.team_id])

    @property
    def actor(self) -> str:
        return f"run:{self.run_id}"

    @property
    def user_id(self) -> UUID | None:
        return self.starter.user_id if self.starter else None

    def get_role(self, team_id: UUID) -> Role | None:
        return self.starter.get_role(team_id) if self.starter and team_id == self.team_id else None

    def allows(self, scope: str) -> bool:
        return bool(self.starter and self.starter.allows(scope))


def get_principal(request: HttpRequest) -> Principal:
    """Return the principal of this request, which is loaded once per request. Raise ``NotSignedIn`` without one."""
    principal: Principal | None = getattr(request, "principal", None)
    if principal is None:
        if not request.user.is_authenticated:
            raise NotSignedIn
        principal = load_user_principal(request.user)
        request.principal = principal  # type: ignore[attr-defined]  # set by this application
    return principal


def get_key_id(principal: Principal) -> UUID | None:
    """Return the id of the API key that acts or that started the acting run; None if a user acts or started it."""
    key = _get_key(principal)
    return key.pk if key else None


def get_service_account_id(principal: Principal) -> UUID | None:
    """Return the service account of the API key that acts or that started the acting run; None for a user's.

    What a program started, stored or remembered belongs to it, whichever of its keys it used.
    """
    key = _get_key(principal)
    return key.service_account_id if key else None


def get_visitor(principal: Principal) -> str:
    """Return the subject of the visitor of a public page who acts, or "" for any other principal."""
    return getattr(principal, "visitor", "")


def acts_for_page(principal: Principal) -> bool:
    """Return whether a public page acts, or started the acting run."""
    key = _get_key(principal)
    return key is not None and key.is_of_page


def _get_key(principal: Principal) -> ApiKey | None:
    starter = getattr(principal, "starter", None)
    return getattr(principal, "key", None) or getattr(starter, "key", None)


def get_current_team_id(request: HttpRequest) -> UUID:
    """Return the key's team, the team that the user selected, or else the user's first. Raise ``NotAllowed`` without any."""
    principal = get_principal(request)
    session = getattr(request, "session", None)
    selected = session.get(TEAM_IN_SESSION) if session is not None else None
    team_ids = sorted(principal.team_ids)
    if selected and selected in {str(team_id) for team_id in team_ids}:
        return UUID(selected)
    if not team_ids:
        raise NotAllowed(
            _("You aren't a member of any team yet. Ask a team member for an invitation.")
        )
    return team_ids[0]


def load_user_principal(user: User) -> UserPrincipal:
    """Load the principal of a user with their current roles."""
    rows = fetch_by_key(_FIND_ROLES, str(user.pk))
    return UserPrincipal(user, {team_id: Role(role) for team_id, role in rows})


def load_user_principals(users: Iterable[User]) -> dict[UUID, UserPrincipal]:
    """Load the principals of many users in one transaction, by the user's id."""
    by_id = {str(user.pk): user for user in users}
    rows = fetch_each(_FIND_ROLES, by_id)
    return {
        by_id[key].pk: UserPrincipal(by_id[key], {team_id: Role(role) for team_id, role in roles})
        for key, roles in rows.items()
    }


def load_run_principal(
    *, run_id: UUID, team_id: UUID, user_id: UUID | None = None, key_id: UUID | None = None
) -> RunPrincipal:
    """Load the principal of a run that a user or a key started.

    A run has no rights if its starter left the team or its key was revoked.
    """
    starter = load_starter(team_id=team_id, user_id=user_id, key_id=key_id)
    return RunPrincipal(run_id, team_id, starter)


def load_starter(
    *, team_id: UUID, user_id: UUID | None = None, key_id: UUID | None = None
) -> UserPrincipal | KeyPrincipal | None:
    """Load the principal of a user or a key with their present rights, for work that they started earlier.

    Return None if the user's account or the key can no longer be used.
    """
    if user_id is not None:
        user = User.objects.filter(pk=user_id, is_active=True).first()
        return load_user_principal(user) if user else None
    if key_id is None:
        return None
    with tenant([team_id]):
        key = ApiKey.objects.unscoped().filter(pk=key_id, team_id=team_id).first()
    return KeyPrincipal(key) if key and key.is_usable() else None
