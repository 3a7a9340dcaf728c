"""Saved test cases of a workflow and their results. They belong to the team, like the draft."""

from datetime import timedelta

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantModel
from workflows.models.fields import Authored, VerbatimJSONField, link_to_user, link_to_workflow


# A case that has no result after this time is lost: its worker was killed, and no other worker continues it.
MAX_CASE_TIME = timedelta(minutes=5)


class TestCase(Authored, TenantModel):
    """A test case. ``spec`` is ``engine.testing.cases.Case`` as JSON; its name is stored separately for lists."""

    workflow_lookup = "workflow_id"

    __test__ = False  # otherwise pytest would collect a class named Test…

    workflow = link_to_workflow("test_cases")
    name = models.CharField(_("name"), max_length=200)
    rank = models.PositiveIntegerField(_("position"), default=0)
    spec = VerbatimJSONField(_("case"), default=dict)

    class Meta:
        verbose_name = _("test case")
        verbose_name_plural = _("test cases")
        ordering = ["workflow", "rank", "id"]
        constraints = [
            models.UniqueConstraint(fields=["workflow", "name"], name="test_case_name_once")
        ]

    def __str__(self) -> str:
        return self.name


class ResultStatus(models.TextChoices):
    QUEUED = "queued", _("Queued")
    RUNNING = "running", _("Running")
    PASSED = "passed", _("Passed")
    FAILED = "failed", _("Failed")


class TestResult(TenantModel):
    """One run of a test case against a snapshot. ``detail`` has the findings and steps, with secrets masked."""

    workflow_lookup = "case__workflow_id"

    __test__ = False

    case = models.ForeignKey(
        TestCase, on_delete=models.CASCADE, related_name="results", db_index=False
    )
    snapshot = models.ForeignKey(
        "workflows.Snapshot", on_delete=models.PROTECT, related_name="+", db_index=False
    )
    status = models.CharField(
        _("status"), max_length=8, choices=ResultStatus, default=ResultStatus.QUEUED
    )
    offline = models.BooleanField(_("offline"), default=False)
    spec = VerbatimJSONField(_("test case snapshot"), default=dict)
    detail = VerbatimJSONField(_("result details"), default=dict)
    started_by = link_to_user(_("started by"))
    api_key = models.ForeignKey(
        "accounts.ApiKey",
        verbose_name=_("API key"),
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        db_index=False,
    )
    queued_at = models.DateTimeField(_("queued at"), default=timezone.now)
    finished_at = models.DateTimeField(_("finished at"), null=True, blank=True)
    elapsed = models.FloatField(_("seconds"), null=True, blank=True)

    class Meta:
        verbose_name = _("test result")
        verbose_name_plural = _("test results")
        ordering = ["-queued_at", "-id"]
        indexes = [models.Index(fields=["case", "-queued_at"], name="test_result_newest")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(status__in=ResultStatus.values), name="test_result_status_known"
            )
        ]

    def __str__(self) -> str:
        return f"{self.case_id} {self.status}"

    @property
    def is_open(self) -> bool:
        return self.status in (ResultStatus.QUEUED, ResultStatus.RUNNING) and not self.is_lost

    @property
    def is_lost(self) -> bool:
        """Return whether the result is overdue. Its worker has probably died."""
        return self.finished_at is None and timezone.now() - self.queued_at > MAX_CASE_TIME
