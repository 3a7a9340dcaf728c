"""Django admin of accounts. The request's tenant is open here too, so row-level security applies.

Memberships, keys and invitations are changed on their pages, where ranks are checked and audit entries are written.
"""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from accounts.access import can
from accounts.models import (
    ApiKey,
    AuditEntry,
    AuditHead,
    AuditPerson,
    Invitation,
    Membership,
    ServiceAccount,
    StartToken,
    Team,
    TeamGroup,
    User,
)
from accounts.principals import get_principal


class ReadOnlyAdmin(admin.ModelAdmin[Any]):  # Any: each registered model
    """An admin without permissions to add, change or delete."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    has_delete_permission = has_change_permission


class TenantAdmin(admin.ModelAdmin[Any]):  # Any: each registered model
    """The base of every tenant model's admin: it lists the rows of the teams in which the user may do ``verb``."""

    verb = "team.view"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        principal = get_principal(request)
        team_ids = [team_id for team_id in principal.team_ids if can(principal, self.verb, team_id)]
        return super().get_queryset(request).filter(team_id__in=team_ids)


@admin.register(User)
class UserAdmin(admin.ModelAdmin[User]):
    list_display = ("email", "name", "is_active", "is_staff", "date_joined")
    search_fields = ("email", "name")
    fields = ("email", "name", "locale", "is_active", "is_staff", "last_login", "date_joined")
    # Changing the address would let an administrator reset the password and sign in as the user.
    readonly_fields = ("email", "last_login", "date_joined")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False  # users join by invitation

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return False  # the erasure of a user involves more than this row


@admin.register(Team)
class TeamAdmin(ReadOnlyAdmin):
    list_display = ("name", "slug", "created_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).filter(pk__in=get_principal(request).team_ids)


class ReadOnlyTenantAdmin(ReadOnlyAdmin, TenantAdmin):
    """The base of tenant models' admins that change nothing."""


@admin.register(Membership)
class MembershipAdmin(ReadOnlyTenantAdmin):
    list_display = ("user", "team", "role", "joined_at")
    list_select_related = ("user", "team")


@admin.register(Invitation)
class InvitationAdmin(ReadOnlyTenantAdmin):
    verb = "member.manage"
    list_display = ("team", "role", "email", "expires_at", "accepted_at", "revoked_at")
    list_select_related = ("team",)
    exclude = ("token_hash",)


@admin.register(ServiceAccount)
class ServiceAccountAdmin(ReadOnlyTenantAdmin):
    verb = "key.manage"
    list_display = ("name", "team", "workflow", "created_at")
    list_select_related = ("team", "workflow")


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyTenantAdmin):
    verb = "key.manage"
    list_display = (
        "name",
        "service_account",
        "team",
        "prefix",
        "expires_at",
        "last_used_at",
        "revoked_at",
    )
    list_select_related = ("team", "service_account")
    exclude = ("secret_hash",)


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyTenantAdmin):
    verb = "audit.view"
    list_display = ("seq", "at", "actor", "action", "subject", "success")
    list_filter = ("action", "success")
    search_fields = ("actor", "subject")


@admin.register(AuditHead)
class AuditHeadAdmin(ReadOnlyTenantAdmin):
    verb = "audit.view"
    list_display = ("team_id", "seq", "hash")


@admin.register(AuditPerson)
class AuditPersonAdmin(ReadOnlyTenantAdmin):
    verb = "audit.view"
    list_display = ("person", "pseudonym", "team_id")
    search_fields = ("person", "pseudonym")
    exclude = ("secret",)


@admin.register(StartToken)
class StartTokenAdmin(ReadOnlyAdmin):
    list_display = ("user", "created_at", "expires_at", "used_at")
    exclude = ("token_hash",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).filter(user_id=get_principal(request).user_id)


@admin.register(TeamGroup)
class TeamGroupAdmin(ReadOnlyTenantAdmin):
    list_display = ("name", "team", "created_at")
    list_select_related = ("team",)


# Models that libraries register. Changing an account's address or second factor would let an administrator sign in as
# the user and read their private memory; permission groups have no team.
for label in (
    "account.EmailAddress",
    "account.EmailConfirmation",
    "auth.Group",
    "mfa.Authenticator",
):
    app, _point, name = label.partition(".")
    if app in apps.app_configs and admin.site.is_registered(apps.get_model(app, name)):
        admin.site.unregister(apps.get_model(app, name))
