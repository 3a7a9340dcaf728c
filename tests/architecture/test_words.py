"""Every text a script says is one the page can translate, and the page carries no others."""

import re
from functools import cache
from pathlib import Path

from workflows.views.editor.words import list_texts


SCRIPTS = Path(__file__).parents[2] / "static" / "js"
# t("…") with either kind of quotes; a text is always written out, never put together
SAID = re.compile(r"""\bt\(\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')""")
ANY_CALL = re.compile(r"\bt\(\s*[`A-Za-z_]")


@cache
def _scripts() -> dict[str, str]:
    return {
        str(path.relative_to(SCRIPTS)): path.read_text(encoding="utf-8")
        for path in SCRIPTS.rglob("*.js")
        if path.name != "translations.js"
    }


@cache
def _said() -> dict[str, str]:
    return {
        re.sub(r"\\(.)", r"\1", first or second): name
        for name, source in _scripts().items()
        if "translations.js" in source
        for first, second in SAID.findall(source)
    }


@cache
def _known() -> set[str]:
    return {text._args[0] for text in list_texts()}


def test_every_text_of_a_script_can_be_translated():
    missing = {text: name for text, name in _said().items() if text not in _known()}
    assert not missing


def test_no_text_is_handed_to_the_page_that_no_script_says():
    sources = "\n".join(_scripts().values())
    unsaid = {text for text in _known() if text not in _said() and text not in sources}
    assert not unsaid


def test_no_text_is_put_together_from_parts():
    """A translator needs whole sentences: a variable goes in as {name}."""
    built = {
        name for name, source in _scripts().items() if "`" in "".join(ANY_CALL.findall(source))
    }
    assert not built
