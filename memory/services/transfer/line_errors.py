"""Messages about the errors in a line of an export, for the person who imports it."""

import re
from collections.abc import Mapping
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


NUMBER: Final = _("Expected a number.")
TIME: Final = _("Expected a date and time, such as 2026-01-31T12:00:00Z.")
UUID: Final = _("Expected a UUID.")
CHOICE: Final = _("This value is not allowed here.")

# By pydantic's error type; the placeholders are pydantic's context.
SENTENCES: Final[Mapping[str, Promise]] = {
    "missing": _("This field is missing."),
    "extra_forbidden": _("Unknown field."),
    "less_than": _("Expected a number less than %(lt)s."),
    "less_than_equal": _("Expected a number of %(le)s or less."),
    "greater_than": _("Expected a number greater than %(gt)s."),
    "greater_than_equal": _("Expected a number of %(ge)s or more."),
    "string_too_long": _("Text longer than %(max_length)s characters."),
    "string_too_short": _("Text shorter than %(min_length)s characters."),
    "string_type": _("Expected text."),
    "bool_type": _("Expected true or false."),
    "dict_type": _("Expected an object."),
    "list_type": _("Expected a list."),
    "timezone_aware": _("Time zone missing. Use the form 2026-01-31T12:00:00Z."),
    "datetime_type": TIME,
    "datetime_parsing": TIME,
    "datetime_from_date_parsing": TIME,
    "float_type": NUMBER,
    "float_parsing": NUMBER,
    "int_type": NUMBER,
    "int_parsing": NUMBER,
    "int_from_float": _("Expected a whole number."),
    "uuid_type": UUID,
    "uuid_parsing": UUID,
    "enum": CHOICE,
    "literal_error": CHOICE,
}

# By patterns for the messages of the strict JSON parser; the groups are placeholders.
SYNTAX_SENTENCES: Final[Mapping[str, Promise]] = {
    r"Not JSON: .*\(char (?P<at>\d+)\)": _("Invalid JSON at character %(at)s."),
    r"Not UTF-8: .* at byte (?P<at>\d+)": _("Invalid UTF-8 at byte %(at)s."),
    r"Nested more than (?P<most>\d+) levels deep": _("Nested more than %(most)s levels deep."),
    r"The key '(?P<key>.+)' appears twice in one object": _("Duplicate key %(key)s in an object."),
    r"(?P<name>\S+) is not a JSON number": _("%(name)s is not a valid JSON number."),
    r"A number has more than (?P<most>\d+) digits": _("A number has more than %(most)s digits."),
    r"The number (?P<number>\S+) is out of range": _("Number out of range: %(number)s."),
    r"The text contains a NUL character or half a surrogate pair": _(
        "The text contains a NUL character or an unpaired surrogate."
    ),
}


def describe_error(error: Mapping[str, Any]) -> str:  # Any: as in pydantic
    """Return the message for an error of pydantic in the reader's language, or pydantic's own if there is none."""
    sentence = SENTENCES.get(error["type"])
    if sentence is None:
        return str(error["msg"]).removeprefix("Value error, ")
    message: str = str(sentence) % error.get("ctx", {})
    return message


def describe_syntax_error(error: ValueError) -> str:
    """Return why a line is not JSON that all readers interpret alike, in the reader's language."""
    for pattern, sentence in SYNTAX_SENTENCES.items():
        if match := re.fullmatch(pattern, str(error), re.DOTALL):
            message: str = str(sentence) % match.groupdict()
            return message
    return str(error)
