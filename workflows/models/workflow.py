"""A workflow: people name, list, share and run it. Its draft is the rows of ``draft.py``."""

from collections.abc import Iterator
from itertools import chain, count
from typing import Any, Final

from django.contrib.postgres.fields import ArrayField
from django.db import models, transaction
from django.utils.text import slugify
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantModel
from workflows.engine.language.document import Dialect, Mode
from workflows.models.fields import Authored


# As long as an id in a memory namespace may be; see memory.core.scopes.
MAX_STREAM_NAME: Final = 80


class StreamName(TenantModel):
    """The stream of a workflow, or of merged workflows in their order. It outlives them, so that no other inherits it."""

    workflow_lookup = None

    name = models.CharField(_("name"), max_length=MAX_STREAM_NAME, editable=False)
    workflow_ids = ArrayField(models.UUIDField(), verbose_name=_("workflows"), editable=False)

    class Meta:
        verbose_name = _("memory stream")
        verbose_name_plural = _("memory streams")
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(fields=["team", "name"], name="stream_name_once"),
            models.UniqueConstraint(fields=["team", "workflow_ids"], name="stream_workflows_once"),
        ]

    def __str__(self) -> str:
        return self.name


class WorkflowMode(models.TextChoices):
    """The labels of ``engine.language.document.Mode``."""

    WORKFLOW = Mode.WORKFLOW.value, _("Workflow")
    CHAT = Mode.CHAT.value, _("Chat")


class WorkflowDialect(models.TextChoices):
    """The dialect that a draft was written in, and in which it is exported by default."""

    DIFY = Dialect.DIFY.value, _("Dify")
    XWORKFLOW = Dialect.XWORKFLOW.value, _("Mnemoflow")


class Workflow(Authored, TenantModel):
    """A workflow. ``revision`` counts the draft's edits: equal revisions mean equal drafts."""

    workflow_lookup = "pk"

    name = models.CharField(_("name"), max_length=255)
    description = models.TextField(_("description"), blank=True)
    # Other workflows refer to it by this name, which doesn't change when the workflow is renamed.
    slug = models.SlugField(
        _("short name"),
        max_length=64,
        allow_unicode=True,
        blank=True,
        db_index=False,
        default="",
        db_default="",
    )
    # Its memory is kept under this name: the short name, if a namespace may contain it.
    stream_name = models.CharField(
        _("memory stream"), max_length=80, blank=True, editable=False, default="", db_default=""
    )
    is_tool = models.BooleanField(_("can be used as a tool"), default=False, db_default=False)
    tool_description = models.TextField(
        _("description for models"), blank=True, default="", db_default=""
    )
    icon = models.CharField(_("icon"), max_length=64, blank=True)
    mode = models.CharField(_("mode"), max_length=16, choices=WorkflowMode)
    dialect = models.CharField(_("format"), max_length=16, choices=WorkflowDialect)
    dialect_version = models.CharField(_("format version"), max_length=64, blank=True)
    features = models.JSONField(_("features"), default=dict, blank=True)
    extra = models.JSONField(
        _("extra"),
        default=dict,
        blank=True,
        help_text=_("Unknown top-level parts of the imported document."),
    )
    # What the import said of the document that the draft was made from: ``code``, ``message``, ``field`` of each warning.
    import_notes = models.JSONField(
        _("notes of the import"), default=list, db_default=[], blank=True, editable=False
    )
    revision = models.PositiveIntegerField(_("revision"), default=1)
    # An upper bound of the draft's size, updated with each edit, so that no edit has to measure the whole draft.
    # Null until it is measured.
    most_characters = models.PositiveIntegerField(null=True, blank=True, editable=False)
    published_version = models.ForeignKey(
        "workflows.Version",
        verbose_name=_("published version"),
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
    )
    # The set whose cases must pass with whatever is published. A set that is needed is not deleted.
    must_pass = models.ForeignKey(
        "workflows.DataSet",
        verbose_name=_("data set that must pass"),
        null=True,
        blank=True,
        on_delete=models.RESTRICT,
        related_name="+",
    )
    # The snapshot of the draft, valid while its revision equals the workflow's: starting a run of an unchanged draft
    # then reads no rows of the draft.
    draft_snapshot = models.ForeignKey(
        "workflows.Snapshot",
        verbose_name=_("draft snapshot"),
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    draft_snapshot_revision = models.PositiveIntegerField(null=True, blank=True)
    folder = models.ForeignKey(
        "workflows.Folder",
        verbose_name=_("folder"),
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="workflows",
    )
    sample = models.SlugField(
        _("sample"),
        blank=True,
        db_index=False,
        help_text=_("The sample that this workflow was created from."),
    )
    archived_at = models.DateTimeField(_("archived at"), null=True, blank=True)
    # How long ended runs are stored. Null stands for the setting of the installation, 0 for ever.
    keep_days = models.PositiveSmallIntegerField(_("days to keep runs"), null=True, blank=True)
    keep_failed_days = models.PositiveSmallIntegerField(
        _("days to keep failed runs"), null=True, blank=True
    )

    class Meta:
        verbose_name = _("workflow")
        verbose_name_plural = _("workflows")
        ordering = ["-updated_at", "-id"]
        indexes = [
            models.Index(
                fields=["team", "-updated_at", "-id"],
                condition=models.Q(archived_at__isnull=True),
                name="workflow_team_newest",
            )
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(mode__in=WorkflowMode.values), name="workflow_mode_known"
            ),
            models.CheckConstraint(
                condition=models.Q(dialect__in=WorkflowDialect.values),
                name="workflow_dialect_known",
            ),
            models.UniqueConstraint(
                fields=["team", "slug"],
                condition=~models.Q(slug=""),
                name="workflow_slug_once",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def save(self, **options: Any) -> None:  # Any: Django's options
        if not self._state.adding:
            super().save(**options)
            return
        if not self.slug:
            self.slug = self.find_free_slug(self.name)
        self.stream_name = self._find_free_stream_name()
        with transaction.atomic():
            super().save(**options)
            StreamName.objects.create(
                team_id=self.team_id, name=self.stream_name, workflow_ids=[self.pk]
            )

    def find_free_slug(self, name: str) -> str:
        """Return a short name made from a name. A number at its end keeps it apart from those of the team.

        The name of a stream is never used again, so that a new workflow does not inherit an earlier one's memory.
        """
        stem = slugify(name, allow_unicode=True)[:48].strip("-_") or "workflow"
        rows = type(self).objects.unscoped().filter(team_id=self.team_id, slug__startswith=stem)
        used = {*rows.values_list("slug", flat=True), *self._list_stream_names(stem)}
        return next(slug for slug in iter_names(stem) if slug not in used)

    def _find_free_stream_name(self) -> str:
        used = set(self._list_stream_names(self.slug))
        return next(name for name in iter_names(self.slug) if name not in used)

    def _list_stream_names(self, stem: str) -> Iterator[str]:
        rows = StreamName.objects.unscoped().filter(team_id=self.team_id, name__startswith=stem)
        return rows.values_list("name", flat=True).iterator()

    @property
    def is_chat(self) -> bool:
        return self.mode == WorkflowMode.CHAT

    @property
    def is_archived(self) -> bool:
        return self.archived_at is not None


def iter_names(stem: str) -> Iterator[str]:
    """Yield the name itself, and then the name with a number."""
    return chain([stem], (f"{stem}-{number}" for number in count(2)))
