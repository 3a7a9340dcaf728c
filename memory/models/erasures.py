"""Jobs that erase a person's memory, with the requester, the preview and the receipt."""

from typing import ClassVar, Self, cast

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.principals import Principal
from accounts.tenancy import HasTeams, TenantManager, TenantModel, TenantQuerySet
from memory.models.conditions import build_choices_constraint
from memory.models.jobs import Job, JobStatus


class ErasureQuerySet(TenantQuerySet["Erasure"]):
    def visible_to(self, principal: HasTeams) -> Self:
        """Limit the jobs to those that the principal requested or is the subject of."""
        actor = cast(Principal, principal)  # ``HasTeams`` has only a part of its fields
        if actor.kind != "user" or actor.user_id is None:
            return self.none()
        condition = Q(asked_by=actor.user_id) | Q(subject=str(actor.user_id))
        return super().visible_to(principal).filter(condition)


class Erasure(Job, TenantModel):
    """A job to erase a person's memory. The receipt has counts and never contains memories."""

    subject = models.CharField(_("user"), max_length=80, editable=False)
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,  # a key asked for it
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        editable=False,
        verbose_name=_("requested by"),
    )
    planned = models.JSONField(_("preview"), default=dict, editable=False)
    receipt = models.JSONField(_("receipt"), null=True, blank=True, editable=False)
    # What people decided about the memories in ``to_decide`` of the receipt, by their ids: what, who and when.
    decisions = models.JSONField(_("decisions"), null=True, blank=True, editable=False)
    problem = models.CharField(_("problem"), max_length=500, blank=True, editable=False)

    objects: ClassVar[TenantManager[Self]] = TenantManager.from_queryset(ErasureQuerySet)()

    class Meta:
        verbose_name = _("erasure")
        verbose_name_plural = _("erasures")
        ordering = ("-created_at", "-id")
        constraints = (build_choices_constraint("status", JobStatus, "memory_erasure_status"),)
        indexes = (
            models.Index(
                fields=("team", "created_at"),
                condition=Q(status__in=("waiting", "running")),
                name="memory_erasure_waiting",
            ),
        )

    def __str__(self) -> str:
        return f"{self.created_at:%Y-%m-%d} {self.status}"
