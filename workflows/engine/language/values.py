"""The types of workflow values: inferring them, checking them, parsing them from text.

Values are plain JSON values and are never changed in place, because variable pools share them. A file is an object
that names its kind of file and its transfer method (see ``is_file``).
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Final

from workflows.engine.errors import ValueMismatch
from workflows.engine.language.document import Json


class ValueType(StrEnum):
    STRING = "string"
    NUMBER = "number"  # the displayed name of integer and float
    INTEGER = "integer"
    FLOAT = "float"
    BOOLEAN = "boolean"
    OBJECT = "object"
    SECRET = "secret"  # noqa: S105 — text, masked wherever it is shown
    FILE = "file"
    ARRAY_ANY = "array[any]"
    ARRAY_STRING = "array[string]"
    ARRAY_NUMBER = "array[number]"
    ARRAY_OBJECT = "array[object]"
    ARRAY_FILE = "array[file]"
    ARRAY_BOOLEAN = "array[boolean]"
    NONE = "none"
    ANY = "any"

    @property
    def is_array(self) -> bool:
        return self in ELEMENTS

    @property
    def is_number(self) -> bool:
        return self in NUMBERS


NUMBERS: Final = frozenset({ValueType.NUMBER, ValueType.INTEGER, ValueType.FLOAT})

# Array type → type of its elements.
ELEMENTS: Final[Mapping[ValueType, ValueType]] = {
    ValueType.ARRAY_ANY: ValueType.ANY,
    ValueType.ARRAY_STRING: ValueType.STRING,
    ValueType.ARRAY_NUMBER: ValueType.NUMBER,
    ValueType.ARRAY_OBJECT: ValueType.OBJECT,
    ValueType.ARRAY_FILE: ValueType.FILE,
    ValueType.ARRAY_BOOLEAN: ValueType.BOOLEAN,
}

# Type → type of an array of such values.
ARRAYS: Final[Mapping[ValueType, ValueType]] = {
    **{element: array for array, element in ELEMENTS.items() if element is not ValueType.ANY},
    **dict.fromkeys(NUMBERS, ValueType.ARRAY_NUMBER),
}

# Other spellings in existing documents, besides the canonical names.
ALIASES: Final[Mapping[str, ValueType]] = {
    "bool": ValueType.BOOLEAN,
    "int": ValueType.INTEGER,
    "str": ValueType.STRING,
    "text": ValueType.STRING,
    "null": ValueType.NONE,
    "array": ValueType.ARRAY_ANY,
    "array[bool]": ValueType.ARRAY_BOOLEAN,
    "array[integer]": ValueType.ARRAY_NUMBER,
    "array[float]": ValueType.ARRAY_NUMBER,
}

FILE_MARKER: Final = "__dify__file__"
FILE_KINDS: Final = frozenset({"image", "document", "audio", "video", "custom"})
TRANSFER_METHODS: Final = frozenset({"local_file", "remote_url", "tool_file", "datasource_file"})

# Attribute of a file → the keys that may hold it, preferred first.
FILE_ATTRIBUTES: Final[Mapping[str, tuple[str, ...]]] = {
    "type": ("type",),
    "size": ("size",),
    "name": ("name", "filename"),
    "mime_type": ("mime_type",),
    "transfer_method": ("transfer_method",),
    "url": ("url", "remote_url"),
    "extension": ("extension",),
    "related_id": ("related_id", "upload_file_id"),
}


def parse_type(type_name: str) -> ValueType | None:
    """Return the type with a name, in any case or known spelling, or None if there is none."""
    name = type_name.strip().lower()
    try:
        return ValueType(name)
    except ValueError:
        return ALIASES.get(name)


def is_file(value: Json) -> bool:
    if not isinstance(value, Mapping):
        return False
    if value.get("dify_model_identity") == FILE_MARKER:
        return True
    method, kind = value.get("transfer_method"), value.get("type")
    if not isinstance(method, str) or not isinstance(kind, str):
        return False
    return method in TRANSFER_METHODS and kind in FILE_KINDS


def get_file_attribute(file: Mapping[str, Json], name: str) -> Json:
    """Return one attribute of a file, None when the file has none. Unknown names raise KeyError."""
    for key in FILE_ATTRIBUTES[name]:
        if file.get(key) is not None:
            return file[key]
    return None


def infer_type(value: Json) -> ValueType:
    """Return the type of a value. Raises ValueMismatch for anything but a JSON value."""
    scalar_type = _SCALAR_TYPES.get(type(value))
    if scalar_type is not None:
        return scalar_type
    if isinstance(value, Mapping):
        return ValueType.FILE if is_file(value) else ValueType.OBJECT
    if isinstance(value, list | tuple):
        return _infer_array(value)
    raise ValueMismatch(f"A {type(value).__name__} is not a workflow value")


def matches(value: Json, expected: ValueType) -> bool:
    """Return whether a value is of the expected type. An empty list is of every array type."""
    return _CHECKS[expected](value)


def build_zero_value(value_type: ValueType) -> Json:
    """Return a new empty value of a type: "", 0, false, {} or [], or null if the type has none."""
    return _ZERO_FACTORIES[value_type]()


def parse_constant(value: Json, value_type: ValueType) -> Json:
    """Return a constant of a document as a value of its type.

    Text for a type that isn't text is parsed: numbers as numbers, everything else as JSON. Raises ValueMismatch when
    the result isn't of the type.
    """
    is_parsed = isinstance(value, str) and value_type not in _TEXT_TYPES
    parsed = _parse_text(value, value_type) if is_parsed else value
    if not matches(parsed, value_type):
        raise ValueMismatch(f"Expected {value_type}, got {describe_type(parsed)}")
    return parsed


def parse_number(text: str) -> int | float:
    """Return ``"12"`` as 12 and ``"1.5"`` as 1.5. Raises ValueMismatch for words, NaN and infinities."""
    try:
        number: int | float = int(text)
    except ValueError:
        try:
            number = float(text)
        except ValueError:
            raise ValueMismatch(f"{_shorten(text)} is not a number") from None
    if isinstance(number, float) and not math.isfinite(number):
        raise ValueMismatch(f"{_shorten(text)} is not a finite number")
    return number


def describe_type(value: Json) -> str:
    """Return a value's type in words, for messages."""
    try:
        return str(infer_type(value))
    except ValueMismatch:
        return type(value).__name__


def to_json(value: Json, *, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _build_array_check(check: Callable[[Json], bool]) -> Callable[[Json], bool]:
    def is_array(value: Json) -> bool:
        return isinstance(value, list | tuple) and all(map(check, value))

    return is_array


def _infer_array(items: Sequence[Json]) -> ValueType:
    types = {infer_type(item) for item in items}
    if len(types) == 1:
        return ARRAYS.get(types.pop(), ValueType.ARRAY_ANY)
    if types and types <= NUMBERS:
        return ValueType.ARRAY_NUMBER
    return ValueType.ARRAY_ANY


def _parse_text(text: str, value_type: ValueType) -> Json:
    if value_type in NUMBERS:
        return parse_number(text)
    try:
        return json.loads(text, parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        raise ValueMismatch(f"{_shorten(text)} is not JSON for {value_type}") from None


def _reject_constant(name: str) -> Json:
    raise ValueError(f"{name} is not a JSON number")


def _shorten(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "…")


_SCALAR_TYPES: Final[Mapping[type, ValueType]] = {
    type(None): ValueType.NONE,
    bool: ValueType.BOOLEAN,
    int: ValueType.INTEGER,
    float: ValueType.FLOAT,
    str: ValueType.STRING,
}
_TEXT_TYPES: Final = frozenset({ValueType.STRING, ValueType.SECRET, ValueType.ANY})
_SINGLE_CHECKS: Final[Mapping[ValueType, Callable[[Json], bool]]] = {
    ValueType.STRING: _is_text,
    ValueType.SECRET: _is_text,
    ValueType.NUMBER: is_number,
    ValueType.INTEGER: _is_integer,
    ValueType.FLOAT: is_number,  # JSON does not distinguish 1 from 1.0
    ValueType.BOOLEAN: lambda value: isinstance(value, bool),
    ValueType.OBJECT: lambda value: isinstance(value, Mapping),
    ValueType.FILE: is_file,
    ValueType.NONE: lambda value: value is None,
    ValueType.ANY: lambda value: True,
}
_CHECKS: Final[Mapping[ValueType, Callable[[Json], bool]]] = {
    **_SINGLE_CHECKS,
    **{array: _build_array_check(_SINGLE_CHECKS[element]) for array, element in ELEMENTS.items()},
}
_ZERO_FACTORIES: Final[Mapping[ValueType, Callable[[], Json]]] = {
    ValueType.STRING: str,
    ValueType.SECRET: str,
    ValueType.NUMBER: int,
    ValueType.INTEGER: int,
    ValueType.FLOAT: float,
    ValueType.BOOLEAN: bool,
    ValueType.OBJECT: dict,
    ValueType.FILE: lambda: None,
    ValueType.NONE: lambda: None,
    ValueType.ANY: lambda: None,
    **dict.fromkeys(ELEMENTS, list),
}
