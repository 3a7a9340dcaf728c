"""Every option of every form of every node kind: labels for people, in both languages, and no value of the program."""

import copy
import re
from collections.abc import Iterator
from html import unescape
from itertools import cycle, islice
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.utils import translation

from tests.workflows.panel_context import build_panel_context
from workflows.engine.initial_values import collect_initial_data
from workflows.engine.kind_examples import build_example_data
from workflows.engine.language.document import Document, Mode, NodeSpec
from workflows.engine.nodes import build_kinds


KINDS = build_kinds()
OPTION = re.compile(r"<option\b[^>]*>(.*?)</option>", re.S)
# What Python writes for its values.
PYTHON = re.compile(
    r"""^[\[{(]|['"]\w*['"]\s*[:,\]]|^(?:True|False)$|\b(?:dict|tuple)\b|object at 0x"""
)
# Names of keys and values of documents, such as "function_call".
RAW = re.compile(r"[a-z0-9]_[a-z]")
# Names that are the same in every language, types of contents, and signs.
SAME = re.compile(r"[^a-z]*|Basic|Python 3.*|JavaScript|Jinja2|ReAct|default|[a-z]+/[a-z.+-]+")
# A wrong document may have any of these in the place of any value.
ODD: tuple[Any, ...] = ({"type": {"x": None}}, ["x", {"y": 2}], True)


def read_options(name: str, data: dict[str, Any]) -> list[str]:
    """Return the texts of all options of the node's form, those of blank rows among them."""
    start = NodeSpec("start", "start", {"type": "start", "title": "Start"})
    node = NodeSpec("n", name, {"type": name, "title": "Node", **data})
    document = Document(Mode.CHAT, (start, node), ())
    html = render_to_string("inspector/_node.html", build_panel_context(document, node))
    return [unescape(re.sub(r"<[^>]*>", "", text)).strip() for text in OPTION.findall(html)]


def iter_data(name: str, most: int) -> Iterator[dict[str, Any]]:
    """Yield the settings of a new node, of an example and of nodes with an odd value somewhere.

    The places take turns with the odd values; each has at most so many.
    """
    kind = KINDS[name]
    example = {
        **{f.name: copy.deepcopy(f.default) for f in kind.fields if f.default},
        **build_example_data(kind),
    }
    yield collect_initial_data(kind.fields)
    yield example
    for number, path in enumerate(iter_paths(example, ())):
        for odd in islice(cycle(ODD), number, number + most):
            yield put(example, path, odd)


def iter_paths(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    steps = (
        [*value]
        if isinstance(value, dict)
        else range(len(value))
        if isinstance(value, list)
        else ()
    )
    for step in steps:
        yield (*path, step)
        yield from iter_paths(value[step], (*path, step))


def put(tree: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(tree)
    holder = changed
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    return changed


@pytest.mark.parametrize("name", sorted({kind.name for kind in KINDS.values()}))
@pytest.mark.parametrize(
    "most",
    [pytest.param(1, id="in turn"), pytest.param(len(ODD), id="all", marks=pytest.mark.nightly)],
)
def test_no_menu_of_a_form_shows_a_value_of_the_program(name: str, most: int):
    for data in iter_data(name, most):
        raw = [text for text in read_options(name, data) if PYTHON.search(text)]
        assert raw == [], data


@pytest.mark.parametrize("name", sorted({kind.name for kind in KINDS.values()}))
def test_options_of_a_new_node_are_labels_in_both_languages(name: str):
    data = collect_initial_data(KINDS[name].fields)

    english = read_options(name, data)
    with translation.override("zh-hans"):
        chinese = read_options(name, data)

    assert [text for text in english if RAW.search(text)] == []
    untranslated = {
        text
        for text, translated in zip(english, chinese, strict=True)
        if text == translated and not SAME.fullmatch(text)
    }
    assert untranslated == set()
