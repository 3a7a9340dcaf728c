"""The texts of the editor's scripts: English in the scripts, translated here.

Each part of the editor has a module with its ``TEXTS``. A test checks that every ``t("…")`` of a
script is in one of them.
"""

import importlib
import pkgutil
from collections.abc import Sequence
from functools import cache

from django.utils.functional import Promise
from django.utils.translation import get_language


@cache
def list_texts() -> tuple[Promise, ...]:
    """Return every text of every part; the parts are the modules of this package, and read once."""
    parts = sorted(module.name for module in pkgutil.iter_modules(__path__))
    loaded = (importlib.import_module(f"{__name__}.{name}") for name in parts)
    return tuple(text for part in loaded for text in part.TEXTS)


def translate_texts(texts: Sequence[Promise] | None = None) -> dict[str, str]:
    """Return the translation of each English text, of all or the given ones; empty for English itself."""
    if (get_language() or "en").startswith("en"):
        return {}
    return {text._args[0]: str(text) for text in texts or list_texts()}  # type: ignore[attr-defined]
