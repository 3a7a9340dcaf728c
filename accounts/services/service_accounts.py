"""Service accounts: the team's programs, which own what their keys open."""

from __future__ import annotations

from uuid import UUID

from django.db.models import QuerySet

from accounts.access import Principal, check
from accounts.errors import InvalidChoice, NotFound
from accounts.models import ApiKey, ServiceAccount, Team
from accounts.models.secrets import PAGE_PREFIX
from accounts.principals import KeyPrincipal


def list_service_accounts(principal: Principal, team: Team) -> QuerySet[ServiceAccount]:
    """Return the team's service accounts with their workflows, by name."""
    check(principal, "key.manage", team)
    rows = ServiceAccount.objects.visible_to(principal).filter(team=team)
    return rows.select_related("workflow").order_by("name", "id")


def choose_service_account(
    team: Team, *, name: str, workflow_id: UUID | None, service_account_id: UUID | None
) -> ServiceAccount:
    """Return the account for a new key: the one with this id, that of its workflow, or a new one of this name.

    Runs in the caller's tenant, after its check. Raise NotFound for another team's account, and InvalidChoice for one of
    another workflow, whose conversations the key could not open.
    """
    Team.objects.select_for_update(no_key=True).get(
        pk=team.pk
    )  # two first keys of a workflow share its account
    accounts = ServiceAccount.objects.unscoped().filter(team=team)
    if service_account_id is not None:
        account = accounts.filter(pk=service_account_id).first()
        if account is None:
            raise NotFound(field="service_account")
        if account.workflow_id != workflow_id:
            raise InvalidChoice(field="service_account")
        return account
    if workflow_id is not None:
        account = accounts.filter(workflow_id=workflow_id).order_by("created_at", "id").first()
        if account is not None:
            return account
    return ServiceAccount.objects.create(team=team, name=name, workflow_id=workflow_id)


def list_own_actors(principal: Principal, *, may_do_more: bool = True) -> list[str]:
    """Return the actors under which the principal's rows are stored: of a program, all keys of its service account.

    A program changes its key and stays the same author. Public pages act with keys of their own, whose rows are those of
    visitors. Without ``may_do_more``, keys with a scope that the principal's key lacks are left out.
    """
    if not isinstance(principal, KeyPrincipal) or principal.visitor or principal.key.is_of_page:
        return [principal.actor]
    account_id = principal.key.service_account_id
    keys = ApiKey.objects.unscoped().filter(service_account_id=account_id)
    keys = keys.exclude(prefix=PAGE_PREFIX).order_by("pk")
    if not may_do_more:
        keys = keys.filter(scopes__contained_by=principal.key.scopes)
    return [f"key:{pk}" for pk in keys.values_list("pk", flat=True)]
