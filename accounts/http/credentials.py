"""Authenticates many requests at once, as ``TenantMiddleware`` does one: by API key on the API, otherwise by session.

It is for requests that come by the hundred at the same moment. A request that it can't authenticate isn't refused
here: it takes the ordinary way, which knows why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from accounts.http.middleware import read_key
from accounts.models import User
from accounts.principals import Principal, load_user_principals
from accounts.services.keys import authenticate_keys


class Credential(NamedTuple):
    """Holds what a request authenticates with: the secret of a key, or the key of a session."""

    is_key: bool
    text: str


def authenticate_requests(requests: Sequence[HttpRequest]) -> list[Principal | None]:
    """Set the principal and the session of each request. Return the principals, or None for those without one."""
    credentials = [_read_credential(request) for request in requests]
    distinct = {credential for credential in credentials if credential}
    keys = authenticate_keys([each.text for each in distinct if each.is_key])
    sessions = _load_sessions(each.text for each in distinct if not each.is_key)
    principals: dict[Credential | None, Principal] = {
        Credential(True, secret): principal for secret, principal in keys.items()
    }
    principals.update(_authenticate_sessions(sessions).items())
    for request, credential in zip(requests, credentials, strict=True):
        request.principal = principals.get(credential)  # type: ignore[attr-defined]  # set by this application
        request.session = sessions.get(credential.text) if credential else None  # type: ignore[assignment]  # only read
    return [principals.get(credential) for credential in credentials]


def _read_credential(request: HttpRequest) -> Credential | None:
    secret = read_key(request)
    if secret is not None:
        return Credential(True, secret)
    session_key = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
    return Credential(False, session_key) if session_key else None


def _authenticate_sessions(
    sessions: Mapping[str, Mapping[str, Any]],
) -> dict[Credential, Principal]:
    user_ids = {user_id for session in sessions.values() if (user_id := session.get(SESSION_KEY))}
    users = {str(user.pk): user for user in User.objects.filter(pk__in=user_ids, is_active=True)}
    signed_in = {
        key: user
        for key, session in sessions.items()
        if (user := users.get(str(session.get(SESSION_KEY)))) and _is_signed_in(session, user)
    }
    principals = load_user_principals(signed_in.values())
    return {Credential(False, key): principals[user.pk] for key, user in signed_in.items()}


def _load_sessions(keys: Iterable[str]) -> dict[str, Mapping[str, Any]]:
    """Return the content of the sessions that have not ended, by key. Sessions outside the database are not found."""
    store = import_module(settings.SESSION_ENGINE).SessionStore
    if not hasattr(store, "get_model_class"):
        return {}
    rows = store.get_model_class().objects.filter(pk__in=set(keys), expire_date__gt=timezone.now())
    return {row.pk: store().decode(row.session_data) for row in rows}


def _is_signed_in(session: Mapping[str, Any], user: User) -> bool:
    """Return whether the session is of this user and not older than their password, as ``get_user`` of Django checks."""
    is_current = constant_time_compare(
        session.get(HASH_SESSION_KEY, ""), user.get_session_auth_hash()
    )
    return is_current and session.get(BACKEND_SESSION_KEY) in settings.AUTHENTICATION_BACKENDS
