"""The draft of a workflow as rows, so that an edit costs only what it touches.

``key`` is the id in the document, unique within its workflow; ``rank`` is the position in the
document's list, so that the rows reproduce the document they came from.
"""

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantModel
from workflows.models.fields import VerbatimJSONField, link_to_workflow


class Node(TenantModel):
    """A node, or a sticky note (``is_note``), which is drawn and exported but never run."""

    workflow_lookup = "workflow_id"

    workflow = link_to_workflow("nodes")
    key = models.CharField(_("ID in the document"), max_length=255)
    rank = models.PositiveIntegerField(default=0)
    kind = models.CharField(_("kind"), max_length=255, blank=True)
    title = models.TextField(_("title"), blank=True)
    parent = models.CharField(_("container"), max_length=255, blank=True)
    x = models.FloatField(default=0)
    y = models.FloatField(default=0)
    width = models.FloatField(null=True, blank=True)
    height = models.FloatField(null=True, blank=True)
    data = models.JSONField(_("data"), default=dict, blank=True)
    extra = models.JSONField(_("extra"), default=dict, blank=True)
    is_note = models.BooleanField(_("is a note"), default=False)

    class Meta:
        verbose_name = _("node")
        verbose_name_plural = _("nodes")
        ordering = ["workflow", "rank", "id"]
        # An edit finds the content of a container, and the last position, without reading the other rows.
        indexes = [
            models.Index(fields=["team", "kind"], name="node_team_kind"),
            models.Index(fields=["workflow", "is_note", "-rank"], name="node_last_place"),
            models.Index(fields=["workflow", "parent"], name="node_in_container"),
        ]
        constraints = [models.UniqueConstraint(fields=["workflow", "key"], name="node_key_once")]

    def __str__(self) -> str:
        return self.title or self.key


class Edge(TenantModel):
    """An edge from a handle of one node to a handle of another."""

    workflow_lookup = "workflow_id"

    workflow = link_to_workflow("edges")
    key = models.CharField(_("ID in the document"), max_length=1024)
    rank = models.PositiveIntegerField(default=0)
    # Keys, not foreign keys: a draft may hold an edge to a missing node, which the validator reports, so that an
    # import loses nothing.
    source = models.CharField(_("source"), max_length=255)
    target = models.CharField(_("target"), max_length=255)
    handle = models.CharField(_("source handle"), max_length=255, default="source")
    target_handle = models.CharField(_("target handle"), max_length=255, default="target")
    extra = models.JSONField(_("extra"), default=dict, blank=True)

    class Meta:
        verbose_name = _("edge")
        verbose_name_plural = _("edges")
        ordering = ["workflow", "rank", "id"]
        indexes = [
            models.Index(fields=["workflow", "source"], name="edge_from"),
            models.Index(fields=["workflow", "target"], name="edge_to"),
            models.Index(fields=["workflow", "-rank"], name="edge_last_place"),
        ]
        constraints = [models.UniqueConstraint(fields=["workflow", "key"], name="edge_key_once")]

    def __str__(self) -> str:
        return f"{self.source} → {self.target}"


class VariableArea(models.TextChoices):
    """The list of variables in the document that a variable belongs to."""

    ENVIRONMENT = "environment", _("Environment")  # read-only in a run
    CONVERSATION = "conversation", _("Conversation")  # the value is a new conversation's default


class Variable(TenantModel):
    """A variable. The value of a ``secret`` variable is stored as a ``WorkflowSecret``, never here."""

    workflow_lookup = "workflow_id"

    workflow = link_to_workflow("variables")
    area = models.CharField(_("area"), max_length=16, choices=VariableArea)
    name = models.CharField(_("name"), max_length=255)
    key = models.CharField(_("ID in the document"), max_length=255, blank=True)
    rank = models.PositiveIntegerField(default=0)
    value_type = models.CharField(_("type"), max_length=64)
    value = VerbatimJSONField(_("value"), null=True, blank=True)
    description = models.TextField(_("description"), blank=True)
    extra = models.JSONField(_("extra"), default=dict, blank=True)

    class Meta:
        verbose_name = _("variable")
        verbose_name_plural = _("variables")
        ordering = ["workflow", "area", "rank", "id"]
        constraints = [
            models.UniqueConstraint(fields=["workflow", "area", "name"], name="variable_name_once"),
            models.CheckConstraint(
                condition=models.Q(area__in=VariableArea.values), name="variable_area_known"
            ),
            models.CheckConstraint(
                condition=~models.Q(value_type="secret") | models.Q(value__isnull=True),
                name="variable_secret_not_plain",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class WorkflowSecret(TenantModel):
    """The current value of a secret variable, encrypted.

    It is stored by name, separate from the draft's rows: a published version whose draft has since dropped the
    variable still finds its value, and a new value applies to every version at once.
    """

    workflow_lookup = "workflow_id"

    workflow = link_to_workflow("secrets")
    area = models.CharField(max_length=16, choices=VariableArea, default=VariableArea.ENVIRONMENT)
    name = models.CharField(_("name"), max_length=255)
    secret = models.BinaryField(_("secret"))
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("workflow secret")
        verbose_name_plural = _("workflow secrets")
        ordering = ["workflow", "area", "name"]
        constraints = [
            models.UniqueConstraint(
                fields=["workflow", "area", "name"], name="workflow_secret_once"
            )
        ]

    def __str__(self) -> str:
        return self.name
