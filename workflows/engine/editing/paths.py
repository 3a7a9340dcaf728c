"""Reads and changes one path in a JSON value. Changes return a copy in which the containers on the path are new."""

from collections.abc import Mapping
from typing import Final, TypeGuard

from workflows.engine.editing.errors import EditRefused, build_refusal
from workflows.engine.editing.ops import ChangeRule, Path, Step
from workflows.engine.language.document import Json


class _Absent:
    __slots__ = ()

    def __bool__(self) -> bool:
        return False


ABSENT: Final = _Absent()  # null is a value


def get_value(tree: Json, path: Path) -> Json:
    """Return the value at a path, or ABSENT."""
    for step in path:
        if not _has_member(tree, step):
            return ABSENT
        tree = tree[step]
    return tree


def change_value(
    tree: Json, path: Path, value: Json, rule: ChangeRule, *, node: str | None = None
) -> Json:
    """Return a copy with one path changed. Raises EditRefused unless every container on the path exists."""
    step, inner_path = path[0], path[1:]
    if not inner_path:
        return _change_member(tree, step, value, rule, node)
    if not _has_member(tree, step):
        raise _build_path_error(path, node)
    inner = change_value(tree[step], inner_path, value, rule, node=node)
    return _replace_member(tree, step, inner)


def invert_change(tree: Json, path: Path, rule: ChangeRule) -> tuple[ChangeRule, Json]:
    """Return the rule and value that revert a change, computed before it is made."""
    previous = get_value(tree, path)
    if rule is ChangeRule.INSERT or previous is ABSENT:
        return ChangeRule.REMOVE, None
    in_list = isinstance(get_value(tree, path[:-1]), list | tuple)
    is_insertion = rule is ChangeRule.REMOVE and in_list
    return ChangeRule.INSERT if is_insertion else ChangeRule.PUT, previous


def normalize_change(
    tree: Json, path: Path, value: Json, rule: ChangeRule
) -> tuple[Path, Json, ChangeRule] | None:
    """Return the change so that ``change_value`` accepts it, or None when it changes nothing.

    Missing objects on the path become part of the value. Putting a value behind the end of a list is an insertion.
    """
    previous = get_value(tree, path)
    if rule is ChangeRule.PUT and previous is not ABSENT and is_same(previous, value):
        return None
    if rule is ChangeRule.REMOVE and previous is ABSENT:
        return None
    for length in range(1, len(path)):
        if get_value(tree, path[:length]) is ABSENT and all(
            isinstance(s, str) for s in path[length:]
        ):
            for step in reversed(path[length:]):
                value = {step: value}
            path, rule = path[:length], ChangeRule.PUT
            break
    parent = get_value(tree, path[:-1])
    if rule is ChangeRule.PUT and isinstance(parent, list | tuple) and path[-1] == len(parent):
        rule = ChangeRule.INSERT
    return path, value, rule


def is_same(value: Json, other: Json) -> bool:
    """Return whether two values are equal as JSON, where True is not 1."""
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        return value.keys() == other.keys() and all(
            is_same(value[key], other[key]) for key in value
        )
    if isinstance(value, list | tuple) and isinstance(other, list | tuple):
        return len(value) == len(other) and all(map(is_same, value, other))
    return bool(value == other)


def format_path(path: Path) -> str:
    return ".".join(map(str, path))


def _change_member(tree: Json, step: Step, value: Json, rule: ChangeRule, node: str | None) -> Json:
    if rule is ChangeRule.PUT:
        if (isinstance(tree, Mapping) and isinstance(step, str)) or _has_member(tree, step):
            return _replace_member(tree, step, value)
    elif rule is ChangeRule.REMOVE:
        if _has_member(tree, step):
            return _remove_member(tree, step)
    elif isinstance(tree, list | tuple) and _is_index(step) and step <= len(tree):
        return [*tree[:step], value, *tree[step:]]
    raise _build_path_error((step,), node)


def _replace_member(tree: Json, step: Step, value: Json) -> Json:
    if isinstance(tree, Mapping):
        return {**tree, step: value}
    return [*tree[:step], value, *tree[step + 1 :]]  # type: ignore[operator]  # an index, by _has_member


def _remove_member(tree: Json, step: Step) -> Json:
    if isinstance(tree, Mapping):
        return {key: value for key, value in tree.items() if key != step}
    return [*tree[:step], *tree[step + 1 :]]  # type: ignore[operator]  # an index, by _has_member


def _has_member(tree: Json, step: Step) -> bool:
    if isinstance(tree, Mapping):
        return isinstance(step, str) and step in tree
    return isinstance(tree, list | tuple) and _is_index(step) and step < len(tree)


def _is_index(step: Step) -> TypeGuard[int]:
    return isinstance(step, int) and not isinstance(step, bool) and step >= 0


def _build_path_error(path: Path, node: str | None) -> EditRefused:
    message = f"{format_path(path)} can't be changed this way"
    return build_refusal("path", message, node=node, field=format_path(path))
