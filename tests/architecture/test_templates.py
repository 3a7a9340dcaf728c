"""What every template keeps to.

Templates are formatted by djangofmt (`make fix`), which can't break every line; none is longer than ``LONGEST_LINE``.
"""

import re

from config.env import ROOT


LONGEST_LINE = 160
TEMPLATES = [
    path
    for folder in ("templates", "config/templates")
    for path in sorted((ROOT / folder).rglob("*.html"))
]


def test_no_line_of_a_template_is_too_long():
    too_long = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in TEMPLATES
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > LONGEST_LINE
    ]

    assert too_long == []


def test_confirmation_is_asked_by_the_form():
    """On a button ``data-confirm`` has no effect: app.js looks for it when a form is submitted."""
    elements = {
        (str(path.relative_to(ROOT)), re.findall(r"<([a-z]+)\s", text[: found.start()])[-1])
        for path in TEMPLATES
        for text in [path.read_text()]
        for found in re.finditer(r"\bdata-confirm=", text)
    }

    assert len(elements) > 5
    assert {pair for pair in elements if pair[1] != "form"} == set()
