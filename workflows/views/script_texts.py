"""The translatable texts of the scripts; a page contains their translations."""

import re
from functools import cache
from pathlib import Path

from django.contrib.staticfiles import finders
from django.utils.translation import get_language, gettext


# t("English text"), with either kind of quotes; a test checks that a script writes each text out.
_CALL = re.compile(r"""\bt\(\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')""")


@cache
def list_texts(pattern: str = "**/*.js") -> tuple[str, ...]:
    """Return the texts of the scripts in ``static/js`` that match the pattern. The result is cached."""
    files = sorted(Path(str(finders.find("js"))).glob(pattern))
    calls = (call for file in files for call in _CALL.findall(file.read_text(encoding="utf-8")))
    texts = (double_quoted or single_quoted for double_quoted, single_quoted in calls)
    return tuple(dict.fromkeys(re.sub(r"\\(.)", r"\1", text) for text in texts))


def translate_texts(pattern: str = "**/*.js") -> dict[str, str]:
    """Return the texts of the matching scripts with their translations; none if the language is English."""
    if (get_language() or "en").startswith("en"):
        return {}
    return {text: gettext(text) for text in list_texts(pattern)}
