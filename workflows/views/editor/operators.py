"""What people read of the tests in a condition: in its form, and on the cards of branches."""

from collections.abc import Mapping
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from workflows.engine.comparisons import ALIASES


# What people read of an operator; signs speak for themselves.
OPERATOR_WORDS: Final[Mapping[str, str | Promise]] = {
    "contains": _("contains"),
    "not contains": _("doesn't contain"),
    "start with": _("starts with"),
    "end with": _("ends with"),
    "is": _("is"),
    "is not": _("is not"),
    "empty": _("is empty"),
    "not empty": _("is not empty"),
    "in": _("is one of"),
    "not in": _("is none of"),
    "all of": _("has all of"),
    "null": _("is null"),
    "not null": _("is not null"),
    "exists": _("exists"),
    "not exists": _("doesn't exist"),
}


def operator_word(name: str) -> str:
    """However a document spells it."""
    spelled = name.replace("_", " ")
    return str(OPERATOR_WORDS.get(ALIASES.get(spelled, spelled), ALIASES.get(spelled, spelled)))
