"""Templates are formatted by djangofmt (`make fix`), which can't break every line; none is longer than this."""

from config.env import ROOT


LONGEST_LINE = 160


def test_no_line_of_a_template_is_too_long():
    too_long = [
        f"{path.relative_to(ROOT)}:{number}"
        for folder in ("templates", "config/templates")
        for path in sorted((ROOT / folder).rglob("*.html"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > LONGEST_LINE
    ]

    assert too_long == []
