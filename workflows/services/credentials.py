"""Services to create, change and delete model providers and their secrets.

No function here returns a secret; the code that sends a secret decrypts it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.tenancy import tenant
from config.encryption.crypto import encrypt, is_readable, rotate
from workflows import permissions
from workflows.errors import InvalidValue, NameTaken
from workflows.llm import registry
from workflows.llm.config import DEFAULT, MAX_RETRIES
from workflows.models import Credential, ModelProvider, WorkflowSecret
from workflows.models.provider import ProviderKind
from workflows.services import audit_lines
from workflows.services.model_prices import Prices, clean_prices
from workflows.services.models import added_models
from workflows.services.triggers.addresses import list_trigger_secrets, rotate_trigger_secrets
from workflows.tools.signed_in.secrets import list_sign_in_secrets, rotate_sign_in_secrets


Limits = Mapping[str, int | None]
# Field of a provider → the lowest and the highest value.
LIMITS: Final = {
    "timeout_seconds": (1, 3600),
    "idle_seconds": (1, 3600),
    "max_concurrency": (1, 1000),
    "max_tokens": (1, 1_000_000),
    "max_retries": (0, 10),
}
TOOL_KIND = "tool"  # the kind of a credential for a tool connection
HINT_LENGTH = 4  # characters of a secret that its hint gives away
HINT_MIN_SECRET_LENGTH = 16  # a shorter one gives away nothing


@dataclass(frozen=True, slots=True)
class SecretCount:
    """The number of stored secrets, and how many of them no key decrypts."""

    total: int
    unreadable: int


def create_credential(
    principal: Principal,
    *,
    team_id: UUID,
    name: str,
    secret: str,
    kind: str = ProviderKind.OPENAI_COMPATIBLE,
    base_url: str = "",
    hosts: str = "",
) -> Credential:
    """Create a credential. ``hosts`` are the hosts to which it may be sent; by default the host of ``base_url``."""
    permissions.check_manage(principal, team_id)
    row = Credential(
        team_id=team_id,
        name=_clean_name(name),
        kind=kind if kind == TOOL_KIND else _clean_kind(kind),
        base_url=clean_url(base_url) if base_url else "",
        created_by_id=principal.user_id,
        secret=encrypt(_clean_secret(secret)),
        hint=build_hint(secret),
    )
    row.hosts = hosts or urlsplit(row.base_url).hostname or ""
    _save_new(principal, row, "credential.created")
    return row


def replace_secret(principal: Principal, *, credential: Credential, secret: str) -> Credential:
    """Store a new encrypted secret and its hint, and record the change in the audit log."""
    permissions.check_manage(principal, credential)
    with tenant([credential.team_id]):
        credential.secret = encrypt(_clean_secret(secret))
        credential.hint = build_hint(secret)
        credential.rotated_at = timezone.now()
        credential.save(update_fields=["secret", "hint", "rotated_at"])
        audit_lines.record(principal, credential, "credential.changed", secret_replaced=True)
    return credential


def delete_credential(principal: Principal, *, credential: Credential) -> None:
    permissions.check_manage(principal, credential)
    with tenant([credential.team_id]):
        _delete(credential)
        audit_lines.record(principal, credential, "credential.deleted", name=credential.name)


def create_provider(
    principal: Principal,
    *,
    team_id: UUID,
    name: str,
    kind: str = ProviderKind.OPENAI_COMPATIBLE,
    base_url: str = "",
    default_model: str = "",
    secret: str | None = None,
    enabled: bool = True,
    prices: Prices | None = None,
    limits: Limits | None = None,
) -> ModelProvider:
    """Create a provider. ``prices`` are in USD per million tokens, by model. With a ``secret``, also create its credential under the provider's name."""
    permissions.check_manage(principal, team_id)
    kind = _clean_kind(kind)
    provider = ModelProvider(
        team_id=team_id,
        name=_clean_name(name),
        kind=kind,
        base_url="" if kind == ProviderKind.OFFLINE else clean_url(base_url),
        default_model=default_model.strip(),
        enabled=enabled,
        prices=clean_prices(prices or {}),
    )
    _set_limits(provider, limits or {})
    with tenant([team_id]):
        _save_new(principal, provider, "credential.created")
        if secret:
            _set_secret(principal, provider, secret)
    return provider


def update_provider(
    principal: Principal,
    *,
    provider: ModelProvider,
    base_url: str | None = None,
    default_model: str | None = None,
    enabled: bool | None = None,
    secret: str | None = None,
    prices: Prices | None = None,
    limits: Limits | None = None,
) -> ModelProvider:
    """Change the values that aren't None. A URL on another host drops the secret, unless a new one is given."""
    permissions.check_manage(principal, provider)
    with tenant([provider.team_id]):
        is_secret_dropped = False
        if base_url is not None and provider.kind != ProviderKind.OFFLINE:
            is_secret_dropped = _change_url(provider, clean_url(base_url))
        if default_model is not None:
            provider.default_model = default_model.strip()
        if enabled is not None:
            provider.enabled = enabled
        if prices is not None:
            provider.prices = clean_prices(prices)
        if limits is not None:
            _set_limits(provider, limits)
        provider.save()
        if secret:
            _set_secret(principal, provider, secret)
        is_other_endpoint = base_url is not None or enabled is not None or secret is not None
        if is_other_endpoint and added_models.embeds_memories(provider):
            added_models.reembed(provider.team_id)
        detail = {"secret_withdrawn": True} if is_secret_dropped else {}
        if prices is not None:
            detail["prices_changed"] = True
        if limits is not None:
            detail["limits_changed"] = True
        audit_lines.record(
            principal, provider, "credential.changed", provider=provider.name, **detail
        )
    return provider


def delete_provider(principal: Principal, *, provider: ModelProvider) -> None:
    """Delete a provider, and its credential unless another provider uses it."""
    permissions.check_manage(principal, provider)
    with tenant([provider.team_id]):
        credential = provider.credential
        if added_models.embeds_memories(provider):
            added_models.reembed(provider.team_id)
        deleted: list[tuple[Credential | ModelProvider, dict[str, str]]]
        deleted = [(provider, {"provider": provider.name})]
        _delete(provider)
        if credential and not credential.providers.exists():
            permissions.check_manage(principal, credential)
            _delete(credential)
            deleted.append((credential, {"name": credential.name}))
        for row, detail in deleted:
            audit_lines.record(principal, row, "credential.deleted", **detail)


def rotate_secrets(team_ids: Iterable[UUID]) -> int:
    """Re-encrypt every secret of these teams under the newest key, and return their number."""
    count = 0
    for team_id in team_ids:
        with tenant([team_id]):
            for model in (Credential, WorkflowSecret):
                for row in model.objects.unscoped().filter(team_id=team_id).select_for_update():
                    row.secret = rotate(bytes(row.secret))
                    row.save(update_fields=["secret"])
                    count += 1
            count += rotate_trigger_secrets(team_id) + rotate_sign_in_secrets(team_id)
    return count


def count_secrets(team_ids: Iterable[UUID]) -> SecretCount:
    """Count the stored secrets of these teams, and those that none of the keys can decrypt."""
    total = unreadable = 0
    for team_id in team_ids:
        with tenant([team_id]):
            for model in (Credential, WorkflowSecret):
                rows = model.objects.unscoped().filter(team_id=team_id)
                for secret in rows.values_list("secret", flat=True).iterator():
                    total += 1
                    unreadable += not is_readable(bytes(secret))
            for secret in (*list_trigger_secrets(team_id), *list_sign_in_secrets(team_id)):
                total += 1
                unreadable += not is_readable(secret)
    return SecretCount(total, unreadable)


def build_hint(secret: str) -> str:
    """Return the last characters of a secret: enough to distinguish two keys, too few to use it."""
    return f"…{secret[-HINT_LENGTH:]}" if len(secret) >= HINT_MIN_SECRET_LENGTH else "…"


def clean_url(url: str) -> str:
    """Check and return an http(s) URL without a user name or password. ``config.net`` checks its host at each request."""
    url = url.strip().rstrip("/")
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and parts.hostname and len(url) <= 2048
        has_valid_port = parts.port is None or parts.port > 0
    except ValueError:
        is_valid = has_valid_port = False
    if not is_valid or not has_valid_port:
        raise InvalidValue(_("Enter a URL like https://example.com/v1."))
    if parts.username or parts.password or parts.query or parts.fragment:
        raise InvalidValue(_("The URL must not contain a password, a query or a fragment."))
    return url


def _delete(row: Credential | ModelProvider) -> None:
    """Delete by query, so that the row object keeps its id for the audit entry that follows."""
    type(row).objects.unscoped().filter(pk=row.pk).delete()


def _change_url(provider: ModelProvider, base_url: str) -> bool:
    """Change the URL, and drop the secret if the host is another one. Return whether it was dropped."""
    if base_url != provider.base_url:
        provider.checked_at, provider.check_error = None, ""
    is_same_host = urlsplit(base_url).netloc == urlsplit(provider.base_url).netloc
    provider.base_url = base_url
    if not is_same_host and provider.credential:
        provider.credential = None
        return True
    return False


def _set_limits(provider: ModelProvider, limits: Limits) -> None:
    """Set all limits; those that are left out get their defaults."""
    for name, (lowest, highest) in LIMITS.items():
        value = limits.get(name)
        if value is not None and not lowest <= value <= highest:
            text = _("Enter a number from %(lowest)s to %(highest)s.")
            raise InvalidValue(text % {"lowest": lowest, "highest": highest}, field=name)
        if name == "max_retries" and value is None:
            value = MAX_RETRIES
        setattr(provider, name, value)


def _set_secret(principal: Principal, provider: ModelProvider, secret: str) -> None:
    """Replace the secret of the provider's credential, or create a credential under the provider's name."""
    if provider.credential:
        replace_secret(principal, credential=provider.credential, secret=secret)
        return
    name = provider.name
    if Credential.objects.unscoped().filter(team_id=provider.team_id, name=name).exists():
        name = f"{name[:200]} {provider.pk}"
    provider.credential = create_credential(
        principal,
        team_id=provider.team_id,
        name=name,
        kind=provider.kind,
        base_url=provider.base_url,
        secret=secret,
    )
    provider.save(update_fields=["credential"])


def _save_new(principal: Principal, row: Credential | ModelProvider, action: str) -> None:
    with tenant([row.team_id]):
        try:
            with transaction.atomic():
                row.save(force_insert=True)
        except IntegrityError as error:
            raise NameTaken from error
        audit_lines.record(principal, row, action, name=row.name)


def _clean_secret(secret: str) -> str:
    secret = secret.strip()
    if not secret or not secret.isprintable():
        raise InvalidValue(_("The secret is empty or contains characters that can't be sent."))
    return secret


def _clean_name(name: str) -> str:
    name = " ".join(name.split())
    if name.lower() == DEFAULT:
        raise InvalidValue(_("This name stands for the team's default model."), field="name")
    if not 0 < len(name) <= 255:
        raise InvalidValue(_("The name must have 1 to 255 characters."))
    return name


def _clean_kind(kind: str) -> str:
    if kind not in registry.list_factories():  # including the kinds of plug-ins
        raise InvalidValue(_("Unknown provider type."))
    return kind
