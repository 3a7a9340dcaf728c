"""What is wrong with a line of an export, in a sentence for who wrote or sent the file."""

import re
from collections.abc import Mapping
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


NUMBER: Final = _("A number was expected.")
MOMENT: Final = _("A moment was expected, such as 2026-01-31T12:00:00Z.")
UUID: Final = _("A UUID was expected.")
WORD: Final = _("That is none of the words this field may hold.")

# By pydantic's name of the fault; the values in it are what pydantic says of it.
SENTENCES: Final[Mapping[str, Promise]] = {
    "missing": _("This field is missing."),
    "extra_forbidden": _("Extra field: an export knows none of that name."),
    "less_than": _("A number less than %(lt)s was expected."),
    "less_than_equal": _("A number of %(le)s or less was expected."),
    "greater_than": _("A number greater than %(gt)s was expected."),
    "greater_than_equal": _("A number of %(ge)s or more was expected."),
    "string_too_long": _("The text is longer than %(max_length)s characters."),
    "string_too_short": _("The text is shorter than %(min_length)s characters."),
    "string_type": _("Text was expected."),
    "bool_type": _("true or false was expected."),
    "dict_type": _("An object in braces was expected."),
    "list_type": _("A list in brackets was expected."),
    "timezone_aware": _("The moment names no timezone; write it as 2026-01-31T12:00:00Z."),
    "datetime_type": MOMENT,
    "datetime_parsing": MOMENT,
    "datetime_from_date_parsing": MOMENT,
    "float_type": NUMBER,
    "float_parsing": NUMBER,
    "int_type": NUMBER,
    "int_parsing": NUMBER,
    "int_from_float": _("A whole number was expected."),
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
    r"Not JSON: .*\(char (?P<at>\d+)\)": _("It is not JSON from character %(at)s on."),
    r"Not UTF-8: .* at byte (?P<at>\d+)": _("It is not UTF-8 from byte %(at)s on."),
    r"Nested more than (?P<most>\d+) deep": _("It is nested more than %(most)s deep."),
    r"The key '(?P<key>.+)' appears twice in one object": _(
        "The key %(key)s appears twice in one object."
    ),
    r"(?P<name>\S+) is not a JSON number": _("%(name)s is not a JSON number."),
    r"A number of more than (?P<most>\d+) digits": _("A number has more than %(most)s digits."),
    r"The number (?P<number>\S+) is out of range": _("The number %(number)s is out of range."),
    r"Text with a NUL character or half a surrogate pair": _(
        "A text has a NUL character or half a surrogate pair."
    ),
}


def unread(wrong: ValueError) -> str:
    """In the reader's language why a line is no JSON that every reader takes alike."""
    for pattern, sentence in UNREAD.items():
        if found := re.fullmatch(pattern, str(wrong), re.DOTALL):
            words: str = str(sentence) % found.groupdict()
            return words
    return str(wrong)
