"""What the editor's scripts say to people: English in the scripts, translated here.

A module a part of the editor, each with its ``TEXTS``. A test holds that every ``t("…")`` of a script
is in one of them.
"""

import importlib
import pkgutil
from collections.abc import Sequence
from functools import cache

from django.utils.functional import Promise
from django.utils.translation import get_language


@cache
def texts() -> tuple[Promise, ...]:
    """Every text of every part; read once, the parts are files beside this one."""
    parts = sorted(module.name for module in pkgutil.iter_modules(__path__))
    loaded = (importlib.import_module(f"{__name__}.{name}") for name in parts)
    return tuple(text for part in loaded for text in part.TEXTS)


def words(chosen: Sequence[Promise] | None = None) -> dict[str, str]:
    """Return English → the language asked for, of all texts or those chosen; empty for English itself."""
    if (get_language() or "en").startswith("en"):
        return {}
    return {text._args[0]: str(text) for text in chosen or texts()}  # type: ignore[attr-defined]
