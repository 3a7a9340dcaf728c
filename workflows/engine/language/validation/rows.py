"""Warns of rows that were added to a list or a table and left empty, each at the control that lacks its value."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from workflows.engine.configuration import Field, Widget
from workflows.engine.field_labels import build_field_label
from workflows.engine.kinds import AnyKind
from workflows.engine.language.document import Json, NodeSpec
from workflows.engine.language.problems import Problem, build_warning


Path = tuple[int | str, ...]
# The path inside a field's value of something that is missing, and what to do about it.
Gap = tuple[Path, str]

_ENTER: Final = "enter a value"
_CHOOSE: Final = "choose a variable"
# The fields of a prompt message that the model reads: plain text or a Jinja2 template.
_MESSAGE_FIELDS: Final = ("text", "jinja2_text")
# The types of a body that are written in rows.
_PAIR_TYPES: Final = ("form-data", "x-www-form-urlencoded")


def find_empty_rows(node: NodeSpec, kind: AnyKind) -> Iterator[Problem]:
    """Yield a warning for each row that lacks what it needs. A row of a table that is all empty has no effect."""
    for path, field, value in _iter_values(kind.fields, node.data):
        for inner_path, advice in _FINDERS[field.widget](value):
            where = (*path, *inner_path)
            message = f"{build_field_label(where, kind.fields)}: {advice}"
            yield build_warning(
                "config.empty", message, node=node.id, field=".".join(map(str, where))
            )


def _iter_values(
    fields: tuple[Field, ...], data: Mapping[str, Json], parents: Path = ()
) -> Iterator[tuple[Path, Field, Json]]:
    for field in fields:
        value = data.get(field.name)
        if field.widget in _FINDERS and value:
            yield (*parents, field.name), field, value
        elif field.fields and isinstance(value, Mapping):
            yield from _iter_values(field.fields, value, (*parents, field.name))


def _find_rows_without(*keys: str) -> Callable[[Json], Iterator[Gap]]:
    """Return a finder of the rows that have none of these keys; the first one is that of the form."""

    def find(rows: Json) -> Iterator[Gap]:
        for number, row in _iter_rows(rows):
            if isinstance(row, Mapping) and all(is_blank(row.get(key)) for key in keys):
                yield (number, keys[0]), _ENTER

    return find


def _find_half_outputs(rows: Json) -> Iterator[Gap]:
    """Yield the rows without a name, and those of a variable that is not chosen. A constant needs no variable."""
    yield from _find_rows_without("variable")(rows)
    for number, row in _iter_rows(rows):
        if isinstance(row, Mapping) and not is_blank(row.get("variable")):
            is_unchosen = "value_selector" in row and is_blank(row["value_selector"])
            if is_unchosen and is_blank(row.get("value")):
                yield (number, "value_selector"), _CHOOSE


def _find_unchosen_items(selectors: Json) -> Iterator[Gap]:
    for number, selector in _iter_rows(selectors):
        if is_blank(selector):
            yield (number,), _CHOOSE


def _find_unchosen_entries(selectors: Json) -> Iterator[Gap]:
    if isinstance(selectors, Mapping):
        for name, selector in selectors.items():
            if is_blank(selector):
                yield (name,), _CHOOSE


def _find_unnamed_groups(settings: Json) -> Iterator[Gap]:
    if isinstance(settings, Mapping) and settings.get("group_enabled"):
        for path, advice in _find_rows_without("group_name")(settings.get("groups")):
            yield ("groups", *path), advice


def _find_nameless_pairs(source: Json) -> Iterator[Gap]:
    """Yield the pairs that have a value and no name: a request is sent without them."""
    if isinstance(source, str):
        lines = [line for line in source.splitlines() if line.strip()]
        rows: Json = [
            {"key": key, "value": value} for key, _colon, value in (x.partition(":") for x in lines)
        ]
    else:
        rows = source
    for number, row in _iter_rows(rows):
        if (
            isinstance(row, Mapping)
            and is_blank(row.get("key"))
            and not (is_blank(row.get("value")) and is_blank(row.get("file")))
        ):
            yield (number, "key"), _ENTER


def _find_nameless_fields(body: Json) -> Iterator[Gap]:
    if isinstance(body, Mapping) and body.get("type") in _PAIR_TYPES:
        for path, advice in _find_nameless_pairs(body.get("data")):
            yield ("data", *path), advice


def _iter_rows(rows: Json) -> Iterator[tuple[int, Json]]:
    return enumerate(rows if isinstance(rows, list | tuple) else ())


def is_blank(value: Json) -> bool:
    """Return whether a value is empty, as a list of messages without text is, too."""
    if isinstance(value, str):
        return not value.strip()
    if isinstance(value, Mapping) and "role" in value:
        return all(is_blank(part) for name, part in value.items() if name in _MESSAGE_FIELDS)
    if isinstance(value, list | tuple):
        return all(is_blank(item) for item in value)
    return value is None or value == {}


# Widget of a list or table → the finder of what its rows lack. Conditions and assignments are checked by their kinds.
_FINDERS: Final[Mapping[Widget, Callable[[Json], Iterator[Gap]]]] = {
    Widget.BODY: _find_nameless_fields,
    Widget.CLASSES: _find_rows_without("name", "label"),
    Widget.FORM_FIELDS: _find_rows_without("variable"),
    Widget.GROUPS: _find_unnamed_groups,
    Widget.KEY_VALUES: _find_nameless_pairs,
    Widget.OUTPUTS: _find_half_outputs,
    Widget.SELECTOR_MAP: _find_unchosen_entries,
    Widget.SELECTORS: _find_unchosen_items,
}
