"""API keys: shown once, stored as a hash, valid for one team and the given scopes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from uuid import UUID

from django.utils import timezone

from accounts import audit, tokens
from accounts.access import Principal, check
from accounts.errors import InvalidChoice, NotFound
from accounts.models import ApiKey, Team
from accounts.principals import KeyPrincipal
from accounts.roles import SCOPES, SERVICE_SCOPES
from accounts.tenancy import lookup, tenant


# The time of use is recorded once per interval; otherwise every request would update the row of its key.
LAST_USED_INTERVAL = dt.timedelta(minutes=1)


def issue_key(
    *,
    principal: Principal,
    team: Team,
    name: str,
    scopes: Collection[str],
    expires_at: dt.datetime | None = None,
) -> tuple[ApiKey, str]:
    """Issue a key; return its row and the secret, which is shown once."""
    check(principal, "key.manage", team)
    if not name.strip() or not scopes or not set(scopes) <= {*SCOPES, *SERVICE_SCOPES}:
        raise InvalidChoice
    if expires_at is not None and expires_at <= timezone.now():
        raise InvalidChoice
    secret = tokens.make_secret("key")
    with tenant([team.id]):
        key = ApiKey.objects.create(
            team=team,
            name=name.strip()[:120],
            prefix=secret[: tokens.VISIBLE_LENGTH],
            secret_hash=tokens.hash_secret("key", secret),
            scopes=sorted(set(scopes)),
            created_by_id=principal.user_id,
            expires_at=expires_at,
        )
        audit.record_action(principal, team.id, "key.issued", f"key:{key.pk}", scopes=key.scopes)
    return key, secret


def revoke_key(principal: Principal, *, key_id: UUID) -> ApiKey:
    """Revoke a key immediately; revoking it twice changes nothing."""
    with tenant(principal.team_ids):
        rows = ApiKey.objects.visible_to(principal).select_for_update()
        key = rows.filter(pk=key_id).first()
        if key is None:
            raise NotFound
        check(principal, "key.manage", key)
        if key.revoked_at is None:
            key.revoked_at = timezone.now()
            key.save(update_fields=["revoked_at"])
            audit.record_action(principal, key.team_id, "key.revoked", f"key:{key.pk}")
    return key


def authenticate_key(secret: str) -> KeyPrincipal | None:
    """Return the principal of the key with this secret, or None if there is no usable one. Record the time of use."""
    if not secret.startswith(tokens.KEY_PREFIX):
        return None
    secret_hash = tokens.hash_secret("key", secret)
    with lookup(secret_hash):
        key = ApiKey.objects.unscoped().filter(secret_hash=secret_hash).first()
    now = timezone.now()
    if key is None or not tokens.is_match("key", secret, key.secret_hash) or not key.is_usable(now):
        return None
    if key.last_used_at is None or now - key.last_used_at >= LAST_USED_INTERVAL:
        with tenant([key.team_id]):
            key.last_used_at = now
            key.save(update_fields=["last_used_at"])
    return KeyPrincipal(key)
