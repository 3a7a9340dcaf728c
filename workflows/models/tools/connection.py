"""The tool connections of a team."""

from typing import Final

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantModel
from workflows.models.fields import VerbatimJSONField, link_to_user
from workflows.models.provider import Credential


# How long a call of an MCP server may take; its reports of progress extend that.
DEFAULT_CALL_SECONDS: Final = 60
MIN_CALL_SECONDS: Final = 5
MAX_CALL_SECONDS: Final = 600


class ConnectionKind(models.TextChoices):
    OPENAPI = "openapi", _("OpenAPI")  # the operations of an HTTP API
    MCP_HTTP = "mcp_http", _("MCP server (HTTP)")
    MCP_STDIO = "mcp_stdio", _("MCP server (local process)")  # if the operator lists its command
    WEB = "web", _("Web service")  # an account with a service that built-in tools call


class ToolConnection(TenantModel):
    """An API or an MCP server whose operations are tools of the team.

    ``operations`` is what the document or the server listed at the last check. A run uses this list, so that a server
    can't change what a tool is between the approval of a person and its use.
    """

    workflow_lookup = None

    slug = models.SlugField(
        _("connection name"),
        max_length=64,
        help_text=_("Identifies the connection in documents."),
    )
    name = models.CharField(_("name"), max_length=255)
    kind = models.CharField(_("kind"), max_length=32, choices=ConnectionKind)
    url = models.CharField(
        _("URL"), max_length=2048, help_text=_("The base URL of the API, or the MCP server's URL.")
    )
    document_url = models.CharField(_("document URL"), max_length=2048, blank=True)
    operations = VerbatimJSONField(_("operations"), default=list)
    total_operations = models.PositiveIntegerField(_("operations listed"), default=0)
    # Names of operations.
    enabled_operations = models.JSONField(_("enabled operations"), default=list, blank=True)
    approval_operations = models.JSONField(_("need approval"), default=list, blank=True)
    authentication = models.JSONField(
        _("authentication"),
        default=dict,
        blank=True,
        help_text=_(
            "How the credential is sent: its type, and the name of the header or parameter."
        ),
    )
    credential = models.ForeignKey(
        Credential,
        verbose_name=_("credential"),
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="tool_connections",
    )
    call_seconds = models.PositiveSmallIntegerField(
        _("seconds of a call"),
        default=DEFAULT_CALL_SECONDS,
        db_default=DEFAULT_CALL_SECONDS,
        help_text=_("How long a call of an MCP server may take."),
    )
    revision = models.CharField(
        _("revision"),
        max_length=16,
        blank=True,
        db_default="",
        help_text=_("The revision of MCP that the server spoke at the last check."),
    )
    checked_at = models.DateTimeField(_("last check"), null=True, blank=True)
    check_error = models.CharField(_("error of the last check"), max_length=1000, blank=True)
    check_note = models.CharField(
        _("note of the last check"), max_length=1000, blank=True, db_default=""
    )
    created_by = link_to_user(_("created by"))
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("tool connection")
        verbose_name_plural = _("tool connections")
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(fields=["team", "slug"], name="tool_connection_slug_once"),
            models.CheckConstraint(
                condition=models.Q(kind__in=ConnectionKind.values),
                name="tool_connection_kind_known",
            ),
            models.CheckConstraint(
                condition=models.Q(slug__regex=r"^[a-z0-9][a-z0-9-]*$"),
                name="tool_connection_slug_plain",
            ),
            models.CheckConstraint(
                condition=models.Q(call_seconds__range=(MIN_CALL_SECONDS, MAX_CALL_SECONDS)),
                name="tool_connection_call_seconds_bounded",
            ),
        ]

    def __str__(self) -> str:
        return self.name
