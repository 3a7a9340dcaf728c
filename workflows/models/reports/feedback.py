"""Feedback on the answer of a run: a thumb up or down, and a text."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantModel
from workflows.models.fields import Authored
from workflows.models.run import Run


class Rating(models.IntegerChoices):
    UP = 1, _("Good answer")
    DOWN = -1, _("Bad answer")


class Feedback(Authored, TenantModel):
    """This is what one author says about a run. It is visible to those who may see the run, and deleted with it."""

    workflow_lookup = "run__workflow_id"

    run = models.ForeignKey(
        Run, on_delete=models.CASCADE, related_name="feedback", db_index=False, db_constraint=False
    )
    actor = models.CharField(_("author"), max_length=255)
    rating = models.SmallIntegerField(_("rating"), choices=Rating)
    text = models.TextField(_("comment"), blank=True)

    class Meta:
        verbose_name = _("feedback")
        verbose_name_plural = _("feedback")
        ordering = ["run", "created_at", "id"]
        constraints = [
            models.UniqueConstraint(fields=["run", "actor"], name="feedback_once_an_author"),
            models.CheckConstraint(
                condition=models.Q(rating__in=[rating.value for rating in Rating]),
                name="feedback_rating_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run_id} {self.get_rating_display()}"
