"""The mapping between the fields of an entry and its other forms: columns of the database, and JSON.

It is derived from the dataclasses in ``memory.core.records``: a new field of ``EntryContent`` or ``EntryState`` is
part of every form without a change here, unless its type is a new one.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, fields
from datetime import datetime
from enum import StrEnum
from operator import attrgetter
from typing import Any, Final, TypeVar, get_type_hints

from memory.core import records
from memory.core.records import Json, MemoryEntry, PromptUse, Source, StoreParams, Tier


R = TypeVar("R", MemoryEntry, StoreParams)
Convert = Callable[[Any], Any]  # from one form of a value to another
Names = tuple[str, ...]


def _list_field_names(record: type) -> Names:
    return tuple(field.name for field in fields(record))


CONTENT: Final = _list_field_names(records.EntryContent)
STATE: Final = _list_field_names(records.EntryState)
ENTRY: Final = _list_field_names(MemoryEntry)
PARAMS: Final = _list_field_names(StoreParams)
VALIDITY: Final = ("valid_from", "valid_until", "replaces", "replaced_by")


def get_state(source: object, names: Names = STATE) -> dict[str, Any]:
    """Return the fields of a database row, of a line of a file or of an entry as keyword arguments of an entry."""
    state = dict(zip(names, _GETTERS[names](source), strict=True))
    for name, enum in _ENUMS[names]:
        state[name] = enum(state[name])
    return state


def get_columns(source: object, names: Names = STATE) -> dict[str, Any]:
    """Return the fields of an entry, of a line of a file or of a database row as columns of a database row."""
    columns = dict(zip(names, _GETTERS[names](source), strict=True))
    for name, _enum in _ENUMS[names]:
        columns[name] = str(columns[name])
    columns["metadata"] = dict(columns["metadata"])
    return columns


def to_json(record: MemoryEntry | StoreParams, names: Iterable[str]) -> dict[str, Json]:
    """Return these fields of a record as JSON."""
    return {name: _convert(_ENCODERS, name, getattr(record, name)) for name in names}


def from_json(kind: type[R], document: Mapping[str, Json], **values: Any) -> R:
    """Build a record from JSON and further ``values``; raise KeyError, TypeError or ValueError if they are invalid."""
    decoded = {name: _convert(_DECODERS, name, value) for name, value in document.items()}
    return kind(**{**decoded, **values})


def read_content(document: Mapping[str, Json]) -> dict[str, Any]:
    """Return the fields of an entry's content in a JSON document, decoded."""
    names = [name for name in CONTENT if name in document]
    return {name: _convert(_DECODERS, name, document[name]) for name in names}


def _convert(conversions: Mapping[str, Convert], name: str, value: Any) -> Any:
    return conversions[name](value) if name in conversions else value


def _select_by_type(conversions: Mapping[object, Convert]) -> dict[str, Convert]:
    """Return the conversions by field name, chosen by the type of the field."""
    hints = {**get_type_hints(StoreParams), **get_type_hints(MemoryEntry)}
    return {name: conversions[hint] for name, hint in hints.items() if hint in conversions}


def _format_moment(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def _parse_moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


_ENCODERS: Final = _select_by_type(
    {
        Tier: str,
        PromptUse: str,
        Source: asdict,
        Mapping[str, Json]: dict,
        Mapping[str, float]: dict,
        datetime | None: _format_moment,
    }
)
_DECODERS: Final = _select_by_type(
    {
        Tier: Tier,
        PromptUse: PromptUse,
        Source: lambda source: Source(**source),
        datetime | None: _parse_moment,
    }
)
_GETTERS: Final = {names: attrgetter(*names) for names in (CONTENT, STATE, VALIDITY)}
_ENUMS: Final = {
    names: [
        (name, hint)
        for name, hint in get_type_hints(records.EntryState).items()
        if name in names and isinstance(hint, type) and issubclass(hint, StrEnum)
    ]
    for names in (CONTENT, STATE, VALIDITY)
}
