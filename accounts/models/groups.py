"""Groups of a team's members, to share something with all of them at once."""

from __future__ import annotations

from django.contrib.auth.models import Group
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantModel


class TeamGroup(TenantModel):
    """The team and the name of a Django group. The Django group holds the members and the grants, but no team."""

    name = models.CharField(_("name"), max_length=80)
    group = models.OneToOneField(
        Group, on_delete=models.PROTECT, related_name="of_team", editable=False
    )
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("group")
        verbose_name_plural = _("groups")
        ordering = ("name", "id")
        constraints = (
            models.UniqueConstraint("team", Lower("name"), name="accounts_teamgroup_once"),
            models.CheckConstraint(condition=~models.Q(name=""), name="accounts_teamgroup_named"),
        )

    def __str__(self) -> str:
        return self.name
