"""The quotas and rules of a team or of one of its applications."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantModel


class Policy(TenantModel):
    """Quotas and rules of a team or, with ``app_id``, of an application, whose quotas can only be stricter."""

    app_id = models.CharField(_("application"), max_length=80, blank=True)
    allowed_prefixes = ArrayField(
        models.CharField(max_length=120),
        null=True,
        blank=True,
        verbose_name=_("allowed namespace prefixes"),
    )
    max_entries = models.PositiveIntegerField(_("max entries per namespace"), null=True, blank=True)
    max_value_bytes = models.PositiveIntegerField(_("max bytes per value"), null=True, blank=True)
    max_namespace_bytes = models.PositiveBigIntegerField(
        _("max bytes per namespace"), null=True, blank=True
    )
    max_namespaces = models.PositiveIntegerField(_("max namespaces"), null=True, blank=True)
    # Null means the team's value, and false if the team has none.
    subjects_write_global = models.BooleanField(
        _("runs for external users can write global memory"), null=True, blank=True
    )

    class Meta:
        verbose_name = _("memory quota")
        verbose_name_plural = _("memory quotas")
        ordering = ("app_id", "id")
        constraints = (
            models.UniqueConstraint(fields=("team", "app_id"), name="memory_policy_once"),
        )

    def __str__(self) -> str:
        return self.app_id or str(_("team default"))
