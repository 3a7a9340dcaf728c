"""The canvas's own templates, compiled: a page may hold thousands of cards, a template engine call each.

Jinja2 with autoescape; no translation inside, words come with the context. Templates: ``templates/canvas/*.j2``.
"""

from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.templatetags.static import static
from django.utils.translation import gettext as _
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.environment import TemplateModule


def macros() -> TemplateModule:
    """``node``, ``note``, ``edge``, ``scope``, with the words of the language asked for."""
    made: TemplateModule = _template().make_module({"w": _words(), "icons": static("icons.svg")})
    return made


def _words() -> dict[str, str]:
    return {
        "node": _("node"),
        "note": _("note"),
        "remembers": _("remembers"),
        "disabled": _("disabled"),
        "pinned": _("pinned"),
        "collapse": _("Fold or unfold"),
        "enter": _("Look inside"),
    }


@cache
def _template() -> Any:  # Any: jinja2's Template is generic over an environment nobody names
    environment = Environment(
        loader=FileSystemLoader(Path(settings.TEMPLATES[0]["DIRS"][0]) / "canvas"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=settings.DEBUG,
    )
    return environment.get_template("drawing.j2")
