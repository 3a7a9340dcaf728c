"""The curation of memory: the settings of applications, the job of each run, and the proposals for review."""

from typing import ClassVar, Self, cast

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.principals import Principal, get_service_account_id
from accounts.tenancy import HasTeams, TenantManager, TenantModel, TenantQuerySet
from memory.models.conditions import build_choices_constraint
from memory.models.jobs import Job, JobStatus
from memory.models.namespaces import Namespace, NamespacedQuerySet


class ReviewChoice(models.TextChoices):
    """The labels of ``memory.logic.review.review_rules.ReviewMode``."""

    OFF = "off", _("Off")
    SAMPLE = "sample", _("A sample")
    ALL = "all", _("Everything")


class ProposalKind(models.TextChoices):
    """The labels of ``memory.logic.review.proposals.ChangeKind``."""

    ADD = "add", _("Remember")
    EDIT = "edit", _("Change")
    MERGE = "merge", _("Merge")
    FORGET = "forget", _("Forget")
    PROMOTE = "promote", _("Move to long-term")
    LINK = "link", _("Link")


class ProposalState(models.TextChoices):
    """The labels of ``memory.logic.review.proposals.ReviewState``."""

    OPEN = "open", _("Open")
    APPLIED = "applied", _("Applied")
    REJECTED = "rejected", _("Rejected")
    REJECTED_ALWAYS = "rejected_always", _("Rejected permanently")
    UNDONE = "undone", _("Undone")


class CurationQuerySet(TenantQuerySet["Curation"]):
    def visible_to(self, principal: HasTeams) -> Self:
        """Limit the curations to those of the principal's own runs and of namespaces that they can see."""
        actor = cast(Principal, principal)  # ``HasTeams`` has only a part of its fields
        if not actor.allows("memory:read"):
            return self.none()
        namespaces = Namespace.objects.visible_to(principal).filter(
            team_id=OuterRef("team_id"), text=OuterRef("place")
        )
        condition = Q(Exists(namespaces))
        actor_id = actor.user_id or get_service_account_id(actor)
        if actor_id is not None:
            condition |= Q(seen_by__contains=[actor_id])
        return super().visible_to(principal).filter(condition)


class ProposalQuerySet(NamespacedQuerySet["Proposal"]):
    """Proposals, which are as visible as their namespace."""


class CurationRule(TenantModel):
    """The settings for the curation of an application's runs. The row without an application is the team's default."""

    app_id = models.CharField(_("application"), max_length=80, blank=True)
    auto_memory = models.BooleanField(_("learns from runs"), default=False)
    scope = models.CharField(_("scope"), max_length=40, default="user")
    review = models.CharField(
        _("review"), max_length=6, choices=ReviewChoice, default=ReviewChoice.OFF
    )
    sampled = models.FloatField(_("sample share"), default=0.1)
    provider = models.CharField(_("model provider"), max_length=120, blank=True)
    model = models.CharField(_("model"), max_length=200, blank=True)
    token_budget = models.PositiveIntegerField(_("max tokens per prompt"), default=6_000)
    seconds = models.PositiveIntegerField(_("max seconds"), default=60)

    class Meta:
        verbose_name = _("learning setting")
        verbose_name_plural = _("learning settings")
        ordering = ("app_id", "id")
        constraints = (
            models.UniqueConstraint(fields=("team", "app_id"), name="memory_curation_rule_once"),
            models.CheckConstraint(
                condition=Q(sampled__gte=0, sampled__lte=1), name="memory_curation_rule_share"
            ),
            build_choices_constraint("review", ReviewChoice, "memory_curation_rule_review"),
        )

    def __str__(self) -> str:
        return self.app_id or str(_("team default"))


class Curation(Job, TenantModel):
    """The curation of one run, as a job for a worker."""

    run_id = models.CharField(_("run"), max_length=80, editable=False)
    app_id = models.CharField(_("application"), max_length=80, blank=True, editable=False)
    place = models.CharField(_("namespace"), max_length=200, blank=True, editable=False)
    seen_by = ArrayField(models.UUIDField(), default=list, blank=True, editable=False)
    curator = models.CharField(_("actor"), max_length=120, blank=True, editable=False)
    problem = models.TextField(_("problem"), blank=True, editable=False)
    repairs = models.JSONField(_("answer repairs"), default=list, editable=False)
    counts = models.JSONField(_("result"), default=dict, editable=False)
    change_id = models.UUIDField(_("change"), null=True, blank=True, editable=False)

    objects: ClassVar[TenantManager[Self]] = TenantManager.from_queryset(CurationQuerySet)()

    class Meta:
        verbose_name = _("curation")
        verbose_name_plural = _("curations")
        ordering = ("-created_at", "-id")
        constraints = (
            models.UniqueConstraint(fields=("team", "run_id"), name="memory_curation_once"),
            build_choices_constraint("status", JobStatus, "memory_curation_status"),
        )
        indexes = (
            models.Index(
                fields=("team", "created_at"),
                condition=Q(status__in=("waiting", "running")),
                name="memory_curation_waiting",
            ),
            GinIndex(fields=("seen_by",), name="memory_curation_seen_by"),
            models.Index(fields=("team", "place"), name="memory_curation_place"),
        )

    def __str__(self) -> str:
        return f"{self.run_id} {self.status}"


class Proposal(TenantModel):
    """A proposed change in one namespace; see ``memory.logic.review.proposals``.

    The row stays after the decision, so that a rejected change isn't proposed again and an applied one can be undone.
    """

    namespace = models.ForeignKey(
        Namespace, on_delete=models.PROTECT, related_name="+", verbose_name=_("namespace")
    )
    kind = models.CharField(_("kind"), max_length=8, choices=ProposalKind, editable=False)
    targets = models.JSONField(_("affected memories"), default=list, editable=False)
    new = models.JSONField(_("new value"), null=True, editable=False)
    reason = models.CharField(_("reason"), max_length=500, blank=True, editable=False)
    by = models.CharField(_("actor"), max_length=120, blank=True, editable=False)
    score = models.FloatField(_("confidence"), default=0.5, editable=False)
    fingerprint = models.CharField(max_length=64, editable=False)
    run_id = models.CharField(_("run"), max_length=80, blank=True, editable=False)
    state = models.CharField(
        _("status"), max_length=15, choices=ProposalState, default=ProposalState.OPEN
    )
    edited = models.BooleanField(_("edited before it was applied"), default=False)
    by_itself = models.BooleanField(_("applied automatically"), default=False)
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    decided_at = models.DateTimeField(_("decided at"), null=True, blank=True, editable=False)
    decided_by = models.CharField(_("decided by"), max_length=120, blank=True, editable=False)
    decision = models.CharField(_("reason for the decision"), max_length=500, blank=True)
    change_id = models.UUIDField(_("change"), null=True, blank=True, editable=False)

    objects: ClassVar[TenantManager[Self]] = TenantManager.from_queryset(ProposalQuerySet)()

    class Meta:
        verbose_name = _("proposal")
        verbose_name_plural = _("proposed memory changes")
        ordering = ("-score", "-id")
        constraints = (
            models.UniqueConstraint(
                fields=("namespace", "fingerprint"),
                condition=Q(state="open"),
                name="memory_proposal_open_once",
            ),
            build_choices_constraint("kind", ProposalKind, "memory_proposal_kind"),
            build_choices_constraint("state", ProposalState, "memory_proposal_state"),
        )
        indexes = (
            models.Index(fields=("team", "state", "-score", "-id"), name="memory_proposal_queue"),
            models.Index(
                fields=("namespace", "fingerprint"),
                condition=Q(state="rejected_always"),
                name="memory_proposal_never",
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.state}"
