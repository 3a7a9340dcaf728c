"""The warning that a submitted secret was not stored, for the secrets that the content filter finds."""

from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext as _

from memory.core.records import Json
from memory.logic.entries.secrets import redact_json


def build_secret_warning(value: Json) -> str:
    """Return a warning if the value contains a secret, else an empty string."""
    warning = _("It contained a secret, which was removed and not stored.")
    return warning if redact_json(value).kinds else ""


def warn_about_secrets(request: HttpRequest, value: Json) -> None:
    if warning := build_secret_warning(value):
        messages.warning(request, warning)
