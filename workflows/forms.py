"""Forms of the workflow pages. The run form is built from the start node's variables."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from config.http import strict_json
from workflows.engine.language.document import Document, Json
from workflows.llm.presets import Preset
from workflows.models import Workflow


MAX_DOCUMENT_BYTES = 1024 * 1024

# type of a start variable → its form control; values of other types are entered as JSON
CONTROLS = {
    "text-input": "text",
    "string": "text",
    "paragraph": "paragraph",
    "select": "select",
    "number": "number",
    "integer": "number",
    "float": "number",
    "checkbox": "switch",
    "boolean": "switch",
}
FILE_TYPES = frozenset({"file", "file-list", "array[file]"})


@dataclass(frozen=True, slots=True)
class InputField:
    """A variable of the start node as a form control.

    ``value`` is the submitted value, else that of the person's last run, else the author's ``default``.
    """

    name: str
    label: str
    control: str
    required: bool
    value: str
    options: tuple[str, ...] = ()
    max_length: int | None = None
    hint: str = ""
    error: str = ""
    default: str = ""

    @property
    def id(self) -> str:
        return f"input-{self.name}"


def build_input_fields(
    document: Document,
    submitted: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
    last_inputs: Mapping[str, Json] | None = None,
) -> list[InputField]:
    """Return the controls for the inputs of the document in its order, filled from the submission or the last run."""
    return [
        _build_field(variable, submitted, errors or {}, last_inputs or {})
        for variable in _list_variables(document)
        if not variable.get("hide") and variable.get("type") not in FILE_TYPES
    ]


def read_inputs(document: Document, data: Mapping[str, str]) -> dict[str, Json]:
    """Return the submitted values for the start node. Invalid JSON stays text, which the start node then rejects."""
    values = {field.name: _read_value(field, data) for field in build_input_fields(document)}
    return {name: value for name, value in values.items() if value is not None}


def _list_variables(document: Document) -> Sequence[Mapping[str, Any]]:
    for node in document.nodes:
        if node.kind == "start":
            variables = node.data.get("variables")
            if isinstance(variables, list):
                return [variable for variable in variables if isinstance(variable, dict)]
    return []


def _build_field(
    variable: Mapping[str, Any],
    submitted: Mapping[str, str] | None,
    errors: Mapping[str, str],
    last_inputs: Mapping[str, Json],
) -> InputField:
    name = str(variable.get("variable", ""))
    kind = str(variable.get("type", "string"))
    default = variable.get("default")
    options = variable.get("options")
    max_length = variable.get("max_length")
    control = CONTROLS.get(kind, "json")
    choices = tuple(str(option) for option in options) if isinstance(options, list) else ()
    is_reusable = _is_reusable(last_inputs.get(name), control, choices)
    value = last_inputs[name] if is_reusable else default
    return InputField(
        name=name,
        label=str(variable.get("label") or name),
        control=control,
        required=bool(variable.get("required")),
        value=submitted.get(name, "") if submitted is not None else _format_value(value, control),
        options=choices,
        max_length=max_length if isinstance(max_length, int) and max_length > 0 else None,
        hint=str(variable.get("description") or ""),
        error=errors.get(name, ""),
        default=_format_value(default, control),
    )


def _is_reusable(value: Json, control: str, options: Sequence[str]) -> bool:
    """Return whether the value of an earlier run is valid for the current field."""
    if value is None or (control == "select" and value not in options):
        return False
    return isinstance(value, bool) == (control == "switch") or control == "json"


def _format_value(value: Json, control: str) -> str:
    """Return the value as the control's text, which is "" for a switch that is off."""
    if value is None or (control == "switch" and value in (False, "false")):
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _read_value(field: InputField, data: Mapping[str, str]) -> Json:
    if field.control == "switch":
        return field.name in data
    text = data.get(field.name, "").replace("\x00", "")  # PostgreSQL can't store NUL
    if field.control in {"json", "number"}:
        if not text.strip():
            return None
        try:
            return strict_json.loads(text)
        except strict_json.NotStrictJson:
            return text
    return text or None  # an empty field is None, so that a missing required value is reported


class PageForm(forms.Form):
    """A form whose labels are above the fields, without a colon."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # Any: Django's own signature
        super().__init__(*args, **{"label_suffix": "", **kwargs})


class ImportForm(PageForm):
    """A document that is either pasted or uploaded."""

    document = forms.CharField(
        label=_("Document (YAML or JSON)"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 10, "spellcheck": "false", "class": "mono"}),
    )
    file = forms.FileField(
        label=_("Or select a file"),
        required=False,
        widget=forms.FileInput(attrs={"accept": ".yml,.yaml,.json"}),
    )
    name = forms.CharField(
        label=_("Name"),
        required=False,
        max_length=255,
        help_text=_("Overrides the name in the document."),
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        text = cleaned.get("document") or self._read_file(cleaned.get("file"))
        if not text.strip():
            raise forms.ValidationError(_("Paste a document or select a file."))
        cleaned["text"] = text
        return cleaned

    def _read_file(self, file: "UploadedFile[bytes] | None") -> str:
        if file is None:
            return ""
        if (file.size or 0) > MAX_DOCUMENT_BYTES:
            raise forms.ValidationError(_("The document can be at most 1 MB."))
        try:
            return bytes(file.read()).decode()
        except UnicodeDecodeError as error:
            raise forms.ValidationError(_("The file is not UTF-8 text.")) from error


class NewWorkflowForm(PageForm):
    """A new workflow: its name and type, and what it begins with."""

    READY, BLANK, DESCRIPTION = "ready", "blank", "description"

    name = forms.CharField(label=_("Name"), max_length=255)
    start = forms.ChoiceField(
        label=_("Start with"),
        required=False,
        choices=[
            (READY, _("A working workflow: it asks a model and remembers what people say")),
            (DESCRIPTION, _("A description: a model drafts the workflow, and you edit the draft")),
            (BLANK, _("A blank canvas")),
        ],
        widget=forms.RadioSelect,
        initial=READY,
    )
    description = forms.CharField(
        label=_("What should it do?"),
        required=False,
        max_length=2_000,
        widget=forms.Textarea(
            attrs={
                "rows": 4,
                "placeholder": _(
                    "A chatbot that helps new employees and remembers their questions"
                ),
            }
        ),
    )
    mode = forms.ChoiceField(
        label=_("Type"),
        required=False,
        choices=[
            ("advanced-chat", _("Chat: replies to messages and remembers the conversation")),
            ("workflow", _("Workflow: takes input values and returns output values")),
        ],
        widget=forms.RadioSelect,
        initial="advanced-chat",
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        cleaned["start"] = cleaned.get("start") or self.READY
        cleaned["mode"] = cleaned.get("mode") or "advanced-chat"
        if cleaned["start"] == self.DESCRIPTION and not cleaned.get("description", "").strip():
            self.add_error("description", _("Describe the workflow in a sentence or two."))
        return cleaned


class RenameForm(PageForm):
    name = forms.CharField(label=_("Name"), max_length=255)
    description = forms.CharField(
        label=_("Description"), required=False, widget=forms.Textarea(attrs={"rows": 3})
    )


class ToolSettingsForm(PageForm):
    is_tool = forms.BooleanField(
        label=_("Can be used as a tool"),
        required=False,
        help_text=_("Agents and tool nodes of the team can call its published version."),
    )
    description = forms.CharField(
        label=_("Description for models"),
        required=False,
        max_length=2_000,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_(
            "When a model should use this tool, and what it returns. If empty, the workflow's description."
        ),
    )


class TaskForm(PageForm):
    title = forms.CharField(label=_("Title"), max_length=255)
    description = forms.CharField(
        label=_("Description"),
        required=False,
        max_length=100_000,
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    workflow: "forms.ModelChoiceField[Workflow]" = forms.ModelChoiceField(
        queryset=None, label=_("Workflow"), required=False, empty_label=_("Team task workflow")
    )

    def __init__(self, *args: Any, workflows: "QuerySet[Workflow]", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["workflow"]  # django-stubs knows it as a field of any kind
        field.queryset = workflows
        field.label_from_instance = lambda workflow: workflow.name


class FolderForm(PageForm):
    name = forms.CharField(
        label=_("Name"), max_length=255, widget=forms.TextInput(attrs={"autofocus": True})
    )


class PublishForm(PageForm):
    note = forms.CharField(label=_("Version note"), required=False, max_length=1000)


class ProviderForm(PageForm):
    """An OpenAI-compatible endpoint. The API key can be set but is never shown.

    A ``preset`` fills in the name and the address.
    """

    name = forms.RegexField(
        r"^[A-Za-z0-9._-]{1,80}$",
        label=_("Provider name"),
        help_text=_("The name that nodes use for this provider, for example openai."),
        error_messages={
            "invalid": _("Use letters, digits, dots, dashes and underscores, up to 80 characters.")
        },
    )
    base_url = forms.URLField(
        label=_("Base URL"),
        assume_scheme="https",
        help_text=_("The address of any OpenAI-compatible API. It usually ends in /v1."),
    )
    api_key = forms.CharField(
        label=_("API key"),
        required=False,
        strip=True,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=_("Stored encrypted and never shown again."),
    )
    default_model = forms.CharField(
        label=_("Model"),
        required=False,
        max_length=200,
        help_text=_("Empty: selected from the models that the provider lists."),
    )

    def __init__(
        self, data: Any = None, *, preset: Preset | None = None, taken_names: Iterable[str] = ()
    ) -> None:
        initial = {}
        if preset is not None:
            name = _find_free_name(preset.name, set(taken_names))
            initial = {"name": name, "base_url": preset.base_url}
        super().__init__(data, initial=initial)
        if preset is not None and preset.example_url:
            self.fields["base_url"].widget.attrs["placeholder"] = preset.example_url
        if preset is not None and preset.key_page:
            self.fields["api_key"].required = True
            self.fields["api_key"].widget.attrs["autofocus"] = True

    @property
    def main_fields(self) -> list[forms.BoundField]:
        """Return the fields that a person has to fill in: for a preset, the key and an address that it doesn't know."""
        names = ["api_key"] if self.initial.get("name") else ["name", "base_url", "api_key"]
        if self.initial.get("name") and not self.initial["base_url"]:
            names.insert(0, "base_url")
        return [self[name] for name in names]

    @property
    def other_fields(self) -> list[forms.BoundField]:
        main = {field.name for field in self.main_fields}
        return [field for field in self if field.name not in main]

    @property
    def has_other_errors(self) -> bool:
        return any(field.errors for field in self.other_fields)


def _find_free_name(name: str, taken_names: set[str]) -> str:
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    return next(name for name in names if name not in taken_names)


class ProviderLimitsForm(PageForm):
    """The limits of a provider's calls. An empty field means the application's default."""

    timeout_seconds = forms.IntegerField(
        label=_("Time limit (seconds)"), required=False, min_value=1, max_value=3600
    )
    idle_seconds = forms.IntegerField(
        label=_("Time until the first word (seconds)"), required=False, min_value=1, max_value=3600
    )
    max_concurrency = forms.IntegerField(
        label=_("Calls at the same time"), required=False, min_value=1, max_value=1000
    )
    max_tokens = forms.IntegerField(
        label=_("Default max tokens"), required=False, min_value=1, max_value=1_000_000
    )
    max_retries = forms.IntegerField(label=_("Retries"), required=False, min_value=0, max_value=10)
