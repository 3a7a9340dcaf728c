"""For whom the runs were that wrote memory which others share, as long as it has their words."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantModel


class RunPerson(TenantModel):
    """The person of a run. The run itself may have been deleted, and an erasure still finds what it wrote.

    ``subject`` is empty if nobody knows it any more, or the run was for nobody.
    """

    # The constraint and the index begin with this column.
    team = models.ForeignKey(
        "accounts.Team", on_delete=models.PROTECT, related_name="+", db_index=False
    )
    run_id = models.CharField(_("run"), max_length=80, editable=False)
    subject = models.CharField(_("person"), max_length=255, blank=True, editable=False)

    class Meta:
        verbose_name = _("person of a run")
        verbose_name_plural = _("people of runs")
        ordering = ("team", "run_id")
        constraints = (
            models.UniqueConstraint(fields=("team", "run_id"), name="memory_person_once_a_run"),
        )
        indexes = (models.Index(fields=("team", "subject"), name="memory_run_by_person"),)

    def __str__(self) -> str:
        return self.run_id
