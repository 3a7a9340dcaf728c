"""Scripts import what they use and export what others use: there is no bundler to complain."""

import re
from collections import defaultdict
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles import finders


ROOT = Path(settings.STATICFILES_DIRS[0]) / "js"
SOURCES = {
    file: re.sub(r"/\*.*?\*/|(?<![:\"'])//[^\n]*", "", file.read_text(), flags=re.DOTALL)
    for file in ROOT.rglob("*.js")
}
IMPORT = re.compile(r"""import\s+(?:\{([^}]*)\}|\*\s*as\s+(\w+))\s+from\s+"([^"]+)";""")
HTMX_EVENT = re.compile(r"\bhtmx:[a-zA-Z]+(?::[a-zA-Z]+)*")
TEMPLATES = Path(settings.TEMPLATES[0]["DIRS"][0])
EXPORT = re.compile(r"^export\s+(?:async\s+)?(?:const|let|function\*?|class)\s+(\w+)", re.MULTILINE)
# What the parity test asks of the twins of workflows/engine/geometry.py and drawing/edge_routes.py.
ASKED_BY_TESTS = {("canvas/geometry.js", name) for name in ("ROW_HEIGHT", "FOOTER_HEIGHT")} | {
    ("canvas/edge_routes.js", name)
    for name in ("LEAD", "LANE", "CLEARANCE", "REACH", "CORNER", "SAMPLES")
}


def _imports(file: Path) -> list[tuple[Path, str, str]]:
    """(from where, what, as what); ``*`` for all of a module."""
    found = []
    for names, everything, place in IMPORT.findall(SOURCES[file]):
        target = (file.parent / place).resolve()
        if everything:
            found.append((target, "*", everything))
        for name in filter(None, (one.strip() for one in names.split(","))):
            there, _, here = name.partition(" as ")
            found.append((target, there, here or there))
    return found


def test_every_import_is_used() -> None:
    unused = []
    for file in SOURCES:
        body = IMPORT.sub("", SOURCES[file])
        for _target, _there, here in _imports(file):
            if not re.search(rf"(?<![\w$#])(?<!(?<!\.)\.){here}\b", body):
                unused.append((str(file.relative_to(ROOT)), here))
    assert unused == []


def test_every_import_is_there() -> None:
    missing = [
        (str(file.relative_to(ROOT)), there)
        for file in SOURCES
        for target, there, _here in _imports(file)
        if target not in SOURCES or (there != "*" and there not in EXPORT.findall(SOURCES[target]))
    ]
    assert missing == []


def test_script_of_every_page_imports_nothing_before_the_import_map_of_the_editor() -> None:
    """A browser takes a module that is there already out of the map, and says so in its console."""
    assert _imports(ROOT / "app.js") == []


def test_every_export_is_wanted_by_another_module() -> None:
    wanted: dict[Path, set[str]] = defaultdict(set)
    for file in SOURCES:
        for target, there, here in _imports(file):
            wanted[target].add(there)
            if there == "*":  # of a list of features, what all of them have
                wanted[target] |= set(re.findall(r"\.(\w+)\(", SOURCES[file]))
                wanted[target] |= set(re.findall(rf"\b{here}\.(\w+)", SOURCES[file]))
    unwanted = {
        (str(file.relative_to(ROOT)), name)
        for file in SOURCES
        for name in EXPORT.findall(SOURCES[file])
        if name not in wanted[file]
    }
    assert unwanted - ASKED_BY_TESTS == set()


def test_events_of_htmx_are_those_of_its_version() -> None:
    """A listener to the name of another version, such as ``htmx:afterSettle``, is never called."""
    named = {
        (file.name, event)
        for files in (ROOT.rglob("*.js"), TEMPLATES.rglob("*.html"))
        for file in files
        for event in HTMX_EVENT.findall(file.read_text())
    }

    assert len(named) > 3
    assert {pair for pair in named if pair[1] not in _events_of_htmx()} == set()


def _events_of_htmx() -> set[str]:
    version = re.findall(r"htmx_script version=(\d)", (TEMPLATES / "base.html").read_text())
    file = finders.find(f"django_htmx/htmx-{version[0]}.js")
    assert isinstance(file, str)
    return set(HTMX_EVENT.findall(Path(file).read_text()))
