"""Marks that stand in a text for its references while the text is parsed, before any value is in it."""

import re
from typing import Final

from workflows.engine.language.templating import Template


# Characters that Unicode reserves for the inside of programs. In an author's text they are replaced.
BEGIN: Final = "\ufdd0"
END: Final = "\ufdd1"
END_OUTSIDE: Final = "\ufdd2"  # of a mark that was put into quotes for a strict reader
MARK: Final = re.compile(f"{BEGIN}([0-9]+)[{END}{END_OUTSIDE}]")

_RESERVED: Final = str.maketrans(dict.fromkeys((BEGIN, END, END_OUTSIDE), "\ufffd"))
_QUOTE: Final = re.compile(r'\\.|"', re.DOTALL)


def parse_template(source: str) -> Template:
    """Return the template of a text in which nothing looks like a mark."""
    return Template.of(source.translate(_RESERVED))


def is_alone(template: Template) -> bool:
    """Return whether a text is nothing but one reference."""
    texts = [part for part in template.segments if isinstance(part, str)]
    return len(template.references) == 1 and not "".join(texts).strip()


def mark_references(template: Template, *, quotes_outside: bool = False) -> str:
    """Return the text with numbered marks for references, in quotes where the author's text has none around them."""
    parts: list[str] = []
    is_inside, number = False, 0
    for segment in template.segments:
        if isinstance(segment, str):
            is_inside ^= sum(match[0] == '"' for match in _QUOTE.finditer(segment)) % 2 == 1
            parts.append(segment)
            continue
        needs_quotes = quotes_outside and not is_inside
        mark = f"{BEGIN}{number}{END_OUTSIDE if needs_quotes else END}"
        parts.append(f'"{mark}"' if needs_quotes else mark)
        number += 1
    return "".join(parts)
