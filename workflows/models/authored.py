"""Who made a row, and when it was made and last changed: the same three columns wherever people make something."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class Authored(models.Model):
    """``created_by`` is null for what nobody made, and once their account is gone."""

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
