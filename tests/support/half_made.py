"""Documents as an editor leaves them between two clicks: valid ones in which a few fields are blank or not yet right.

``mutants`` damages documents anywhere. Here the document stays whole, and only settings of nodes are half-made.
"""

import copy
import random
from collections.abc import Callable, Sequence
from typing import Any

from tests.support.mutants import Tree, list_originals, list_parts


Json = Any

BLANKS: tuple[Json, ...] = (None, "", [], {}, " ", 0, False)
WRONG: tuple[Json, ...] = (
    *(
        True,
        -1,
        7,
        1.5,
        "x",
        "{{#start.#}}",
        [""],
        [7, "x"],
        ["start", 7],
        ["start"],
        ["ghost", "x"],
    ),
    *([[]], [{}], [None], {"": ""}, {"x": 1}, {"type": "x"}, [{"id": 1}], [["start", "text"]]),
)
BLANK_CONDITION: Tree = {"variable_selector": [], "comparison_operator": "is", "value": ""}
BLANK_ASSIGNMENT: Tree = {
    "variable_selector": [],
    "operation": "over-write",
    "input_type": "variable",
    "value": [],
}
BLANK_FILTER: Tree = {"key": "", "comparison_operator": "contains", "value": ""}
# Key of a list → the row that a button adds to it.
ROWS: dict[str, Json] = {
    "conditions": BLANK_CONDITION,
    "break_conditions": BLANK_CONDITION,
    "items": BLANK_ASSIGNMENT,
    "cases": {"case_id": "", "logical_operator": "and", "conditions": [BLANK_CONDITION]},
    "variables": {"variable": "", "value_selector": []},
    "outputs": {"variable": "", "value_selector": []},
    "loop_variables": {"label": "", "var_type": "string", "value_type": "constant", "value": ""},
    "classes": {"id": "", "name": ""},
    "parameters": {"name": "", "type": "string"},
    "inputs": {"type": "paragraph", "output_variable_name": ""},
    "user_actions": {"id": "", "title": ""},
    "prompt_template": {"role": "user", "text": ""},
    "tools": {"source": "builtin", "provider": "", "name": ""},
    "data": {"key": "", "type": "text", "value": ""},
}
OPERATORS: tuple[Json, ...] = ("near", "", None, 7, [], "is maybe", "GREATER")


def build_half_made(seed: int, originals: Sequence[Tree] | None = None) -> Tree:
    """Return the document of a seed, which is always the same for the same originals."""
    chance = random.Random(seed)
    tree = copy.deepcopy(chance.choice(originals or list_originals()))
    for _ in range(chance.choice((1, 1, 2, 3))):
        chance.choice(CLICKS)(tree, chance)
    return tree


def _set_field(tree: Tree, chance: random.Random) -> None:
    """Set a value anywhere in the settings of a node."""
    place = _choose_place(tree, chance)
    if place is not None:
        holder, key = place
        holder[key] = copy.deepcopy(chance.choice(chance.choice((BLANKS, WRONG))))


def _leave_out(tree: Tree, chance: random.Random) -> None:
    place = _choose_place(tree, chance)
    if place is not None:
        holder, key = place
        del holder[key]


def _add_row(tree: Tree, chance: random.Random) -> None:
    """Add a blank row to a list of a node, or a list with one blank row."""
    data = _choose_data(tree, chance)
    lists = [(holder, key) for holder, key in _iter_places(data) if key in ROWS]
    if lists and chance.random() < 0.7:
        holder, key = chance.choice(lists)
    else:
        holder, key = data, chance.choice([*ROWS])
    rows = holder.get(key)
    holder[key] = [*(rows if isinstance(rows, list) else ()), copy.deepcopy(ROWS[key])]


def _change_operator(tree: Tree, chance: random.Random) -> None:
    for holder, key in _iter_places(_choose_data(tree, chance)):
        if key in ("comparison_operator", "operation", "logical_operator", "write_mode"):
            holder[key] = copy.deepcopy(chance.choice(OPERATORS))


def _number_selector(tree: Tree, chance: random.Random) -> None:
    for holder, key in _iter_places(_choose_data(tree, chance)):
        value = holder[key]
        if str(key).endswith("selector") and isinstance(value, list) and value:
            value[chance.randrange(len(value))] = chance.choice((7, None, True, 1.5, [], {}))


def _rename_rows(tree: Tree, chance: random.Random) -> None:
    """Write a list under the name that another product has for it."""
    data = _choose_data(tree, chance)
    for name, other in (("items", "actions"), ("cases", "branches"), ("outputs", "variables")):
        if name in data:
            data[other] = data.pop(name)


CLICKS: tuple[Callable[[Tree, random.Random], None], ...] = (
    *(_set_field, _set_field, _set_field, _leave_out, _add_row, _add_row),
    *(_change_operator, _number_selector, _rename_rows),
)


def _choose_data(tree: Tree, chance: random.Random) -> Tree:
    """Return the settings of a node, or settings that nobody sees if the document has no node."""
    nodes = [node.get("data") for node in list_parts(tree, "nodes") if isinstance(node, dict)]
    whole = [data for data in nodes if isinstance(data, dict)]
    return chance.choice(whole) if whole else {}


def _choose_place(tree: Tree, chance: random.Random) -> tuple[Json, Json] | None:
    places = [place for place in _iter_places(_choose_data(tree, chance)) if place[1] != "type"]
    return chance.choice(places) if places else None


def _iter_places(value: Json) -> list[tuple[Json, Json]]:
    """Return each key and each index inside a value, with what holds it."""
    places: list[tuple[Json, Json]] = []
    pending = [value]
    while pending:
        holder = pending.pop()
        keys = [*holder] if isinstance(holder, dict) else range(len(holder))
        places += [(holder, key) for key in keys]
        pending += [holder[key] for key in keys if isinstance(holder[key], dict | list)]
    return places
