"""The forms that connect an API or an MCP server. A secret can be entered but is never shown."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext_lazy as _

from workflows.engine.tools.web.services import SERVICES
from workflows.forms import TOO_LARGE, PageForm
from workflows.models.tools.connection import MAX_CALL_SECONDS, MIN_CALL_SECONDS
from workflows.tools.mcp.commands import list_commands
from workflows.tools.openapi.documents import MAX_BYTES


if TYPE_CHECKING:
    from django.utils.functional import _StrPromise


def _build_secret_field(help_text: "_StrPromise | str" = "") -> forms.CharField:
    return forms.CharField(
        label=_("Key or token"),
        required=False,
        strip=True,
        max_length=4096,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=help_text
        or _("Stored encrypted, never shown again, and sent to this host only."),
    )


def _build_name_field() -> forms.CharField:
    return forms.CharField(
        label=_("Name"),
        required=False,
        max_length=255,
        help_text=_("Empty: the title of the API or server."),
    )


class OpenApiForm(PageForm):
    """An API, by the URL of its OpenAPI document or by the document itself."""

    document_url = forms.CharField(
        label=_("Document URL"),
        required=False,
        max_length=2048,
        widget=forms.URLInput(attrs={"placeholder": "https://api.example.com/openapi.json"}),
        help_text=_("The address of an OpenAPI 3.0 or 3.1 document."),
    )
    document = forms.CharField(
        label=_("Or paste the document (JSON or YAML)"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false", "class": "mono"}),
    )
    file = forms.FileField(
        label=_("Or select a file"),
        required=False,
        widget=forms.FileInput(attrs={"accept": ".json,.yaml,.yml"}),
    )
    base_url = forms.CharField(
        label=_("Base URL"),
        required=False,
        max_length=2048,
        help_text=_("Empty: the first server of the document."),
    )
    name = _build_name_field()
    secret = _build_secret_field()
    authentication = forms.ChoiceField(
        label=_("Authentication"),
        required=False,
        choices=[
            ("", _("As the document says")),
            ("bearer", _("Bearer token")),
            ("basic", _("User and password (user:password)")),
            ("header", _("Header")),
            ("query", _("Query parameter")),
        ],
    )
    authentication_name = forms.CharField(
        label=_("Name of the header or parameter"), required=False, max_length=100
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        file: UploadedFile[bytes] | None = cleaned.pop("file", None)
        if file is not None and not cleaned.get("document"):
            cleaned["document"] = _read_file(file)
        return cleaned


class McpForm(PageForm):
    """An MCP server at a URL."""

    _secret_help = _(
        "Empty if you sign in on the server's own page (OAuth): that is the next step. A key is stored encrypted, never shown again, and sent to this host only."
    )

    url = forms.CharField(
        label=_("Server URL"),
        max_length=2048,
        widget=forms.URLInput(attrs={"placeholder": "https://mcp.example.com/mcp"}),
        help_text=_("The address of a server that speaks MCP over streamable HTTP."),
    )
    name = _build_name_field()
    secret = _build_secret_field(_secret_help)
    authentication = forms.ChoiceField(
        label=_("Authentication"),
        required=False,
        choices=[("", _("Bearer token")), ("header", _("Header"))],
    )
    authentication_name = forms.CharField(
        label=_("Name of the header"), required=False, max_length=100
    )


class ServiceForm(PageForm):
    """An account with a service on the web that built-in tools call."""

    service = forms.ChoiceField(
        label=_("Service"),
        choices=[
            (service.name, service.title)
            for service in SERVICES.values()
            if service.key != "none" or service.needs_account
        ],
    )
    secret = forms.CharField(
        label=_("API key"),
        required=False,
        strip=True,
        max_length=4096,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=_("Stored encrypted, never shown again, and sent to this service only."),
    )
    url = forms.CharField(
        label=_("Server URL"),
        required=False,
        max_length=2048,
        widget=forms.URLInput(attrs={"placeholder": "https://search.example.com"}),
        help_text=_("Only for a server of your own, such as SearXNG."),
    )


class ProcessForm(PageForm):
    """An MCP server that runs on this machine, as one of the operator's commands."""

    command = forms.ChoiceField(
        label=_("Command"), help_text=_("The operator lists the commands in MCP_STDIO_COMMANDS.")
    )
    name = _build_name_field()
    secret = forms.CharField(
        label=_("Key or token"),
        required=False,
        strip=True,
        max_length=4096,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=_("Stored encrypted, and given to the process as an environment variable."),
    )
    authentication_name = forms.CharField(
        label=_("Environment variable"),
        required=False,
        max_length=100,
        widget=forms.TextInput(attrs={"placeholder": "GITHUB_TOKEN"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["command"]  # django-stubs knows it as a field of any kind
        field.choices = [(name, name) for name in list_commands()]


class SecretForm(PageForm):
    secret = forms.CharField(
        label=_("New key or token"),
        strip=True,
        max_length=4096,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
    )


class CallSecondsForm(PageForm):
    """How long a call of an MCP server may take."""

    call_seconds = forms.IntegerField(
        label=_("Seconds for a call"),
        min_value=MIN_CALL_SECONDS,
        max_value=MAX_CALL_SECONDS,
        help_text=_(
            "As long as the server reports progress, a call goes on for up to ten times as long, half an hour at most."
        ),
    )


class ClientForm(PageForm):
    """The application that somebody has registered with an authorization server that registers none by itself."""

    client_id = forms.CharField(label=_("Client ID"), required=False, max_length=2048)
    client_secret = forms.CharField(
        label=_("Client secret"),
        required=False,
        strip=True,
        max_length=4096,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=_("Empty if the server gave none. Stored encrypted, and never shown again."),
    )


class RefreshForm(PageForm):
    """The new document of an API whose document has no URL."""

    document = forms.CharField(
        label=_("New document (JSON or YAML)"),
        strip=False,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false", "class": "mono"}),
    )


def _read_file(file: "UploadedFile[bytes]") -> str:
    if (file.size or 0) > MAX_BYTES:
        error = forms.ValidationError(_("The document can be at most 2 MB."), code=TOO_LARGE)
        raise forms.ValidationError({"file": error})
    try:
        return bytes(file.read()).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise forms.ValidationError({"file": _("The file is not UTF-8 text.")}) from error
