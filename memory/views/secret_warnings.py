"""The warning that a submitted secret was not stored; it is found as the content filter finds it."""

from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext as _

from memory.core.records import Json
from memory.logic.entries.secrets import redact_json


def describe_secret(value: Json) -> str:
    """Return a warning if the value contains a secret, else an empty text."""
    return (
        _("It contained a secret, which was removed and not stored.")
        if redact_json(value).kinds
        else ""
    )


def warn_about_secrets(request: HttpRequest, value: Json) -> None:
    if warning := describe_secret(value):
        messages.warning(request, warning)
