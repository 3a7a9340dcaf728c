"""Strings for users, which are English in the engine and translated by the views that show them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from workflows.engine.language.document import Json


def gettext_noop(text: str) -> str:
    """Mark a string for translation; the engine itself does not translate."""
    return text


@dataclass(frozen=True, slots=True)
class Phrase:
    """Pairs an English string to translate with the values that fill its placeholders."""

    text: str
    values: Mapping[str, Json] = field(default_factory=dict)


def count_text(count: Json, singular: str, plural: str) -> Phrase:
    """Return the phrase for one, which has no placeholder, or that for another ``count``."""
    return Phrase(singular) if str(count) == "1" else Phrase(plural, {"count": count})


# A plain string is shown unchanged, a phrase is translated first.
Text = str | Phrase
