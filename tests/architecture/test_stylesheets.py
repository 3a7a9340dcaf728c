"""What a style rule costs, and whether there is anything it is for."""

import re
from functools import cache
from pathlib import Path

from django.conf import settings

from tests.support.cases import for_each


SHEETS = sorted((Path(settings.STATICFILES_DIRS[0]) / "css").rglob("*.css"))

# "* + *", "> * ~ *": who comes after whom, whoever they are. Adding an element then restyles all that follow it with
# all that is in them, which in the editor is the whole graph.
ANY_AFTER_ANY = re.compile(r"(?:^|[\s>+~,}])\*\s*[+~]\s*\*")


@for_each("sheet", SHEETS, ids=lambda sheet: sheet.name)
def test_no_rule_makes_every_addition_restyle_the_page(sheet: Path) -> None:
    rules = re.sub(r"/\*.*?\*/", "", sheet.read_text(), flags=re.DOTALL)
    selectors = re.findall(r"([^{};]+)\{", rules)
    assert [one.strip() for one in selectors if ANY_AFTER_ANY.search(one)] == []


def test_the_rule_is_recognised_when_it_is_there() -> None:
    assert ANY_AFTER_ANY.search(".body > * + *")
    assert not ANY_AFTER_ANY.search(".body > * + .more")


# A rule for fields that are read only spares those that lie over what is read, such as a prompt with its pills: their
# background would hide it.
OVER_PAPER = ":not(.insp-paper > *)"


@for_each("sheet", SHEETS, ids=lambda sheet: sheet.name)
def test_background_of_fields_that_are_read_only_hides_no_prompt(sheet: Path) -> None:
    rules = re.findall(
        r"([^{};]+)\{([^{}]*)\}", re.sub(r"/\*.*?\*/", "", sheet.read_text(), flags=re.S)
    )
    selectors = [
        one.strip()
        for selector, body in rules
        if re.search(r"\bbackground(?:-color)?:(?!\s*(?:none|transparent))", body)
        for one in re.split(r",(?![^()]*\))", selector)
    ]
    hiding = [one for one in selectors if one.endswith(":read-only")]
    assert [one for one in hiding if ".input" in one and ":not(:read-only" not in one] == []
    assert sheet.name != "inspector.css" or any(OVER_PAPER in one for one in selectors)


NO_COMMENTS = re.compile(r"/\*.*?\*/", re.DOTALL)


@cache
def _defined_properties() -> frozenset[str]:
    text = "".join(NO_COMMENTS.sub("", sheet.read_text()) for sheet in SHEETS)
    return frozenset(re.findall(r"(--[\w-]+)\s*:", text))


@for_each("sheet", SHEETS, ids=lambda sheet: sheet.name)
def test_every_custom_property_that_is_read_without_a_fallback_is_defined(sheet: Path) -> None:
    read = re.findall(r"var\((--[\w-]+)\s*\)", NO_COMMENTS.sub("", sheet.read_text()))

    assert sorted(set(read) - _defined_properties()) == []


# All sizes for fingers are in one sheet, which is loaded last, and none of them is smaller than one.
FINGERS = "touch.css"
SIZE_RULE = re.compile(r"([^{};]+)\{([^{}]*)\}")
SIZE = re.compile(r"(?<![\w-])(?:min-)?(?:width|height):\s*(\d+)px")
# What is larger to be hit than to be seen, by an element of its own around it.
DRAWN_SMALLER = (".copy-id", ".swatch", "a.pill")


def _coarse_blocks(text: str) -> list[str]:
    """Return what stands in the media queries for fingers."""
    blocks = []
    for start in re.finditer(r"@media[^{]*pointer: coarse[^{]*\{", text):
        depth, end = 1, start.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        blocks.append(text[start.end() : end - 1])
    return blocks


@for_each("sheet", SHEETS, ids=lambda sheet: sheet.name)
def test_sizes_for_fingers_are_in_one_sheet_and_none_is_below_that_of_a_finger(sheet: Path) -> None:
    rules = [
        (selector.strip(), int(size))
        for block in _coarse_blocks(NO_COMMENTS.sub("", sheet.read_text()))
        for selector, body in SIZE_RULE.findall(block)
        for size in SIZE.findall(body)
        if not any(name in selector for name in DRAWN_SMALLER)
    ]

    if sheet.name == FINGERS:
        assert [rule for rule in rules if rule[1] < 44] == []
    else:
        assert rules == []


# ``:empty`` is false for an element in which a template leaves a line break.
EMPTY = re.compile(r"\.([\w-]+):empty")


def test_what_a_rule_takes_for_empty_is_left_empty_by_its_template() -> None:
    names = {name for sheet in SHEETS for name in EMPTY.findall(sheet.read_text())}
    root = Path(__file__).parents[2] / "templates"
    wrong = []
    for template in root.rglob("*.html"):
        for tag, classes, _ in re.findall(
            r"<(\w+)\s[^<>]*class=\"([^\"]*)\"[^<>]*>(\s+\{% if [^%]*%\}.*?\{% endif %\}\s*)</\1>",
            template.read_text(),
            re.DOTALL,
        ):
            wrong += [f"{template.name}: {tag}.{name}" for name in names & set(classes.split())]

    assert wrong == []


# Where classes, ids and attributes of our pages are written.
WRITTEN_IN = ("templates", "static/js", "accounts", "memory", "workflows", "config")
ENDINGS = {".html", ".j2", ".svg", ".js", ".py"}
NAMED = re.compile(r"[.#\[]([A-Za-z_][\w-]*)")
WORD = re.compile(r"[A-Za-z_][\w-]*")
STEM = re.compile(
    r"([A-Za-z][\w-]*-)(?=\{|\$\{|\"\s*[+~])"
)  # "wf-note-{{ n.theme }}", `tok-${kind}`
OTHERS = {"htmx-request"}  # put there by htmx


@cache
def _written() -> str:
    root = Path(__file__).parents[2]
    files = (file for name in WRITTEN_IN for file in (root / name).rglob("*"))
    return "\n".join(file.read_text() for file in files if file.suffix in ENDINGS)


@cache
def _words() -> frozenset[str]:
    return frozenset(WORD.findall(_written()))


def _is_used(name: str) -> bool:
    if name in _words() or name in OTHERS or _in_script(name) in _words():
        return True
    stems = (stem for stem in _stems() if name.startswith(stem))
    return any((tail := name.removeprefix(stem)).isdigit() or tail in _words() for stem in stems)


@cache
def _stems() -> frozenset[str]:
    return frozenset(STEM.findall(_written()))


def _in_script(attribute: str) -> str:
    """``data-no-in`` is ``dataset.noIn`` there."""
    bare = attribute.removeprefix("data-")
    return re.sub(r"-(\w)", lambda found: found[1].upper(), bare) if bare != attribute else ""


@for_each("sheet", SHEETS, ids=lambda sheet: sheet.name)
def test_every_name_a_rule_is_for_is_written_somewhere(sheet: Path) -> None:
    rules = re.sub(r"/\*.*?\*/", "", sheet.read_text(), flags=re.DOTALL)
    selectors = re.findall(r"([^{};]+)\{", rules)
    named = {name for one in selectors for name in NAMED.findall(one)}
    assert sorted(name for name in named if not _is_used(name)) == []


def test_what_is_written_nowhere_is_not_used() -> None:
    assert _is_used("wf-note-blue")
    assert _is_used("data-no-in")
    assert not _is_used("wf-note-" + "mauvish")
    assert not _is_used("card-that-" + "never-was")
