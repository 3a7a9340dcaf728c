"""Entries, their revisions, the changes that can be undone as a whole, and the recalls by runs."""

from typing import Any, ClassVar, Self

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.principals import Principal
from accounts.tenancy import TenantManager, TenantModel
from config.ids import uuid7
from memory.models.conditions import build_choices_constraint
from memory.models.namespaces import Namespace, NamespacedQuerySet


class TierChoice(models.TextChoices):
    """The labels of ``memory.core.records.Tier``."""

    QUARANTINE = "quarantine", _("Quarantine")
    WORKING = "working", _("Working")
    LONG_TERM = "long_term", _("Long-term")


class PromptUseChoice(models.TextChoices):
    """The labels of ``memory.core.records.PromptUse``."""

    AUTO = "auto", _("By what it is")
    ALWAYS = "always", pgettext_lazy("in prompts", "Always")
    RELEVANT = "relevant", pgettext_lazy("in prompts", "Only when relevant")
    NEVER = "never", pgettext_lazy("in prompts", "Never")


class Operation(models.TextChoices):
    """The operation that created a revision."""

    STORE = "store", _("stored")
    EDIT = "edit", _("edited")
    FORGET = "forget", _("forgotten")
    RESTORE = "restore", _("restored")
    EXPIRE = "expire", _("expired")


class EntryQuerySet(NamespacedQuerySet["Entry"]):
    def open_to(self, principal: Principal) -> Self:
        """Limit the entries to those that the principal can open by id, emergency access included."""
        namespaces: Any = Namespace.objects  # Any: the manager types its model, not its queryset
        return self.filter_namespaces(principal, namespaces.open_to(principal))

    def living(self) -> Self:
        """Limit the entries to those that are neither forgotten nor expired; quarantined ones are included."""
        fresh = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
        return self.filter(fresh, deleted_at=None)


class ByEntryQuerySet(NamespacedQuerySet[models.Model]):
    """Rows that belong to an entry and are as visible as its namespace."""

    namespace_field = "entry__namespace_id"


class StateColumns(models.Model):
    """The columns that entries and revisions have in common: the fields of ``memory.core.records.EntryState``."""

    value = models.JSONField(_("value"), null=True, blank=True)
    metadata = models.JSONField(_("metadata"), default=dict, blank=True)
    tier = models.CharField(
        _("tier"), max_length=12, choices=TierChoice, default=TierChoice.LONG_TERM
    )
    category = models.CharField(_("category"), max_length=40, default="fact")
    importance = models.FloatField(_("importance"), default=0.5)
    valid_from = models.DateTimeField(_("holds since"), null=True, blank=True)
    valid_until = models.DateTimeField(_("held until"), null=True, blank=True)
    # Ids of entries, which need not exist: another may have been erased or not imported.
    replaces = models.CharField(_("replaced"), max_length=80, blank=True, default="")
    replaced_by = models.CharField(_("replaced by"), max_length=80, blank=True, default="")
    prompt_use = models.CharField(
        _("in prompts"), max_length=10, choices=PromptUseChoice, default=PromptUseChoice.AUTO
    )
    position = models.PositiveIntegerField(_("position in the group"), default=0, editable=False)
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)

    class Meta:
        abstract = True


class Entry(StateColumns, TenantModel):
    """A memory entry. A forgotten entry keeps its row, so that it can be restored."""

    # Separate indexes on team and namespace would slow down writes; other indexes begin with these columns.
    team = models.ForeignKey(
        "accounts.Team", on_delete=models.PROTECT, related_name="+", db_index=False
    )
    namespace = models.ForeignKey(
        Namespace,
        on_delete=models.PROTECT,
        related_name="+",
        db_index=False,
        verbose_name=_("namespace"),
    )
    key = models.CharField(_("key"), max_length=400)
    text = models.TextField(_("search text"), editable=False)
    size = models.PositiveIntegerField(_("bytes"), editable=False)
    revision = models.PositiveIntegerField(_("revision"), default=1, editable=False)
    # The number of the entry in the namespace's postings; the entry gets another when its group changes.
    number = models.IntegerField(null=True, editable=False)
    group = models.CharField(_("group"), max_length=200, blank=True, editable=False)
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    updated_at = models.DateTimeField(_("changed"), default=timezone.now, editable=False)
    deleted_at = models.DateTimeField(_("forgotten"), null=True, blank=True, editable=False)
    source_actor = models.CharField(_("written by"), max_length=120, blank=True, editable=False)
    source_run = models.CharField(_("written by run"), max_length=80, blank=True, editable=False)
    source_node = models.CharField(_("written by node"), max_length=200, blank=True, editable=False)
    source_message = models.CharField(
        _("source message"), max_length=80, blank=True, editable=False
    )
    source_rule = models.CharField(_("rule"), max_length=120, blank=True, editable=False)

    objects: ClassVar[TenantManager[Self]] = TenantManager.from_queryset(EntryQuerySet)()

    class Meta:
        verbose_name = _("memory entry")
        verbose_name_plural = _("memory entries")
        ordering = ("-updated_at", "-id")
        constraints = (
            models.UniqueConstraint(
                fields=("team", "namespace", "key"),
                condition=Q(deleted_at=None),
                name="memory_entry_key_once",
            ),
            models.UniqueConstraint(
                fields=("namespace", "number"), name="memory_entry_number_once"
            ),
            build_choices_constraint("tier", TierChoice, "memory_entry_tier"),
            build_choices_constraint("prompt_use", PromptUseChoice, "memory_entry_prompt_use"),
            models.CheckConstraint(
                condition=Q(importance__gte=0, importance__lte=1), name="memory_entry_importance"
            ),
        )
        indexes = (
            models.Index(
                fields=("namespace", "-updated_at", "-id"),
                condition=Q(deleted_at=None),
                name="memory_entry_newest",
            ),
            # The newest entries of the team, for readers who can see most of its namespaces.
            models.Index(
                fields=("team", "-updated_at", "-id"),
                condition=Q(deleted_at=None),
                name="memory_entry_recent",
            ),
            models.Index(
                fields=("expires_at",),
                condition=Q(deleted_at=None, expires_at__isnull=False),
                name="memory_entry_expiry",
            ),
            models.Index(
                fields=("namespace", "expires_at"),
                condition=Q(deleted_at=None, expires_at__isnull=False),
                name="memory_entry_over",
            ),
            # What each search leaves out: former entries, and those that don't hold yet.
            models.Index(
                fields=("namespace", "valid_until"),
                condition=Q(deleted_at=None, valid_until__isnull=False),
                name="memory_entry_former",
            ),
            models.Index(
                fields=("namespace", "valid_from"),
                condition=Q(deleted_at=None, valid_from__isnull=False),
                name="memory_entry_future",
            ),
            # What each recall for a prompt leaves out.
            models.Index(
                fields=("namespace",),
                condition=Q(deleted_at=None, prompt_use="never"),
                name="memory_entry_in_no_prompt",
            ),
            # What each recall for the prompt of a chat leaves out: the categories of ``LESSON_CATEGORIES``.
            models.Index(
                fields=("namespace",),
                condition=Q(deleted_at=None, category__in=("error", "execution", "result")),
                name="memory_entry_lessons",
            ),
            models.Index(fields=("team", "source_run"), name="memory_entry_by_run"),
            # Every memory page counts the entries in quarantine.
            models.Index(
                fields=("namespace", "-updated_at", "-id"),
                condition=Q(deleted_at=None, tier="quarantine"),
                name="memory_entry_held",
            ),
            # The namespaces that contain knowledge pages.
            models.Index(
                fields=("namespace", "-updated_at"),
                condition=Q(deleted_at=None, category="page"),
                name="memory_entry_pages",
            ),
            # Entries that superseded or merged others, for the pages of the others, whose ids have no index: under
            # row-level security only leakproof operators can use an index, and the JSON operators are not leakproof.
            models.Index(
                fields=("namespace", "-updated_at"),
                condition=Q(deleted_at=None, metadata__has_any_keys=["merged_from", "supersedes"]),
                name="memory_entry_took",
            ),
        )

    def __str__(self) -> str:
        return self.key

    @property
    def is_forgotten(self) -> bool:
        return self.deleted_at is not None

    @property
    def is_former(self) -> bool:
        """Return whether what the entry says has stopped holding by now."""
        return self.valid_until is not None and self.valid_until <= timezone.now()


class Change(TenantModel):
    """One change of entries in one namespace, which is undone as a whole."""

    namespace = models.ForeignKey(
        Namespace, on_delete=models.PROTECT, related_name="+", verbose_name=_("namespace")
    )
    operation = models.CharField(_("kind"), max_length=10, choices=Operation, editable=False)
    actor = models.CharField(_("actor"), max_length=120, editable=False)
    reason = models.CharField(_("reason"), max_length=500, blank=True, editable=False)
    entry_count = models.PositiveIntegerField(_("entries"), default=0, editable=False)
    at = models.DateTimeField(_("time"), default=timezone.now, editable=False)
    undone_at = models.DateTimeField(_("undone at"), null=True, blank=True, editable=False)
    undone_by = models.CharField(_("undone by"), max_length=120, blank=True, editable=False)

    objects: ClassVar[TenantManager[Self]] = TenantManager.from_queryset(NamespacedQuerySet)()

    class Meta:
        verbose_name = _("memory change")
        verbose_name_plural = _("memory changes")
        ordering = ("-at", "-id")

    def __str__(self) -> str:
        return f"{self.operation} {self.entry_count}"


class Revision(StateColumns, TenantModel):
    """The state of an entry after one change. Append-only: the database role of the app cannot update or delete it."""

    # Separate indexes on team and entry would slow down writes; other indexes begin with these columns.
    team = models.ForeignKey(
        "accounts.Team", on_delete=models.PROTECT, related_name="+", db_index=False
    )
    entry = models.ForeignKey(
        Entry, on_delete=models.PROTECT, related_name="+", db_index=False, verbose_name=_("entry")
    )
    number = models.PositiveIntegerField(_("number"), editable=False)
    operation = models.CharField(_("kind"), max_length=10, choices=Operation, editable=False)
    actor = models.CharField(_("actor"), max_length=120, blank=True, editable=False)
    reason = models.CharField(_("reason"), max_length=500, blank=True, editable=False)
    run_id = models.CharField(_("run"), max_length=80, blank=True, editable=False)
    node_id = models.CharField(_("node"), max_length=200, blank=True, editable=False)
    origin_key = models.CharField(max_length=200, blank=True, editable=False)
    change_id = models.UUIDField(_("change"), default=uuid7, editable=False)
    at = models.DateTimeField(_("time"), default=timezone.now, editable=False)

    objects: ClassVar[TenantManager[Self]] = TenantManager.from_queryset(ByEntryQuerySet)()

    class Meta:
        verbose_name = _("entry revision")
        verbose_name_plural = _("entry revisions")
        ordering = ("entry", "-number")
        constraints = (
            # The entry comes first, so that the index serves the foreign key and a search by number as well.
            models.UniqueConstraint(
                fields=("entry", "number", "team"), name="memory_revision_once"
            ),
            build_choices_constraint("operation", Operation, "memory_revision_operation"),
        )
        indexes = (
            models.Index(fields=("team", "change_id"), name="memory_revision_change"),
            # The revisions that a run wrote in any namespace; most changes by members belong to no run.
            models.Index(
                fields=("team", "run_id"), condition=~Q(run_id=""), name="memory_revision_by_run"
            ),
        )

    def __str__(self) -> str:
        return f"{self.number} {self.operation}"


class Read(TenantModel):
    """One recall of one entry by one step of one run."""

    entry = models.ForeignKey(
        Entry, on_delete=models.PROTECT, related_name="+", verbose_name=_("entry")
    )
    revision = models.PositiveIntegerField(_("revision"), editable=False)
    run_id = models.CharField(_("run"), max_length=80, editable=False)
    node_id = models.CharField(_("node"), max_length=200, editable=False)
    origin_key = models.CharField(max_length=200, editable=False)
    score = models.FloatField(_("score"), null=True, editable=False)
    explain = models.JSONField(_("score components"), default=dict, editable=False)
    injected = models.BooleanField(_("added to the prompt"), default=False, editable=False)
    at = models.DateTimeField(_("time"), default=timezone.now, editable=False)

    objects: ClassVar[TenantManager[Self]] = TenantManager.from_queryset(ByEntryQuerySet)()

    class Meta:
        verbose_name = _("recall")
        verbose_name_plural = _("recalls")
        ordering = ("-at", "-id")
        constraints = (
            # A retried step counts as one read of the entry.
            models.UniqueConstraint(
                fields=("team", "entry", "run_id", "node_id", "origin_key"), name="memory_read_once"
            ),
        )
        indexes = (models.Index(fields=("team", "run_id", "at"), name="memory_read_by_run"),)

    def __str__(self) -> str:
        return f"{self.run_id} {self.node_id}"
