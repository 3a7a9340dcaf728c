"""Forms of the workflow pages. The run form is built from the start node's variables."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any, Final, cast

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from config.http import strict_json
from workflows.engine.files.rules import read_field_rules, read_message_rules
from workflows.engine.language.document import Document, Json, Mode
from workflows.engine.language.start_form import FILE_FIELDS, list_form_variables
from workflows.files.accepted import UploadField
from workflows.files.choices import FileChoice, build_file_choice, list_chosen
from workflows.llm.config import CHAT
from workflows.llm.presets import Preset
from workflows.models import Workflow
from workflows.models.provider import ModelType


MESSAGE_FILES = _("Files of the message")
MAX_DOCUMENT_BYTES = 1024 * 1024
TOO_LARGE: Final = "too_large"  # the code of a form's error
SENT_TEXTS = _(
    "With an embedding model, memories and questions of the team are sent to its provider."
)

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
    files: FileChoice | None = None  # of a field for files

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
        for variable in list_form_variables(document)
        if not variable.get("hide")
    ]


def read_inputs(document: Document, data: Mapping[str, str]) -> dict[str, Json]:
    """Return the submitted values for the start node. Invalid JSON stays text, which the start node then rejects."""
    values = {field.name: _read_value(field, data) for field in build_input_fields(document)}
    return {name: value for name, value in values.items() if value is not None}


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
    control = "files" if kind in FILE_FIELDS else CONTROLS.get(kind, "json")
    choices = tuple(str(option) for option in options) if isinstance(options, list) else ()
    if control == "files":
        value: Json = list_chosen(last_inputs.get(name)) or None
    else:
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
        default="" if control == "files" else _format_value(default, control),
        files=build_file_choice(
            read_field_rules(variable),
            field=name,
            label=str(variable.get("label") or name),
            is_single=kind == "file",
        )
        if control == "files"
        else None,
    )


def build_message_choice(document: Document) -> FileChoice | None:
    """Return what the message field of a chat offers, or None if its messages have no files."""
    rules = read_message_rules(document.features)
    return build_file_choice(rules, label=str(MESSAGE_FILES)) if rules else None


def find_upload_field(document: Document, name: str) -> UploadField | None:
    """Return the start field for files with this name, or without a name that of a message's files; None if there is none."""
    if not name:
        rules = read_message_rules(document.features)
        return UploadField(str(MESSAGE_FILES), rules) if rules else None
    for variable in list_form_variables(document):
        if variable.get("variable") == name and variable.get("type") in FILE_FIELDS:
            return UploadField(str(variable.get("label") or name), read_field_rules(variable))
    return None


def read_files(text: str) -> list[Json]:
    """Return the files that a form names, as its script writes them; nothing for anything else."""
    try:
        items = strict_json.loads(text) if text.strip() else []
    except strict_json.NotStrictJson:
        return []
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


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
    if field.files is not None:
        files = read_files(data.get(field.name, ""))
        return (files[0] if field.files.is_single else files) if files else None
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
    """A document that is either uploaded or pasted."""

    file = forms.FileField(
        label=_("File"),
        required=False,
        allow_empty_file=True,  # it gets a sentence of its own
        widget=forms.FileInput(
            attrs={
                "accept": ".yml,.yaml,.json",
                "class": "visually-hidden",  # its label is the area to drop files on
                "aria-describedby": "import-accepted",
            }
        ),
    )
    document = forms.CharField(
        label=_("Or paste a document (YAML or JSON)"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 10, "spellcheck": "false", "class": "mono"}),
    )
    name = forms.CharField(
        label=_("Name"),
        required=False,
        max_length=255,
        help_text=_("Overrides the name in the document."),
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        file = cleaned.get("file")
        text = cleaned.get("document") or self._read_file(file)
        if file is not None and not text.strip():
            raise forms.ValidationError(_("The file is empty."))
        if not text.strip():
            raise forms.ValidationError(_("Paste a document or select a file."))
        cleaned["text"] = text
        return cleaned

    def _read_file(self, file: "UploadedFile[bytes] | None") -> str:
        if file is None:
            return ""
        if (file.size or 0) > MAX_DOCUMENT_BYTES:
            raise forms.ValidationError(_("The document can be at most 1 MB."), code=TOO_LARGE)
        try:
            return bytes(file.read()).decode()
        except UnicodeDecodeError as error:
            raise forms.ValidationError(_("The file is not UTF-8 text.")) from error


class StartSelect(forms.RadioSelect):
    """The choice of what a new workflow begins with; ``unavailable`` values can't be chosen."""

    unavailable: Collection[str] = ()

    def create_option(self, *args: Any, **kwargs: Any) -> dict[str, Any]:  # as Django passes them
        option = super().create_option(*args, **kwargs)
        if option["value"] in self.unavailable:
            option["attrs"] |= {"disabled": True, "aria-describedby": "no-drafting-model"}
        return option


class NewWorkflowForm(PageForm):
    """A new workflow: its name and type, and what it begins with."""

    READY, BLANK, DESCRIPTION = "ready", "blank", "description"

    name = forms.CharField(
        label=_("Name"), max_length=255, widget=forms.TextInput(attrs={"autofocus": True})
    )
    start = forms.ChoiceField(
        label=_("Start with"),
        required=False,
        choices=[
            (READY, _("A working workflow: it asks a model and remembers what people say")),
            (DESCRIPTION, _("A description: a model drafts the workflow, and you edit the draft")),
            (BLANK, _("A blank canvas")),
        ],
        widget=StartSelect,
        initial=READY,
        help_text=_("Each person has a memory of their own, which all workflows of the team use."),
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

    def __init__(
        self,
        *args: Any,  # as Django's forms take them
        suggested_names: Mapping[Mode, str],
        can_draft: bool,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        # The page's script puts the other type's name into the field, while nobody has edited it.
        self.fields["name"].widget.attrs |= {
            f"data-name-{mode}": name for mode, name in suggested_names.items()
        }
        if not can_draft:
            cast(StartSelect, self.fields["start"].widget).unavailable = (self.DESCRIPTION,)

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
    model_type = forms.ChoiceField(
        label=_("Type of model"),
        required=False,
        choices=[(CHAT, _("Chat")), *ModelType.choices],
        help_text=_(
            "Embedding finds memories by meaning; reranking sorts the pages that were found."
        ),
    )
    default_model = forms.CharField(
        label=_("Model"),
        required=False,
        max_length=200,
    )

    def __init__(
        self, data: Any = None, *, preset: Preset | None = None, taken_names: Iterable[str] = ()
    ) -> None:
        initial = {}
        if preset is not None:
            name = _find_free_name(preset.name, set(taken_names))
            initial = {"name": name, "base_url": preset.base_url}
        super().__init__(data, initial=initial)
        self._preset = preset
        if preset is not None and not preset.has_chat_models:
            types = {
                ModelType.EMBEDDING: preset.embedding_models,
                ModelType.RERANK: preset.rerank_models,
            }
            choices = [(type_.value, type_.label) for type_, names in types.items() if names]
            self.fields["model_type"] = forms.ChoiceField(
                label=_("Type of model"),
                choices=choices,
                initial=choices[0][0],
                help_text=SENT_TEXTS,
            )
        if preset is not None and preset.example_url:
            self.fields["base_url"].widget.attrs["placeholder"] = preset.example_url
        if preset is not None and preset.key_page:
            self.fields["api_key"].required = True

    @property
    def main_fields(self) -> list[forms.BoundField]:
        """Return the fields that a person has to fill in: for a preset, the key and what it doesn't know."""
        names = ["api_key"] if self.initial.get("name") else ["name", "base_url", "api_key"]
        if self.initial.get("name") and not self.initial["base_url"]:
            names.insert(0, "base_url")
        if self._preset is None or not self._preset.has_chat_models:
            names.append("model_type")
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
