"""The translatable strings of the editor's scripts, which contain the English originals.

Each part of the editor has a module with its ``TEXTS``. A test checks that these contain every ``t("…")`` of a script.
"""

import importlib
import pkgutil
from collections.abc import Sequence
from functools import cache

from django.utils.functional import Promise
from django.utils.translation import get_language


@cache
def list_texts() -> tuple[Promise, ...]:
    """Return the strings of all parts, which are the modules of this package; they are loaded once."""
    parts = sorted(module.name for module in pkgutil.iter_modules(__path__))
    loaded = (importlib.import_module(f"{__name__}.{name}") for name in parts)
    return tuple(text for part in loaded for text in part.TEXTS)


def translate_texts(texts: Sequence[Promise] | None = None) -> dict[str, str]:
    """Return the translations of the given strings, by default of all; empty if the language is English."""
    if (get_language() or "en").startswith("en"):
        return {}
    return {text._args[0]: str(text) for text in texts or list_texts()}  # type: ignore[attr-defined]
