"""Sets of test cases, and their evaluations: each case is run against one version of a workflow or two.

A set belongs to a team, or to one workflow: then it has the cases of the editor's tab *Tests*.
"""

from collections.abc import Mapping
from typing import Any

from django.db import models
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantModel
from workflows.models.fields import Authored, VerbatimJSONField, link_to_workflow


class Scorer(models.TextChoices):
    EXACT = "exact", _("Exact match")
    CONTAINS = "contains", _("Contains")
    JSON_SUBSET = "json_subset", _("JSON: has the expected values")
    JSON_EQUAL = "json_equal", _("JSON: equal")
    JUDGE = "judge", _("Model as judge")


class EvaluationStatus(models.TextChoices):
    RUNNING = "running", _("Running")
    FINISHED = "finished", _("Finished")
    STOPPED = "stopped", _("Stopped")


class CaseStatus(models.TextChoices):
    QUEUED = "queued", _("Queued")
    RUNNING = "running", _("Running")
    DONE = "done", _("Done")
    STOPPED = "stopped", _("Stopped")


class Verdict(models.TextChoices):
    """What a result means for people: a case that is done has passed or failed."""

    QUEUED = "queued", _("Queued")
    RUNNING = "running", _("Running")
    PASSED = "passed", _("Passed")
    FAILED = "failed", _("Failed")
    STOPPED = "stopped", _("Stopped")


class DataSet(Authored, TenantModel):
    """A named list of cases of a team, or the tests of one workflow, which have no name of their own."""

    workflow_lookup = "workflow_id"

    name = models.CharField(_("name"), max_length=200, blank=True)
    description = models.TextField(_("description"), blank=True)
    workflow = models.ForeignKey(
        "workflows.Workflow",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="data_sets",
        db_index=False,
    )

    class Meta:
        verbose_name = _("data set")
        verbose_name_plural = _("data sets")
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["team", "name"],
                condition=models.Q(workflow=None),
                name="data_set_name_once",
            ),
            models.UniqueConstraint(fields=["workflow"], name="data_set_of_workflow_once"),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def title(self) -> str:
        """Return the name; that of a workflow's own set follows the name of the workflow."""
        if self.workflow is None:
            return self.name
        return gettext("Tests of %(name)s") % {"name": self.workflow.name}


class DataCase(Authored, TenantModel):
    """A test case. ``spec`` is ``engine.testing.cases.Case`` as JSON; its name is stored separately for lists.

    ``subject`` is the person of the run that the case was made from; it is deleted when the person is erased.
    """

    workflow_lookup = "data_set__workflow_id"

    data_set = models.ForeignKey(
        DataSet, on_delete=models.CASCADE, related_name="cases", db_index=False
    )
    rank = models.PositiveIntegerField(_("position"))
    name = models.CharField(_("name"), max_length=200)
    spec = VerbatimJSONField(_("case"), default=dict)
    subject = models.CharField(_("subject"), max_length=255, blank=True)

    class Meta:
        verbose_name = _("test case")
        verbose_name_plural = _("test cases")
        ordering = ["data_set", "rank", "id"]
        indexes = [models.Index(fields=["data_set", "rank"], name="data_case_in_order")]
        constraints = [
            models.UniqueConstraint(fields=["data_set", "name"], name="data_case_name_once")
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def last_turn(self) -> Mapping[str, Any]:  # Any: JSON
        turns = self.spec.get("turns") or [{}]
        return turns[-1]  # type: ignore[no-any-return]

    @property
    def query(self) -> str:
        """Return the message of the last turn, whose answer is scored."""
        return str(self.last_turn.get("say") or "")

    @property
    def inputs(self) -> dict[str, Any]:  # Any: JSON
        return dict(self.last_turn.get("inputs") or {})

    @property
    def expected(self) -> Any:  # any JSON value
        return self.spec.get("expected")


class Evaluation(Authored, TenantModel):
    """Cases of a set, run against a version of a workflow, or against two.

    ``summary`` has the numbers of each side; it stays when cases and their results are deleted.
    """

    workflow_lookup = "workflow_id"

    data_set = models.ForeignKey(
        DataSet, on_delete=models.CASCADE, related_name="evaluations", db_index=False
    )
    workflow = link_to_workflow("evaluations")
    # The first version, and the second if two are compared. A label is "draft" or the number of a version.
    snapshot = models.ForeignKey("workflows.Snapshot", on_delete=models.PROTECT, related_name="+")
    label = models.CharField(_("version"), max_length=16)
    other_snapshot = models.ForeignKey(
        "workflows.Snapshot", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    other_label = models.CharField(_("second version"), max_length=16, blank=True)
    scorer = models.CharField(_("score"), max_length=16, choices=Scorer)
    output = models.CharField(_("output"), max_length=255, blank=True)
    judge = models.JSONField(_("judge"), default=dict, blank=True)  # provider, model, criteria
    offline = models.BooleanField(_("offline"), default=False)
    api_key = models.ForeignKey(
        "accounts.ApiKey",
        verbose_name=_("API key"),
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        db_index=False,
    )
    status = models.CharField(
        _("status"),
        max_length=16,
        choices=EvaluationStatus,
        default=EvaluationStatus.RUNNING,
    )
    is_partial = models.BooleanField(_("part of the cases"), default=False)
    summary = models.JSONField(_("summary"), default=dict, blank=True)
    finished_at = models.DateTimeField(_("finished at"), null=True, blank=True)

    class Meta:
        verbose_name = _("evaluation")
        verbose_name_plural = _("evaluations")
        ordering = ["-created_at", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(status__in=EvaluationStatus.values),
                name="evaluation_status_known",
            ),
            models.CheckConstraint(
                condition=models.Q(scorer__in=Scorer.values), name="evaluation_scorer_known"
            ),
        ]
        indexes = [
            models.Index(fields=["data_set", "-created_at"], name="evaluation_of_data_set"),
            models.Index(fields=["workflow", "-created_at"], name="evaluation_of_workflow"),
            models.Index(
                fields=["team"], condition=models.Q(status="running"), name="evaluation_open"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.data_set_id} {self.label}"

    @property
    def is_running(self) -> bool:
        return self.status == EvaluationStatus.RUNNING


class EvaluationResult(TenantModel):
    """A case against one version. ``side`` is 0 for the first version and 1 for the second.

    ``spec`` is the case as it was run, and ``detail`` has the findings and steps of its turns, with secrets masked.
    """

    workflow_lookup = "evaluation__workflow_id"

    evaluation = models.ForeignKey(
        Evaluation, on_delete=models.CASCADE, related_name="results", db_index=False
    )
    case = models.ForeignKey(DataCase, on_delete=models.CASCADE, related_name="results")
    side = models.PositiveSmallIntegerField(_("version"), default=0)
    status = models.CharField(
        _("status"), max_length=16, choices=CaseStatus, default=CaseStatus.QUEUED
    )
    # A result whose lease has ended is taken over: its worker has died.
    lease_until = models.DateTimeField(_("leased until"), null=True, blank=True)
    attempt = models.PositiveSmallIntegerField(_("attempt"), default=0)
    spec = VerbatimJSONField(_("test case snapshot"), default=dict)
    detail = VerbatimJSONField(_("result details"), default=dict)
    answer = VerbatimJSONField(_("answer"), null=True, blank=True)
    score = models.FloatField(_("score"), null=True, blank=True)  # 0 to 1
    reason = models.TextField(_("reason"), blank=True)  # of the judge, or of a score below 1
    problem = models.TextField(_("problem"), blank=True)  # why there is no answer or no score
    seconds = models.FloatField(_("seconds"), default=0)
    prompt_tokens = models.PositiveBigIntegerField(_("prompt tokens"), default=0)
    completion_tokens = models.PositiveBigIntegerField(_("completion tokens"), default=0)
    cost = models.FloatField(_("cost"), null=True, blank=True)
    finished_at = models.DateTimeField(_("finished at"), null=True, blank=True)

    class Meta:
        verbose_name = _("evaluation result")
        verbose_name_plural = _("evaluation results")
        ordering = ["evaluation", "case", "side"]
        constraints = [
            models.UniqueConstraint(
                fields=["evaluation", "case", "side"], name="evaluation_result_once"
            ),
            models.CheckConstraint(
                condition=models.Q(status__in=CaseStatus.values), name="evaluation_result_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.evaluation_id} {self.case_id} {self.side}"

    @property
    def verdict(self) -> Verdict:
        if self.status == CaseStatus.DONE:
            return Verdict.PASSED if self.has_passed else Verdict.FAILED
        return Verdict(self.status)

    @property
    def has_passed(self) -> bool:
        return self.status == CaseStatus.DONE and self.score == 1

    @property
    def is_open(self) -> bool:
        return self.status in (CaseStatus.QUEUED, CaseStatus.RUNNING)

    @property
    def elapsed(self) -> float | None:
        return self.seconds if self.status == CaseStatus.DONE else None
