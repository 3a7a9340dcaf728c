"""API keys: shown once, stored as a hash, valid for one team and the given scopes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from django.db.models import Model, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts import audit, tokens
from accounts.access import Principal, check
from accounts.errors import InvalidChoice, NotFound
from accounts.models import ApiKey, HistoryKeeper, ServiceAccount, Team
from accounts.models.limits import KEY_LIMITS
from accounts.models.secrets import PAGE_PREFIX
from accounts.principals import KeyPrincipal
from accounts.roles import SCOPES, SERVICE_SCOPES, TEAM_WIDE_SCOPES
from accounts.services.service_accounts import choose_service_account
from accounts.tenancy import lookup_each, tenant


MAX_OVERLAP: Final = dt.timedelta(days=30)  # for which a replaced key goes on working
NO_LIMITS: Final[Mapping[str, int | None]] = MappingProxyType({})
# The time of use is recorded once per interval; otherwise every request would update the row of its key.
LAST_USED_INTERVAL = dt.timedelta(minutes=1)


def issue_key(
    *,
    principal: Principal,
    team: Team,
    name: str,
    scopes: Collection[str],
    expires_at: dt.datetime | None = None,
    workflow_id: UUID | None = None,
    service_account_id: UUID | None = None,
    limits: Mapping[str, int | None] = NO_LIMITS,
    history: str = HistoryKeeper.REQUEST,
) -> tuple[ApiKey, str]:
    """Issue a key, for all workflows of the team or for one; return its row and the secret, which is shown once.

    A key opens what its service account owns. By default, that is the account of its workflow, or a new one with the
    name of the key. ``limits`` are those of ``KEY_LIMITS`` that the key has of its own, besides those of its team.
    ``history`` is who keeps the conversations of programs for OpenAI's API.
    """
    check(principal, "key.manage", team)
    known_scopes = {*SCOPES, *SERVICE_SCOPES} - (TEAM_WIDE_SCOPES if workflow_id else set())
    if not name.strip() or not scopes or not set(scopes) <= known_scopes:
        raise InvalidChoice
    if expires_at is not None and expires_at <= timezone.now():
        raise InvalidChoice
    if history not in HistoryKeeper.values:
        raise InvalidChoice(field="history")
    _check_limits(limits)
    given_limits = {name: value for name, value in limits.items() if value is not None}
    secret = tokens.make_workflow_key() if workflow_id else tokens.make_secret("key")
    with tenant([team.id]):
        if workflow_id is not None:
            _check_workflow(principal, team, workflow_id)
        name = name.strip()[:120]
        account = choose_service_account(
            team, name=name, workflow_id=workflow_id, service_account_id=service_account_id
        )
        key = ApiKey.objects.create(
            team=team,
            service_account=account,
            workflow_id=workflow_id,
            name=name,
            prefix=tokens.cut_to_visible(secret),
            secret_hash=tokens.hash_secret("key", secret),
            scopes=sorted(set(scopes)),
            created_by_id=principal.user_id,
            expires_at=expires_at,
            history=history,
            **given_limits,
        )
        _record_issue(principal, key, account, given_limits)
    return key, secret


def _record_issue(
    principal: Principal, key: ApiKey, account: ServiceAccount, limits: Mapping[str, int]
) -> None:
    bound = {"workflow": f"workflow:{key.workflow_id}"} if key.workflow_id else {}
    audit.record_action(
        principal,
        key.team_id,
        "key.issued",
        f"key:{key.pk}",
        scopes=key.scopes,
        service_account=account.name,
        **bound,
        **limits,
    )


def create_page_key(
    *,
    principal: Principal,
    team: Team,
    name: str,
    account_name: str,
    scopes: Collection[str],
    workflow_id: UUID,
) -> ApiKey:
    """Create the key with which a public page of a workflow acts. It has no secret, so that no program can use it.

    It belongs to the service account of the workflow. The caller has checked the permission, in an open ``tenant``.
    """
    account = choose_service_account(
        team, name=account_name[:120], workflow_id=workflow_id, service_account_id=None
    )
    return ApiKey.objects.create(
        team=team,
        service_account=account,
        workflow_id=workflow_id,
        name=name[:120],
        prefix=PAGE_PREFIX,
        secret_hash=tokens.hash_secret("key", tokens.make_secret("key")),
        scopes=sorted(set(scopes)),
        created_by_id=principal.user_id,
    )


def list_key_workflows(principal: Principal, team: Team) -> list[tuple[str, str]]:
    """Return ids and names of the team's workflows, by name, for the choice of a key's workflow."""
    check(principal, "key.manage", team)
    rows = _query_workflows(principal, team).filter(archived_at=None).order_by("name", "id")
    return [(str(pk), name) for pk, name in rows.values_list("pk", "name")]


def _check_workflow(principal: Principal, team: Team, workflow_id: UUID) -> None:
    """Raise ``NotFound`` if the team has no such workflow, and ``NotAllowed`` if the principal may not run it."""
    workflow: Model | None = _query_workflows(principal, team).filter(pk=workflow_id).first()
    if workflow is None:
        raise NotFound
    check(principal, "workflow.run", workflow)


def _query_workflows(principal: Principal, team: Team) -> QuerySet[Any]:
    """Return the team's workflows. This application knows them only by the field of the key."""
    model: Any = ApiKey._meta.get_field("workflow").related_model  # Any: a class of another app
    rows: QuerySet[Any] = model.objects.visible_to(principal).filter(team_id=team.pk)
    return rows


def change_key_limits(
    principal: Principal, *, key_id: UUID, limits: Mapping[str, int | None]
) -> ApiKey:
    """Set the given limits of a key, which hold from its next request on. None is no limit."""
    _check_limits(limits)
    with tenant(principal.team_ids):
        key = _lock_usable_key(principal, key_id)
        changed = {name: value for name, value in limits.items() if getattr(key, name) != value}
        for name, value in changed.items():
            setattr(key, name, value)
        if changed:
            key.save(update_fields=[*changed])
            audit.record_action(
                principal, key.team_id, "key.limits_changed", f"key:{key.pk}", **changed
            )
    return key


def change_key_history(principal: Principal, *, key_id: UUID, history: str) -> ApiKey:
    """Set who keeps the conversations of programs for OpenAI's API that use a key, from its next request on."""
    if history not in HistoryKeeper.values:
        raise InvalidChoice(field="history")
    with tenant(principal.team_ids):
        key = _lock_usable_key(principal, key_id)
        if key.is_of_page:
            raise NotFound
        if key.history != history:
            key.history = history
            key.save(update_fields=["history"])
            audit.record_action(
                principal, key.team_id, "key.history_changed", f"key:{key.pk}", history=history
            )
    return key


def find_key(principal: Principal, key_id: UUID) -> ApiKey:
    """Return a key that the principal may manage."""
    with tenant(principal.team_ids):
        return _find_key(principal, ApiKey.objects.visible_to(principal), key_id)


def rotate_key(
    principal: Principal, *, key_id: UUID, overlap: dt.timedelta = dt.timedelta()
) -> tuple[ApiKey, str]:
    """Replace a key by a new one with the same rights, limits and service account; return it with its secret.

    The old key works for the ``overlap``, during which programs change to the new one, and with none is revoked at once.
    The new key is valid for as long as the old one was to be. Raise InvalidChoice for a key that can't be used any more.
    """
    now = timezone.now()
    with tenant(principal.team_ids):
        old = _find_key(
            principal, ApiKey.objects.visible_to(principal).select_for_update(no_key=True), key_id
        )
        if old.is_of_page:
            raise NotFound
        if not old.is_usable(now):
            raise InvalidChoice(_("This API key has been revoked or has expired."))
        if not dt.timedelta() <= overlap <= MAX_OVERLAP:
            message = _("A replaced key can go on working for %(days)s days at most.")
            raise InvalidChoice(message % {"days": MAX_OVERLAP.days}, field="overlap")
        lifetime = old.expires_at - old.created_at if old.expires_at else None
        key, secret = issue_key(
            principal=principal,
            team=old.team,
            name=old.name,
            scopes=old.scopes,
            expires_at=now + lifetime if lifetime else None,
            workflow_id=old.workflow_id,
            service_account_id=old.service_account_id,
            limits={name: getattr(old, name) for name in KEY_LIMITS},
            history=old.history,
        )
        ends_at = now + overlap
        if overlap and (old.expires_at is None or old.expires_at > ends_at):
            old.expires_at = ends_at
        elif not overlap:
            old.revoked_at = now
        old.replaced_by = key
        old.save(update_fields=["expires_at", "revoked_at", "replaced_by"])
        audit.record_action(
            principal,
            old.team_id,
            "key.rotated",
            f"key:{old.pk}",
            replaced_by=f"key:{key.pk}",
            works_until=ends_at.isoformat(),
        )
    return key, secret


def revoke_key(principal: Principal, *, key_id: UUID) -> ApiKey:
    """Revoke a key immediately; revoking it twice changes nothing."""
    with tenant(principal.team_ids):
        key = _find_key(
            principal, ApiKey.objects.visible_to(principal).select_for_update(no_key=True), key_id
        )
        if key.is_of_page:
            raise NotFound
        if key.revoked_at is None:
            key.revoked_at = timezone.now()
            key.save(update_fields=["revoked_at"])
            audit.record_action(principal, key.team_id, "key.revoked", f"key:{key.pk}")
    return key


def _find_key(principal: Principal, rows: QuerySet[ApiKey], key_id: UUID) -> ApiKey:
    key = rows.filter(pk=key_id).first()
    if key is None:
        raise NotFound
    check(principal, "key.manage", key)
    return key


def _lock_usable_key(principal: Principal, key_id: UUID) -> ApiKey:
    """Return the locked key. Raises InvalidChoice for one that can't be used any more."""
    rows = ApiKey.objects.visible_to(principal).select_for_update(no_key=True)
    key = _find_key(principal, rows, key_id)
    if not key.is_usable():
        raise InvalidChoice(_("This API key has been revoked or has expired."))
    return key


def _check_limits(limits: Mapping[str, int | None]) -> None:
    if not set(limits) <= set(KEY_LIMITS) or any(
        value is not None and value < 1 for value in limits.values()
    ):
        raise InvalidChoice


def authenticate_key(secret: str) -> KeyPrincipal | None:
    """Return the principal of the key with this secret, or None if there is no usable one. Record the time of use."""
    return authenticate_keys([secret]).get(secret)


def authenticate_keys(secrets: Iterable[str]) -> dict[str, KeyPrincipal]:
    """Return the principals of the usable keys with these secrets. Record the time of use."""
    hashes = {
        tokens.hash_secret("key", secret): secret
        for secret in secrets
        if secret.startswith(tokens.KEY_PREFIXES)
    }
    keys = {
        hashes[secret_hash]: key
        for secret_hash in lookup_each(hashes)
        if (key := ApiKey.objects.unscoped().filter(secret_hash=secret_hash).first())
    }
    now = timezone.now()
    usable = {
        secret: key
        for secret, key in keys.items()
        if tokens.is_match("key", secret, key.secret_hash) and key.is_usable(now)
    }
    for key in usable.values():
        if key.last_used_at is None or now - key.last_used_at >= LAST_USED_INTERVAL:
            with tenant([key.team_id]):
                key.last_used_at = now
                key.save(update_fields=["last_used_at"])
    return {secret: KeyPrincipal(key) for secret, key in usable.items()}
