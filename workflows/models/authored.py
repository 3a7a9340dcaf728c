"""The columns of rows that people create: creator, creation time and time of the last change."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class Authored(models.Model):
    """A row that people create. ``created_by`` is null without a creator, and once their account is deleted."""

    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("created by"),
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        abstract = True
