"""What is wrong with a line of an export, in a sentence for who wrote or sent the file."""

import re
from collections.abc import Mapping
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


NUMBER: Final = _("Expected a number.")
MOMENT: Final = _("Expected a date and time, such as 2026-01-31T12:00:00Z.")
UUID: Final = _("Expected a UUID.")
WORD: Final = _("This value is not allowed here.")

# By pydantic's name of the fault; the values in it are what pydantic says of it.
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
    "datetime_type": MOMENT,
    "datetime_parsing": MOMENT,
    "datetime_from_date_parsing": MOMENT,
    "float_type": NUMBER,
    "float_parsing": NUMBER,
    "int_type": NUMBER,
    "int_parsing": NUMBER,
    "int_from_float": _("Expected a whole number."),
    "uuid_type": UUID,
    "uuid_parsing": UUID,
    "enum": WORD,
    "literal_error": WORD,
}


def said(fault: Mapping[str, Any]) -> str:  # Any: as pydantic has it
    """In the reader's language where there is a sentence for it; else pydantic's own."""
    sentence = SENTENCES.get(fault["type"])
    if sentence is None:
        return str(fault["msg"]).removeprefix("Value error, ")
    words: str = str(sentence) % fault.get("ctx", {})
    return words


# What the strict reader says to programmes, for people: by its own words, and what of them is kept.
UNREAD: Final[Mapping[str, Promise]] = {
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


def unread(wrong: ValueError) -> str:
    """In the reader's language why a line is no JSON that every reader takes alike."""
    for pattern, sentence in UNREAD.items():
        if found := re.fullmatch(pattern, str(wrong), re.DOTALL):
            words: str = str(sentence) % found.groupdict()
            return words
    return str(wrong)
