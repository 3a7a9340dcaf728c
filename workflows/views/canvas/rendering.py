"""Compiles ``templates/canvas/*.j2`` with Jinja2, because a page may contain thousands of cards.

The templates are autoescaped and contain no translations; translated strings are passed in the context.
"""

from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.templatetags.static import static
from django.utils.translation import gettext as _
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.environment import TemplateModule


def load_macros() -> TemplateModule:
    """Return the macros ``node``, ``note``, ``edge`` and ``scope``, which print words in the reader's language."""
    macros: TemplateModule = _load_template().make_module(
        {"w": _translate_words(), "icons": static("icons.svg")}
    )
    return macros


def _translate_words() -> dict[str, str]:
    return {
        "node": _("node"),
        "note": _("note"),
        "remembers": _("Uses memory"),
        "disabled": _("Disabled"),
        "pinned": _("Pinned"),
        "collapse": _("Collapse or expand"),
        "enter": _("Open container"),
    }


@cache
def _load_template() -> Any:  # Any: jinja2's Template is generic over the environment
    environment = Environment(
        loader=FileSystemLoader(Path(settings.TEMPLATES[0]["DIRS"][0]) / "canvas"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=settings.DEBUG,
    )
    return environment.get_template("drawing.j2")
