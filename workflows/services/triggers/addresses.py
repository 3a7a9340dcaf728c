"""The address and the secret of a webhook: random, encrypted at rest, and replaced at a person's request."""

import secrets
from typing import Final
from uuid import UUID

from accounts import tokens
from accounts.access import Principal
from accounts.tenancy import lookup, tenant
from config.encryption.crypto import decrypt, encrypt, rotate
from workflows import permissions
from workflows.models import RunSubscription, Trigger
from workflows.services import audit_lines


SECRET_PREFIX: Final = "whs_"  # noqa: S105  # it says what a leaked secret is for


def find_by_token(token: str) -> Trigger | None:
    """Return the webhook with this address, or None. Its team isn't known before."""
    token_hash = tokens.hash_secret("webhook", token)
    with lookup(token_hash):
        rows = Trigger.objects.unscoped().filter(token_hash=token_hash)
        ids = rows.values_list("team_id", "pk").first()
    if ids is None:
        return None
    team_id, pk = ids
    with tenant([team_id]):
        rows = Trigger.objects.unscoped().filter(pk=pk)
        related = ("workflow__published_version", "api_key", "listener")
        return rows.select_related(*related).first()


def read_token(trigger: Trigger) -> str:
    """Return the random part of the address, or an empty text if it has none yet."""
    return decrypt(bytes(trigger.sealed_token)) if trigger.sealed_token else ""


def read_secret(trigger: Trigger) -> str:
    """Return the secret, or an empty text if nobody made one yet."""
    return decrypt(bytes(trigger.sealed_secret)) if trigger.sealed_secret else ""


def set_new_token(trigger: Trigger) -> None:
    """Give the webhook a new address. The caller saves the row."""
    token = secrets.token_urlsafe(24)
    trigger.token_hash = tokens.hash_secret("webhook", token)
    trigger.sealed_token = encrypt(token)


def replace_address(principal: Principal, *, trigger: Trigger) -> None:
    """Give the webhook a new address. Calls to the old one are answered with 404 from now on."""
    permissions.check_publish(principal, trigger.workflow)
    with tenant([trigger.team_id]):
        set_new_token(trigger)
        trigger.save(update_fields=["token_hash", "sealed_token"])
        audit_lines.record(principal, trigger, "trigger.address_replaced")


def replace_secret(principal: Principal, *, trigger: Trigger) -> str:
    """Make a new secret for the webhook and return it. It is shown once; the old one ends now."""
    permissions.check_publish(principal, trigger.workflow)
    secret = SECRET_PREFIX + secrets.token_urlsafe(32)
    with tenant([trigger.team_id]):
        trigger.sealed_secret = encrypt(secret)
        trigger.save(update_fields=["sealed_secret"])
        audit_lines.record(principal, trigger, "trigger.secret_replaced")
    return secret


def rotate_trigger_secrets(team_id: UUID) -> int:
    """Encrypt the addresses and secrets of a team's webhooks, in and out, under the newest key. Runs in the caller's tenant."""
    count = 0
    for trigger in Trigger.objects.unscoped().filter(team_id=team_id).select_for_update():
        for name in _SEALED:
            sealed = getattr(trigger, name)
            if sealed:
                setattr(trigger, name, rotate(bytes(sealed)))
                count += 1
        trigger.save(update_fields=[*_SEALED])
    for row in RunSubscription.objects.unscoped().filter(team_id=team_id).select_for_update():
        row.sealed_secret = rotate(bytes(row.sealed_secret))
        row.save(update_fields=["sealed_secret"])
        count += 1
    return count


def list_trigger_secrets(team_id: UUID) -> list[bytes]:
    """Return the encrypted addresses and secrets of a team's webhooks. Runs in the caller's tenant."""
    rows = Trigger.objects.unscoped().filter(team_id=team_id).values_list(*_SEALED)
    subscriptions = RunSubscription.objects.unscoped().filter(team_id=team_id)
    secrets_out = subscriptions.values_list("sealed_secret", flat=True)
    stored = [bytes(sealed) for row in rows for sealed in row if sealed]
    return stored + [bytes(sealed) for sealed in secrets_out]


_SEALED: Final = ("sealed_token", "sealed_secret")
