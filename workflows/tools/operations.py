"""The operations that a connection offers as tools, and the limits of what another party may say about them.

Names, descriptions and schemas come from documents and servers of others. They are cut to size before they are stored, so
that neither a page nor a prompt ever contains more of them.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from workflows.engine.language.document import Json
from workflows.engine.language.json_schema import find_schema_error


MAX_OPERATIONS: Final = 500
MAX_NAME: Final = 64  # the limit of model APIs
MAX_DESCRIPTION: Final = 1000
MAX_LISTING_BYTES: Final = 2 * 1024 * 1024  # all operations of a connection together

_UNUSABLE: Final = re.compile(r"[^A-Za-z0-9_-]+")
# Controls, and characters that reverse or hide text on a page or in a prompt.
_INVISIBLE: Final = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ufeff"
    "\\ud800-\\udfff\\U000e0000-\\U000e007f]"
)


@dataclass(frozen=True, slots=True)
class Operation:
    """A tool of a connection.

    ``call`` says how to call it, in the form that its kind of connection reads.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Json] = field(default_factory=dict)
    call: Mapping[str, Json] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def find_argument_error(self, arguments: Mapping[str, Json]) -> str | None:
        """Return why the operation can't be called with these arguments, or None if it can."""
        if error := find_schema_error(dict(arguments), dict(self.parameters)):
            return error
        try:
            json.dumps(dict(arguments), ensure_ascii=False).encode()
        except UnicodeEncodeError:
            return "a text contains half of a character"
        except (ValueError, RecursionError):
            return "they are nested too deeply"
        return None


def read_operations(rows: Iterable[Mapping[str, Any]]) -> list[Operation]:
    """Return the stored operations in their order."""
    return [Operation(**row) for row in rows]


def clean_text(text: object, limit: int = MAX_DESCRIPTION) -> str:
    """Return another party's text without invisible characters, cut to the limit."""
    if not isinstance(text, str):
        return ""
    visible = _INVISIBLE.sub("", text[: limit * 4]).strip()
    return visible if len(visible) <= limit else f"{visible[: limit - 1]}…"


def build_name(text: object, taken: Iterable[str] = ()) -> str:
    """Return a name that model APIs accept, with a number if it is already taken."""
    raw = text if isinstance(text, str) else ""
    name = (
        re.sub("__+", "_", _UNUSABLE.sub("_", raw[: MAX_NAME * 4])).strip("_")[:MAX_NAME]
        or "operation"
    )
    names, number, result = set(taken), 2, name
    while result in names:
        suffix = f"_{number}"
        result = f"{name[: MAX_NAME - len(suffix)]}{suffix}"
        number += 1
    return result


def measure_listing(operations: Iterable[Operation]) -> int:
    """Return the size in bytes of the operations as they are stored."""
    return sum(len(json.dumps(operation.to_json())) for operation in operations)
