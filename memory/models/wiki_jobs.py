"""Jobs that ask a model about a wiki in the background: to compile pages anew, or to look for contradictions."""

from typing import ClassVar, Self

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantManager, TenantModel
from memory.models.conditions import build_choices_constraint
from memory.models.jobs import Job, JobStatus
from memory.models.namespaces import Namespace, NamespacedQuerySet


class WikiTask(models.TextChoices):
    COMPILE = "compile", _("Compile stale pages anew")
    COMPILE_PAGE = "compile_page", _("Compile anew")
    LINT = "lint", _("Check with the model")


class WikiJobQuerySet(NamespacedQuerySet["WikiJob"]):
    """Jobs, which are as visible as their namespace."""


class WikiJob(Job, TenantModel):
    """A job for a worker, who acts with the present rights of the account or key that asked for it.

    ``result`` has ids and the words of the model, never those of a page; see ``memory.services.wiki.jobs``.
    """

    namespace = models.ForeignKey(
        Namespace, on_delete=models.PROTECT, related_name="+", verbose_name=_("namespace")
    )
    task = models.CharField(_("task"), max_length=12, choices=WikiTask, editable=False)
    entry_id = models.UUIDField(_("page"), null=True, blank=True, editable=False)
    # The entries to compile again, because the model failed for them; empty for all stale pages.
    pages = models.JSONField(_("pages"), default=list, blank=True, editable=False)
    asked_by = models.UUIDField(_("requested by"), null=True, blank=True, editable=False)
    asked_with_key = models.UUIDField(_("API key"), null=True, blank=True, editable=False)
    result = models.JSONField(_("result"), default=dict, blank=True, editable=False)
    problem = models.CharField(_("problem"), max_length=500, blank=True, editable=False)

    objects: ClassVar[TenantManager[Self]] = TenantManager.from_queryset(WikiJobQuerySet)()

    class Meta:
        verbose_name = _("wiki job")
        verbose_name_plural = _("wiki jobs")
        ordering = ("-created_at", "-id")
        constraints = (
            # Two people who ask for the same at once get the same job.
            models.UniqueConstraint(
                fields=("namespace", "task", "entry_id"),
                condition=Q(status__in=("waiting", "running")),
                nulls_distinct=False,
                name="memory_wiki_job_open_once",
            ),
            build_choices_constraint("status", JobStatus, "memory_wiki_job_status"),
            build_choices_constraint("task", WikiTask, "memory_wiki_job_task"),
        )
        indexes = (
            models.Index(
                fields=("team", "created_at"),
                condition=Q(status__in=("waiting", "running")),
                name="memory_wiki_job_waiting",
            ),
            models.Index(fields=("namespace", "-created_at"), name="memory_wiki_job_newest"),
        )

    def __str__(self) -> str:
        return f"{self.task} {self.status}"
