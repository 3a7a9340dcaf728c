"""Credentials that grant access: API keys, invitations, start tokens. Only hashes of the secrets are stored."""

from __future__ import annotations

import datetime as dt

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models.limits import Limited
from accounts.models.teams import Role
from accounts.tenancy import TenantModel
from config.ids import uuid7


NOTICE = dt.timedelta(days=14)  # before a key expires, in which people are told
PAGE_PREFIX = "page"  # of the keys of public pages, which have no secret that begins with anything
HASH_LENGTH = 64  # hexadecimal digits of a SHA-256 hash


class HistoryKeeper(models.TextChoices):
    """Says who keeps the conversations of programs for OpenAI's API that use a key."""

    REQUEST = "request", _("As each request says")
    CLIENT = "client", _("The program: an id of a conversation is ignored")
    SERVER = "server", _("The server: a request without an id of a conversation is refused")


class ServiceAccount(TenantModel):
    """A program of the team's. It owns the conversations, runs, files and memory that its keys open, so keys can change.

    The id of the account of a key from before there were service accounts is that key's id.
    """

    name = models.CharField(_("name"), max_length=120)
    # The only workflow that its keys may use; null for all of the team's. The account goes with a deleted workflow.
    workflow = models.ForeignKey(
        "workflows.Workflow",
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("workflow"),
    )
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("service account")
        verbose_name_plural = _("service accounts")
        ordering = ("name", "id")

    def __str__(self) -> str:
        return self.name


class ApiKey(Limited, TenantModel):
    """An API client's key: for one team or one workflow, with named scopes and an optional expiry.

    It opens what its service account owns, as the account's other keys do.
    """

    service_account = models.ForeignKey(
        ServiceAccount,
        on_delete=models.CASCADE,
        related_name="keys",
        verbose_name=_("service account"),
    )
    name = models.CharField(_("name"), max_length=120)
    prefix = models.CharField(_("prefix"), max_length=16, editable=False)
    secret_hash = models.CharField(max_length=HASH_LENGTH, unique=True, editable=False)
    scopes = ArrayField(
        models.CharField(max_length=40), verbose_name=_("permissions"), default=list
    )
    # The only workflow that the key may use; null for all of the team's. Its key goes with a deleted workflow.
    workflow = models.ForeignKey(
        "workflows.Workflow",
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("workflow"),
    )
    requests_per_minute = models.PositiveIntegerField(
        _("requests per minute"), null=True, blank=True
    )
    history = models.CharField(
        _("who keeps conversations"),
        max_length=8,
        choices=HistoryKeeper,
        default=HistoryKeeper.REQUEST,
        db_default=HistoryKeeper.REQUEST,
    )
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        related_name="+",
        verbose_name=_("created by"),
    )
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    last_used_at = models.DateTimeField(_("last used"), null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField(_("revoked"), null=True, blank=True, editable=False)
    replaced_by = models.ForeignKey(
        "self",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        editable=False,
        related_name="+",
        verbose_name=_("replaced by"),
    )
    # When people were told by mail that the key is about to expire.
    expiry_mailed_at = models.DateTimeField(
        _("expiry notice sent"), null=True, blank=True, editable=False
    )

    class Meta:
        verbose_name = _("API key")
        verbose_name_plural = _("API keys")
        ordering = ("-created_at", "id")

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @property
    def is_of_page(self) -> bool:
        """Return whether a public page acts with the key. It has no secret, so that no program can authenticate with it."""
        return self.prefix == PAGE_PREFIX

    def is_usable(self, now: dt.datetime | None = None) -> bool:
        return self.revoked_at is None and not _has_expired(self.expires_at, now)

    @property
    def expires_soon(self) -> bool:
        """Return whether the key ends within ``NOTICE`` and no other replaces it."""
        if self.expires_at is None or self.replaced_by_id is not None or not self.is_usable():
            return False
        return self.expires_at <= timezone.now() + NOTICE


class Invitation(TenantModel):
    """A single-use link that makes the user who opens it a member."""

    token_hash = models.CharField(max_length=HASH_LENGTH, unique=True, editable=False)
    role = models.CharField(_("role"), max_length=10, choices=Role.choices, default=Role.EDITOR)
    email = models.EmailField(_("restricted to"), blank=True)
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        related_name="+",
        verbose_name=_("invited by"),
    )
    expires_at = models.DateTimeField(_("expires"))
    accepted_at = models.DateTimeField(_("accepted"), null=True, blank=True, editable=False)
    accepted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("accepted by"),
    )
    revoked_at = models.DateTimeField(_("revoked"), null=True, blank=True, editable=False)

    class Meta:
        verbose_name = _("invitation")
        verbose_name_plural = _("invitations")
        ordering = ("-created_at", "id")
        constraints = (
            models.CheckConstraint(
                condition=models.Q(role__in=Role.values), name="accounts_invitation_role"
            ),
        )

    def __str__(self) -> str:
        return self.email or str(_("Anyone with the link"))

    def is_usable(self, now: dt.datetime | None = None) -> bool:
        is_open = self.accepted_at is None and self.revoked_at is None
        return is_open and not _has_expired(self.expires_at, now)


class StartToken(models.Model):
    """The single-use sign-in link that starting the server prints."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    token_hash = models.CharField(max_length=HASH_LENGTH, unique=True, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", verbose_name=_("user")
    )
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    expires_at = models.DateTimeField(_("expires"))
    used_at = models.DateTimeField(_("used"), null=True, blank=True, editable=False)

    class Meta:
        verbose_name = _("sign-in token")
        verbose_name_plural = _("sign-in tokens")
        ordering = ("-created_at", "id")

    def __str__(self) -> str:
        return str(self.id)


def _has_expired(expires_at: dt.datetime | None, now: dt.datetime | None) -> bool:
    return expires_at is not None and expires_at <= (now or timezone.now())
