"""The style rules of a drawing: its icons and positions.

Positions are rules, not attributes: the pages' policy allows no inline style, and a ``<style>`` with the
page's nonce makes the graph visible before any script runs.

An icon is a picture behind its element, which costs the browser nothing while the graph moves; an ``<svg>``
inside every card is a separate transform, thousands of them in a large graph. ``Canvas`` is the system colour of
the page's background, so the strokes are light on the strong tiles of a light page and dark on those of a dark page.
"""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import quote

from django.contrib.staticfiles import finders

from workflows.engine.geometry import CARD_WIDTH, format_number
from workflows.views.canvas.cards import CardView
from workflows.views.canvas.layout import Frame
from workflows.views.canvas.notes import NoteView


STROKE_WIDTH: Final = "2"
_SYMBOL: Final = re.compile(r'<symbol id="([a-z-]+)" viewBox="([^"]+)">(.*?)</symbol>', re.DOTALL)
_ICON: Final = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" style="color-scheme:light dark">'
    '<g fill="none" stroke="Canvas" stroke-width="{width}" stroke-linecap="round" stroke-linejoin="round">'
    "{body}</g></svg>"
)
_CARD_WIDTH: Final = f"{CARD_WIDTH:g}"

# A wide graph is scaled down to a limit and scrolled beyond it, so that its text stays readable.
COMFORTABLE_WIDTH: Final = 960.0
SMALLEST_SCALE: Final = 0.7
MARGIN: Final = 32.0  # includes room for the state below a node


def build_icon_rules(names: Iterable[str]) -> str:
    """Return a rule with the selector ``.wf-i-<name>`` for each icon."""
    return "".join(_build_icon_rule(name) for name in sorted(set(names)))


@cache
def _build_icon_rule(name: str) -> str:
    box, body = _load_symbols().get(name, ("0 0 24 24", ""))
    picture = _ICON.format(box=box, width=STROKE_WIDTH, body=body.replace("currentColor", "Canvas"))
    return f'.wf-i-{name}{{background-image:url("data:image/svg+xml,{quote(picture, safe="")}")}}'


@cache
def _load_symbols() -> dict[str, tuple[str, str]]:
    """Return the view box and the content of each icon by its name."""
    source = Path(str(finders.find("icons.svg"))).read_text(encoding="utf-8")
    return {name: (box, body) for name, box, body in _SYMBOL.findall(source)}


def build_position_rule(view: CardView | NoteView) -> str:
    width = "" if view.width == _CARD_WIDTH else f";width:{view.width}px"
    return f"#node-{escape_css_name(view.id)}{{left:{view.x}px;top:{view.y}px;height:{view.height}px{width}}}"


def build_scale_rules(frame: Frame) -> str:
    """Return the rules that show a whole graph in a box that scrolls, without a script."""
    left, top, width, height = frame.widen(MARGIN)
    scale = min(1.0, max(SMALLEST_SCALE, COMFORTABLE_WIDTH / width))
    x, y = format_number(-left * scale), format_number(-top * scale)
    return (
        f".graph-sizer{{width:{format_number(width * scale)}px;height:{format_number(height * scale)}px}}"
        f".graph-view{{transform:translate({x}px,{y}px) scale({scale:.4g})}}"
    )


def escape_css_name(text: str) -> str:
    """Escape an id as CSS.escape does after the first letter, because authors may choose any id."""
    return "".join(
        letter
        if letter.isascii() and (letter.isalnum() or letter in "-_")
        else f"\\{ord(letter):x} "
        for letter in text
    )
