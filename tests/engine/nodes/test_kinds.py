"""Each kind declares what its nodes look like, and bears whatever a draft holds."""

import re
from itertools import product

import pytest

from config.env import ROOT
from tests.support.cases import for_each
from workflows.engine.appearance import Appearance
from workflows.engine.foreign_kinds.placeholders import FOREIGN_KINDS
from workflows.engine.kinds import AnyKind
from workflows.engine.language.document import Json
from workflows.engine.nodes import KNOWN_KINDS, NODE_KINDS, build_kinds, find_appearance


KINDS = pytest.mark.parametrize("kind", NODE_KINDS, ids=lambda kind: kind.name)
ICONS = set(re.findall(r'<symbol id="([a-z-]+)"', (ROOT / "static/icons.svg").read_text()))
CSS = (ROOT / "static/css/canvas-editor.css").read_text()
VALUES: list[Json] = [None, "", "x", 3, True, [], ["a", "b"], [["a"], ["b"]], {}, {"name": 1}, [{}]]


@KINDS
def test_kind_has_texts_and_a_place_in_the_palette(kind: AnyKind) -> None:
    assert kind.title
    assert kind.description
    assert kind.group in {"flow", "ai", "memory", "logic", "data", "tools"}


@for_each(
    "shown", list(dict.fromkeys(KNOWN_KINDS.values())), ids=lambda shown: type(shown).__name__
)
def test_icon_is_drawn_and_family_has_a_colour(shown: Appearance) -> None:
    assert shown.icon in ICONS
    assert shown.family == "data" or f".wf-{shown.family} .wf-icon" in CSS


@KINDS
def test_summary_and_labels_bear_every_value(kind: AnyKind) -> None:
    names = [field.name for field in kind.fields] or ["title"]
    for name, value in product(names, VALUES):
        assert all(part is not None for part in kind.summarize({name: value}))
        kind.label_handles({name: value})


def test_names_and_places_in_the_palette_are_taken_once() -> None:
    names = [name for kind in NODE_KINDS for name in (kind.name, *kind.aliases)]
    places = [(kind.group, kind.palette_order) for kind in NODE_KINDS if kind.palette_order < 100]

    assert len(names) == len({*names, *FOREIGN_KINDS}) - len(FOREIGN_KINDS)
    assert len(places) == len(set(places))


def test_kind_that_is_not_installed_keeps_its_appearance() -> None:
    without_memory = build_kinds(memory=False)

    shown = find_appearance("memory-recall", without_memory)

    assert "memory-recall" not in without_memory
    assert (shown.icon, shown.family) == ("recall", "memory")


def test_kind_that_nobody_knows_is_drawn_with_a_warning() -> None:
    shown = find_appearance("of a plug-in that is gone", build_kinds())

    assert (shown.icon, shown.family) == ("warning", "unknown")
