"""Whatever stands in one place of a node's settings, the document is read, checked and shown, or refused with a sentence."""

import copy
import json
from collections.abc import Iterator
from functools import cache
from itertools import cycle, islice
from typing import Any

import pytest

from tests.support.mutants import Tree, list_originals
from tests.workflows.test_mutated_documents import examine, list_exported
from workflows.engine.kind_examples import build_example_data
from workflows.engine.language.dsl import load_document
from workflows.execution.kinds import load_kinds


ODD_VALUES: tuple[Any, ...] = (None, 7, [], [["a"]])
BY_DAY = 2  # of them in each place, which take turns
MORE_VALUES: tuple[Any, ...] = ("x", {}, ["start", 7], {"a": 1}, True, [None], -1.5)
MAX_SIZE = 6_000  # characters of the settings of a node
MAX_DEPTH = 6
# What an agent's tool has if its argument is a variable; no document here has one.
AGENT_TOOL = {
    "source": "builtin",
    "name": "web_page",
    "settings": {
        "url": {"type": "variable", "value": ["start", "q"]},
        "text": {"type": "mixed", "value": "{{#start.q#}}"},
    },
}

Path = tuple[str | int, ...]


@cache
def collect_settings() -> dict[str, list[dict[str, Any]]]:
    """Return for each kind of node its example, and the largest settings that a document here has."""
    largest: dict[str, str] = {}
    for tree in (*list_originals(), *list_exported()):
        for node in load_document(tree, confirm_newer=True).document.nodes:
            text = json.dumps(dict(node.data), default=str)
            if len(largest.get(node.kind, "")) < len(text) < MAX_SIZE:
                largest[node.kind] = text
    settings = {name: [build_example_data(kind)] for name, kind in load_kinds().items()}
    for name, text in largest.items():
        settings.setdefault(name, []).append(json.loads(text))
    settings["agent"].append({**settings["agent"][0], "tools": [AGENT_TOOL]})
    return settings


def list_paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of each member, and of the first item of each list."""
    if len(path) > MAX_DEPTH:
        return
    members = value.items() if isinstance(value, dict) else ()
    items = enumerate(value[:1]) if isinstance(value, list | tuple) else ()
    for key, member in (*members, *items):
        yield (*path, key)
        yield from list_paths(member, (*path, key))


def replace(settings: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    changed: dict[str, Any] = copy.deepcopy(settings)
    place: Any = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return changed


def build(settings: dict[str, Any]) -> Tree:
    """Return a chat with a node of these settings behind a request to a stranger's server."""
    nodes: list[dict[str, Any]] = [
        {"type": "start", "variables": [{"variable": "q", "type": "paragraph"}]},
        {"type": "http-request", "method": "get", "url": "https://x.test"},
        settings,
        {"type": "answer", "answer": "{{#n2.text#}}{{#n1.body#}}"},
    ]
    return {
        "version": "0.6.0",
        "kind": "app",
        "app": {"name": "Odd", "mode": "advanced-chat"},
        "workflow": {
            "graph": {
                "nodes": [
                    {"id": "start" if data["type"] == "start" else f"n{number}", "data": {"title": "N", **data}}
                    for number, data in enumerate(nodes)
                ],
                "edges": [
                    {"id": "a", "source": "start", "target": "n1"},
                    {"id": "b", "source": "n1", "target": "n2"},
                    {"id": "c", "source": "n2", "target": "n3"},
                ],
            }
        },
    }  # fmt: skip


def examine_all(name: str, values: tuple[Any, ...], *, most: int, shown: bool) -> int:
    count, turn = 0, cycle(values)
    for settings in collect_settings()[name]:
        for path in list_paths(settings):
            if path == ("type",):
                continue
            for value in islice(turn, most):
                try:
                    examine(build(replace(settings, path, value)), shown=shown)
                except Exception as error:
                    raise AssertionError(f"{path} = {value!r} raised {error!r}") from error
                count += 1
    return count


@pytest.mark.parametrize("name", sorted(load_kinds()))
def test_odd_value_in_any_place_of_a_node_s_settings_is_read(name: str) -> None:
    assert examine_all(name, ODD_VALUES, most=BY_DAY, shown=False) > 0


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(load_kinds()))
def test_odd_value_in_any_place_of_a_node_s_settings_is_shown(name: str) -> None:
    values = (*ODD_VALUES, *MORE_VALUES)

    assert examine_all(name, values, most=len(values), shown=True) > 0
