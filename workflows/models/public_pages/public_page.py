"""The public page of a workflow: who may open it, its link, and the sites that may embed it."""

from typing import Final

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantModel
from workflows.models.fields import Authored


TOKEN_LENGTH: Final = 22  # characters of 128 random bits


class PageAccess(models.TextChoices):
    """The people who may open a public page."""

    OFF = "off", _("Off")
    LINK = "link", _("Anybody with the link")
    PASSWORD = "password", _("Anybody with the link and the password")
    MEMBERS = "members", _("Members of the team only")


class PublicPage(Authored, TenantModel):
    """The page of a workflow. ``token`` is the part of its link that nobody can guess; a new one ends the old link.

    The page acts for its visitors with ``api_key``, which has no secret.
    """

    workflow_lookup = "workflow_id"

    workflow = models.OneToOneField(
        "workflows.Workflow", on_delete=models.CASCADE, related_name="public_page"
    )
    api_key = models.OneToOneField(
        "accounts.ApiKey",
        on_delete=models.CASCADE,
        related_name="+",
        verbose_name=_("API key"),
    )
    access = models.CharField(
        _("access"), max_length=10, choices=PageAccess, default=PageAccess.OFF
    )
    token = models.CharField(_("link"), max_length=TOKEN_LENGTH, unique=True, editable=False)
    password = models.CharField(
        _("hash of the password"), max_length=255, blank=True, editable=False
    )
    # Origins such as https://shop.example.com, whose pages may show the bubble.
    origins = ArrayField(
        models.CharField(max_length=255), verbose_name=_("sites"), default=list, blank=True
    )

    class Meta:
        verbose_name = _("public page")
        verbose_name_plural = _("public pages")
        ordering = ["-created_at", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(access__in=PageAccess.values), name="publicpage_access_known"
            ),
            models.CheckConstraint(
                condition=~models.Q(access="password", password=""),
                name="publicpage_has_password",
            ),
        ]

    def __str__(self) -> str:
        return str(self.workflow)

    @property
    def is_on(self) -> bool:
        return self.access != PageAccess.OFF
