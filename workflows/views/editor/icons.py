"""The icons of cards as style rules, made from static/icons.svg.

A picture behind an element costs the browser nothing while the graph moves; an ``<svg>`` inside every card
is a transform of its own to it, thousands of them in a large graph. ``Canvas`` is the system's word for the
colour of paper: the strokes are light on a light page's strong tiles, dark on a dark page's.
"""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from urllib.parse import quote

from django.contrib.staticfiles import finders


_SYMBOL = re.compile(r'<symbol id="([a-z-]+)" viewBox="([^"]+)">(.*?)</symbol>', re.DOTALL)
_FRAME = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" style="color-scheme:light dark">'
    '<g fill="none" stroke="Canvas" stroke-width="{width}" stroke-linecap="round" stroke-linejoin="round">'
    "{body}</g></svg>"
)
STROKE = "2"


def rules_for(names: Iterable[str]) -> str:
    """A rule for each icon, ``.wf-i-<name>``."""
    return "".join(_rule(name) for name in sorted(set(names)))


@cache
def _rule(name: str) -> str:
    box, body = _symbols().get(name, ("0 0 24 24", ""))
    picture = _FRAME.format(box=box, width=STROKE, body=body.replace("currentColor", "Canvas"))
    return f'.wf-i-{name}{{background-image:url("data:image/svg+xml,{quote(picture, safe="")}")}}'


@cache
def _symbols() -> dict[str, tuple[str, str]]:
    found = finders.find("icons.svg")
    source = Path(str(found)).read_text(encoding="utf-8")
    return {name: (box, body) for name, box, body in _SYMBOL.findall(source)}
