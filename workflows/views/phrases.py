"""Translates the engine's English texts into the language of the reader."""

from django.utils.translation import gettext

from workflows.engine.texts import Text


def translate_text(text: Text) -> str:
    """Return a phrase translated with its values filled in, and a plain string unchanged."""
    if isinstance(text, str):
        return text
    return gettext(text.text) % text.values if text.values else gettext(text.text)
