"""The abstract model of rows that people create, with creator, creation time and time of the last change."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from workflows.models.fields import link_to_user


class Authored(models.Model):
    """A row that people create. ``created_by`` is null without a creator, and once their account is deleted."""

    created_by = link_to_user(_("created by"))
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        abstract = True
