"""Texts of the engine, which are English, in the language of the reader."""

from django.utils.translation import gettext

from workflows.engine.texts import Text


def translate_text(text: Text) -> str:
    """Return a phrase translated and filled in, and a plain text as it is."""
    if isinstance(text, str):
        return text
    return gettext(text.text) % text.values if text.values else gettext(text.text)
