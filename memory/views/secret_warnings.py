"""Tells whoever typed a secret that it isn't kept: found as the gate finds it, so that both agree."""

from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext as _

from memory.core.records import Json
from memory.logic.entries.secrets import redact_json


def secret_said(typed: Json) -> str:
    """Nothing where there was none."""
    return (
        _("It contained a secret, which was removed and not stored.")
        if redact_json(typed).kinds
        else ""
    )


def tell_of_secrets(request: HttpRequest, typed: Json) -> None:
    if said := secret_said(typed):
        messages.warning(request, said)
