"""Those who hold a connection open for long: a person with a session, or a key. Their rights may change meanwhile."""

from collections.abc import Collection, Iterable
from importlib import import_module
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from accounts.models import ApiKey, Membership, Role, User
from accounts.principals import KeyPrincipal, Principal, UserPrincipal, get_key_id


class Holder(NamedTuple):
    """A person, with a session ("" without one), or a key."""

    user_id: UUID | None
    session: str = ""
    key_id: UUID | None = None


def build_holder(principal: Principal, session_key: str | None) -> Holder:
    """Return the holder of a connection; a key's has no session."""
    if principal.user_id is None:
        return Holder(None, key_id=get_key_id(principal))
    return Holder(principal.user_id, session_key or "")


def load_principals(holders: Collection[Holder]) -> dict[Holder, Principal]:
    """Return the present principals of the holders that still are signed in, or whose key still is usable.

    They have their rights in the teams that are visible in this transaction.
    """
    users = _load_users({holder.user_id for holder in holders if holder.user_id})
    keys = _load_keys({holder.key_id for holder in holders if holder.key_id})
    sessions = _list_open_sessions({holder.session for holder in holders if holder.session})
    principals: dict[Holder, Principal] = {}
    for holder in holders:
        principal = users.get(holder.user_id) or keys.get(holder.key_id)
        if principal and (not holder.session or holder.session in sessions):
            principals[holder] = principal
    return principals


def _load_users(ids: Collection[UUID]) -> dict[UUID | None, Principal]:
    if not ids:
        return {}
    roles: dict[UUID, dict[UUID, Role]] = {}
    members = Membership.objects.unscoped().filter(user_id__in=ids)
    for user_id, team_id, role in members.values_list("user_id", "team_id", "role"):
        roles.setdefault(user_id, {})[team_id] = Role(role)
    users = User.objects.filter(pk__in=ids, is_active=True)
    return {user.pk: UserPrincipal(user, roles.get(user.pk, {})) for user in users}


def _load_keys(ids: Collection[UUID]) -> dict[UUID | None, Principal]:
    if not ids:
        return {}
    now = timezone.now()
    rows = ApiKey.objects.unscoped().filter(pk__in=ids)
    return {key.pk: KeyPrincipal(key) for key in rows if key.is_usable(now)}


def _list_open_sessions(keys: Iterable[str]) -> set[str]:
    """Return the keys of the sessions that have not ended."""
    keys = set(keys)
    store = import_module(settings.SESSION_ENGINE).SessionStore
    if not hasattr(store, "get_model_class"):
        # The sessions are not in the database, so each of them is checked separately.
        return {key for key in keys if store().exists(key)}
    if not keys:
        return set()
    rows = store.get_model_class().objects.filter(pk__in=keys, expire_date__gt=timezone.now())
    return set(rows.values_list("pk", flat=True))
