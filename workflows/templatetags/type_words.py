"""The types of inputs and variables in the reader's language."""

from collections.abc import Mapping
from typing import Final

from django import template
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


register = template.Library()

WORDS: Final[Mapping[str, str | Promise]] = {
    # the types of a run form's fields
    "text-input": _("Short text"),
    "text_input": _("Short text"),  # of a form for a person, as Dify writes it
    "paragraph": _("Paragraph"),
    "select": _("Choice"),
    "checkbox": _("Checkbox"),
    "json_object": _("JSON object"),
    "file-list": _("Files"),
    # the types of variables
    "string": pgettext_lazy("type", "string"),
    "number": pgettext_lazy("type", "number"),
    "integer": pgettext_lazy("type", "integer"),
    "float": pgettext_lazy("type", "float"),
    "boolean": pgettext_lazy("type", "boolean"),
    "object": pgettext_lazy("type", "object"),
    "file": pgettext_lazy("type", "file"),
    "secret": pgettext_lazy("type", "secret"),
    "any": pgettext_lazy("type", "any"),
    "array": pgettext_lazy("type", "array[any]"),  # of a tool's parameters, as JSON Schema has it
    "array[any]": pgettext_lazy("type", "array[any]"),
    "array[string]": pgettext_lazy("type", "array[string]"),
    "array[number]": pgettext_lazy("type", "array[number]"),
    "array[boolean]": pgettext_lazy("type", "array[boolean]"),
    "array[object]": pgettext_lazy("type", "array[object]"),
    "array[file]": pgettext_lazy("type", "array[file]"),
}

# The types of a form's fields that are types of variables, too. Among the other types of fields they are written alike.
FIELD_WORDS: Final[Mapping[str, str | Promise]] = {
    **WORDS,
    "number": _("Number"),
    "file": _("File"),
}

FILE_WORDS: Final[Mapping[str, Promise]] = {
    "type": _("File type"),
    "size": _("Size in bytes"),
    "name": _("File name"),
    "mime_type": _("MIME type"),
    "transfer_method": _("Upload method"),
    "url": _("Address"),
    "extension": _("File extension"),
    "related_id": _("File ID"),
}


@register.filter
def get_type_label(type_name: object) -> str:
    """Return the name of a type of inputs or variables; a plug-in's own type stays as it is."""
    return str(WORDS.get(str(type_name), type_name))


@register.filter
def name_field_type(type_name: object) -> str:
    """Return the name of a type of fields of a form; a plug-in's own type stays as it is."""
    return str(FIELD_WORDS.get(str(type_name), type_name))


@register.filter
def get_file_label(name: str) -> str:
    """Return the name of a property of a file, which conditions on files check."""
    return str(FILE_WORDS.get(name, name))
