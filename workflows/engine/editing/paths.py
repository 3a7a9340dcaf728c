"""Reading and changing one place in a JSON value. Nothing is changed in place: what is on the way is copied."""

from collections.abc import Mapping
from typing import Final, TypeGuard

from workflows.engine.editing.errors import EditRefused, refuse
from workflows.engine.editing.ops import How, Path, Step
from workflows.engine.language.document import Json


class _Nothing:
    __slots__ = ()

    def __bool__(self) -> bool:
        return False


NOTHING: Final = _Nothing()  # null is a value


def look(tree: Json, path: Path) -> Json:
    """What stands at a path, or NOTHING."""
    for step in path:
        if not _has(tree, step):
            return NOTHING
        tree = tree[step]
    return tree


def changed(tree: Json, path: Path, value: Json, how: How, *, node: str | None = None) -> Json:
    """A copy with one place changed. Every container on the way must be there already."""
    step, rest = path[0], path[1:]
    if not rest:
        return _at_end(tree, step, value, how, node)
    if not _has(tree, step):
        raise _nowhere(path, node)
    inner = changed(tree[step], rest, value, how, node=node)
    return _put(tree, step, inner)


def undone_by(tree: Json, path: Path, how: How) -> tuple[How, Json]:
    """What takes the change back, seen before it is made."""
    former = look(tree, path)
    if how is How.INSERT or former is NOTHING:
        return How.REMOVE, None
    in_list = isinstance(look(tree, path[:-1]), list | tuple)
    return (How.INSERT if how is How.REMOVE and in_list else How.PUT), former


def settled(tree: Json, path: Path, value: Json, how: How) -> tuple[Path, Json, How] | None:
    """The change as one whose containers are all there; None when it changes nothing.

    Missing objects on the way are made; putting behind the end of a list is an insertion.
    """
    former = look(tree, path)
    if how is How.PUT and former is not NOTHING and same(former, value):
        return None
    if how is How.REMOVE and former is NOTHING:
        return None
    for cut in range(1, len(path)):
        if look(tree, path[:cut]) is NOTHING and all(isinstance(s, str) for s in path[cut:]):
            for step in reversed(path[cut:]):
                value = {step: value}
            path, how = path[:cut], How.PUT
            break
    home = look(tree, path[:-1])
    if how is How.PUT and isinstance(home, list | tuple) and path[-1] == len(home):
        how = How.INSERT
    return path, value, how


def same(one: Json, other: Json) -> bool:
    """Equal as JSON: True is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def written(path: Path) -> str:
    return ".".join(map(str, path))


def _at_end(tree: Json, step: Step, value: Json, how: How, node: str | None) -> Json:
    if how is How.PUT:
        if (isinstance(tree, Mapping) and isinstance(step, str)) or _has(tree, step):
            return _put(tree, step, value)
    elif how is How.REMOVE:
        if _has(tree, step):
            return _without(tree, step)
    elif isinstance(tree, list | tuple) and _is_index(step) and step <= len(tree):
        return [*tree[:step], value, *tree[step:]]
    raise _nowhere((step,), node)


def _put(tree: Json, step: Step, value: Json) -> Json:
    if isinstance(tree, Mapping):
        return {**tree, step: value}
    return [*tree[:step], value, *tree[step + 1 :]]  # type: ignore[operator]  # an index, by _has


def _without(tree: Json, step: Step) -> Json:
    if isinstance(tree, Mapping):
        return {key: value for key, value in tree.items() if key != step}
    return [*tree[:step], *tree[step + 1 :]]  # type: ignore[operator]  # an index, by _has


def _has(tree: Json, step: Step) -> bool:
    if isinstance(tree, Mapping):
        return isinstance(step, str) and step in tree
    return isinstance(tree, list | tuple) and _is_index(step) and step < len(tree)


def _is_index(step: Step) -> TypeGuard[int]:
    return isinstance(step, int) and not isinstance(step, bool) and step >= 0


def _nowhere(path: Path, node: str | None) -> EditRefused:
    message = f"{written(path)} can't be changed this way"
    return refuse("path", message, node=node, field=written(path))
