"""Changes JSON at a path: deletes, inserts or replaces values, as Dify's tools for JSON do."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Final

from workflows.engine.language.document import Json


_STEP: Final = re.compile(
    r"\.(?P<name>[A-Za-z_][\w-]*)|\.(?P<any>\*)|\[['\"](?P<quoted>[^'\"\]]+)['\"]\]"
    r"|\[(?P<index>-?\d+|\*)\]"
)
ANY: Final = "*"
MAX_TARGETS: Final = 10_000

Step = str | int
Parent = dict[str, Json] | list[Json]


def split_path(path: str) -> list[re.Match[str]]:
    """Return the steps of a JSONPath of names, indexes and stars. Raises ValueError for anything else."""
    rest = path.strip().removeprefix("$")
    if rest and rest[0] not in ".[":
        rest = f".{rest}"
    steps: list[re.Match[str]] = []
    position = 0
    while position < len(rest):
        step = _STEP.match(rest, position)
        if step is None:
            raise ValueError(
                f"The JSON filter {path[:100]!r} can't be used; only names, [0] and [*] can"
            )
        steps.append(step)
        position = step.end()
    return steps


def _read_step(step: re.Match[str]) -> Step:
    index = step["index"]
    if index is not None and index != ANY:
        return int(index)
    return ANY if step["any"] or index == ANY else step["name"] or step["quoted"]


def change(content: str, path: str, apply: Callable[[Parent, Step], None]) -> Json:
    """Return the JSON after the change of each place to which the path leads. Raises ValueError."""
    value, steps = json.loads(content), [*map(_read_step, split_path(path))]
    if not steps:
        raise ValueError("The path must name a part of the JSON")
    targets = [*_iter_targets(value, steps)]
    # From the end, so that deleting an item doesn't move those that follow.
    for parent, key in reversed(targets):
        apply(parent, key)
    return value


def _iter_targets(value: Json, steps: list[Step]) -> Iterator[tuple[Parent, Step]]:
    parents: list[Json] = [value]
    for step in steps[:-1]:
        parents = [part for parent in parents for part in _list_parts(parent, step)][:MAX_TARGETS]
    for parent in parents:
        if isinstance(parent, dict) and isinstance(steps[-1], str):
            names = [*parent] if steps[-1] == ANY else [steps[-1]]
            yield from ((parent, name) for name in names)
        elif isinstance(parent, list) and (steps[-1] == ANY or isinstance(steps[-1], int)):
            indexes = [*range(len(parent))] if steps[-1] == ANY else [steps[-1]]
            yield from ((parent, index) for index in indexes)


def _list_parts(parent: Json, step: Step) -> list[Json]:
    if step == ANY:
        return [*parent.values()] if isinstance(parent, dict) else list(parent or ())
    if isinstance(parent, dict) and step in parent:
        return [parent[step]]
    if isinstance(parent, list) and isinstance(step, int) and -len(parent) <= step < len(parent):
        return [parent[step]]
    return []


def delete(parent: Parent, key: Step) -> None:
    if _exists(parent, key):
        del parent[key]  # type: ignore[arg-type]  # the key fits the parent


def build_insertion(value: Json, index: int | None) -> Callable[[Parent, Step], None]:
    """Return a change that sets a member, or inserts an item into a list."""

    def insert(parent: Parent, key: Step) -> None:
        current = parent[key] if _exists(parent, key) else None  # type: ignore[index]
        if isinstance(current, list):
            current.insert(len(current) if index is None else index, value)
        elif isinstance(parent, dict):
            parent[str(key)] = value

    return insert


def build_replacement(replace: Callable[[Json], Json]) -> Callable[[Parent, Step], None]:
    """Return a change of each value that exists."""

    def set_value(parent: Parent, key: Step) -> None:
        if _exists(parent, key):
            parent[key] = replace(parent[key])  # type: ignore[index]

    return set_value


def build_renaming(name: str) -> Callable[[Parent, Step], None]:
    """Return a change that gives a member another name, at the same place."""

    def rename(parent: Parent, key: Step) -> None:
        if isinstance(parent, dict) and key in parent:
            items = [(name if each == key else each, value) for each, value in parent.items()]
            parent.clear()
            parent.update(items)

    return rename


def _exists(parent: Parent, key: Step) -> bool:
    if isinstance(parent, dict):
        return key in parent
    return isinstance(key, int) and -len(parent) <= key < len(parent)
