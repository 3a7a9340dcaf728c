"""Teams and memberships."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models.limits import Limited
from accounts.tenancy import TenantModel
from config.ids import uuid7


class Role(models.TextChoices):
    """The roles of a member, most powerful first; their verbs are in ``accounts.roles``."""

    OWNER = "owner", _("Owner")
    ADMIN = "admin", _("Admin")
    EDITOR = "editor", _("Editor")
    VIEWER = "viewer", _("Viewer")


class Team(Limited):
    """The tenant: every other row belongs to a team."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    slug = models.SlugField(_("short name"), max_length=60, unique=True)
    name = models.CharField(_("name"), max_length=120)
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("team")
        verbose_name_plural = _("teams")
        ordering = ("name", "id")

    def __str__(self) -> str:
        return self.name


class Membership(TenantModel):
    """The membership of one person in one team. A trigger keeps at least one owner per team."""

    team = models.ForeignKey(
        Team, on_delete=models.CASCADE, related_name="memberships", verbose_name=_("team")
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        related_name="memberships",
        verbose_name=_("user"),
    )
    role = models.CharField(_("role"), max_length=10, choices=Role.choices, default=Role.VIEWER)
    joined_at = models.DateTimeField(_("joined"), default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("member")
        verbose_name_plural = _("members")
        ordering = ("joined_at", "id")
        constraints = (
            models.UniqueConstraint(fields=("team", "user"), name="accounts_membership_once"),
            models.CheckConstraint(
                condition=models.Q(role__in=Role.values), name="accounts_membership_role"
            ),
        )

    def __str__(self) -> str:
        return f"{self.user_id} · {self.role}"
