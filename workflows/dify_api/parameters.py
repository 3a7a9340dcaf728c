"""What a front end needs to know of an app: its form, its features, and the limits of files."""

from collections.abc import Mapping
from typing import Final

from workflows.dify_api.apps import App
from workflows.engine.files.rules import FileRules, read_message_rules
from workflows.engine.language.document import Json
from workflows.engine.language.start_form import Field, find_start, list_fields
from workflows.files.limits import get_limit
from workflows.services.chat.suggestions import read_questions


# Types of our own start forms → Dify's.
FIELD_TYPES: Final[Mapping[str, str]] = {
    "string": "text-input",
    "boolean": "checkbox",
    "integer": "number",
    "float": "number",
    "object": "json_object",
    "array[file]": "file-list",
}
# The features that are on or off, with what else each has.
SWITCHES: Final[Mapping[str, Mapping[str, Json]]] = {
    "suggested_questions_after_answer": {},
    "speech_to_text": {},
    "text_to_speech": {"voice": "", "language": "", "autoPlay": "disabled"},
    "retriever_resource": {},
    "annotation_reply": {},
    "more_like_this": {},
    "sensitive_word_avoidance": {},
}
# Features that an imported document may switch on, but that are not carried out here.
NOT_CARRIED_OUT: Final = frozenset(
    {*("speech_to_text", "text_to_speech", "annotation_reply"), "sensitive_word_avoidance"}
)
MAX_FILES_OF_FIELD: Final = 10
ALL_TYPES: Final = ("image", "document", "audio", "video", "custom")
ALL_METHODS: Final = ("remote_url", "local_file")


def build_parameters(app: App) -> dict[str, Json]:
    features = app.document.features
    return {
        "opening_statement": str(features.get("opening_statement") or ""),
        "suggested_questions": read_questions(features),
        **{name: _read_switch(features, name) for name in SWITCHES},
        "user_input_form": build_form(app),
        "file_upload": _build_file_upload(read_message_rules(features)),
        "system_parameters": build_limits(),
    }


def build_form(app: App) -> list[Json]:
    """Return the fields of the start node, each under the name of its type."""
    start = find_start(app.document)
    fields = list_fields(start) if start else ()
    return [{kind: _describe_field(field, kind)} for field in fields for kind in [_get_type(field)]]


def build_limits() -> dict[str, int]:
    """Return the limits of files, in megabytes and in numbers of files."""
    return {
        "image_file_size_limit": get_limit("image"),
        "file_size_limit": get_limit("document"),
        "audio_file_size_limit": get_limit("audio"),
        "video_file_size_limit": get_limit("video"),
        "workflow_file_upload_limit": MAX_FILES_OF_FIELD,
    }


def _get_type(field: Field) -> str:
    return FIELD_TYPES.get(field.type, field.type)


def _describe_field(field: Field, kind: str) -> dict[str, Json]:
    described: dict[str, Json] = {
        "label": field.title,
        "variable": field.name,
        "type": kind,
        "required": field.required,
        "default": field.default,
        "max_length": field.max_length,
        "options": list(field.options),
    }
    if kind in ("file", "file-list"):
        rules = field.file_rules
        described |= {
            "allowed_file_types": list(rules.types or ALL_TYPES),
            "allowed_file_extensions": list(rules.extensions),
            "allowed_file_upload_methods": list(rules.methods or ALL_METHODS),
        }
    return described


def _read_switch(features: Mapping[str, Json], name: str) -> dict[str, Json]:
    setting = features.get(name)
    is_on = isinstance(setting, Mapping) and setting.get("enabled") is True
    values = {**SWITCHES[name], "enabled": is_on and name not in NOT_CARRIED_OUT}
    if name == "text_to_speech":
        for key in ("voice", "language"):
            values[key] = str(setting.get(key) or "") if isinstance(setting, Mapping) else ""
    return values


def _build_file_upload(rules: FileRules | None) -> dict[str, Json]:
    """Return the files that a message may have. ``image`` is what older clients read."""
    if rules is None:
        image = {"enabled": False, "number_limits": 3, "transfer_methods": list(ALL_METHODS)}
        return {"enabled": False, "image": image, "number_limits": 3}
    types, methods = list(rules.types or ALL_TYPES), list(rules.methods or ALL_METHODS)
    return {
        "enabled": True,
        "image": {
            "enabled": "image" in types,
            "number_limits": rules.max_count,
            "transfer_methods": methods,
        },
        "allowed_file_types": types,
        "allowed_file_extensions": list(rules.extensions),
        "allowed_file_upload_methods": methods,
        "number_limits": rules.max_count,
    }
