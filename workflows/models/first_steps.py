"""A person's progress with the seven first steps."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from config.ids import uuid7


class FirstSteps(models.Model):
    """A person's progress, independent of their teams. ``done``: step → time; a completed step stays completed."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, verbose_name=_("user"), on_delete=models.CASCADE, related_name="+"
    )
    done = models.JSONField(_("done"), default=dict, blank=True)
    dismissed_at = models.DateTimeField(_("dismissed at"), null=True, blank=True)
    tour = models.CharField(_("tour step"), max_length=40, blank=True)

    class Meta:
        verbose_name = _("first steps")
        verbose_name_plural = _("first steps")
        ordering = ["user", "id"]

    def __str__(self) -> str:
        return f"{len(self.done)} of 7"
