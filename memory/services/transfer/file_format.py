"""The format of a memory export: JSON Lines, one record a line, that another installation can import.

The first line describes the file, the last states the number of lines. An entry is followed by its revisions. An
invalid line doesn't stop the reading but becomes a problem with its number and field, so that all can be corrected at
once.
"""

import json
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, BinaryIO, Final, Literal
from uuid import UUID

from django.utils.translation import gettext as _
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from config.derived_models import with_fields_of
from memory.core.errors import MemoryFault
from memory.core.records import EntryState, Json, PromptUse, Tier
from memory.core.values import ENTRY_ID_PATTERN, MAX_KEY_LENGTH, check_json, check_validity
from memory.services.transfer.line_errors import describe_error, describe_syntax_error


FORMAT: Final = "mnemoflow-memory"
VERSION: Final = 1
MAX_LINE_BYTES: Final = 6 * 1024 * 1024  # a value may have four million, plus metadata
MAX_LINES: Final = 2_000_000
MAX_PROBLEMS: Final = 100
YEARS: Final = range(1970, 9001)  # PostgreSQL stores years that Python can't read
MAX_NUMBER: Final = 10**9  # leaves room for later revisions within four bytes

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]', re.DOTALL)
_DUPLICATE = re.compile(r"The key '(.+)' appears twice")

Parse = Callable[[bytes], Json]  # parses strict JSON, or raises ValueError


def _check_year(moment: datetime) -> datetime:
    """Return the moment if its year in UTC is one of ``YEARS``, or raise ValueError."""
    try:
        year = moment.astimezone(UTC).year
    except OverflowError:  # in UTC, the moment is outside of the calendar
        year = 0
    if year not in YEARS:
        raise ValueError(f"Expected a year from {YEARS[0]} to {YEARS[-1]}.")
    return moment


Timestamp = Annotated[AwareDatetime, AfterValidator(_check_year)]
Text = Annotated[str, Field(max_length=200)]
Category = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$")]
EntryId = Annotated[str, Field(pattern=f"^{ENTRY_ID_PATTERN}$")]
Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Number = Annotated[int, Field(ge=1, le=MAX_NUMBER)]
Count = Annotated[int, Field(ge=0, le=MAX_NUMBER)]


class _BaseLine(BaseModel):
    """A line of the file, in which unknown fields are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TeamInfo(_BaseLine):
    id: Annotated[str, Field(max_length=80)] = ""
    name: Annotated[str, Field(max_length=200)] = ""


class Counts(_BaseLine):
    namespaces: Count = 0
    entries: Count = 0
    revisions: Count = 0


class Header(_BaseLine):
    """The first line; ``left_out`` counts the namespaces that the author of the file was not allowed to see."""

    format: Literal["mnemoflow-memory"]
    version: Literal[1]
    of: Literal["namespace", "person", "team"]
    name: Text
    team: TeamInfo = TeamInfo()
    at: Timestamp
    counts: Counts = Counts()
    left_out: Count = 0
    personas: list[Text] = Field(default_factory=list, max_length=10_000)


class NamespaceLine(_BaseLine):
    type: Literal["namespace"] = "namespace"
    namespace: Text
    scope: Annotated[str, Field(max_length=40)]
    created_at: Timestamp


class Source(_BaseLine):
    actor: Annotated[str, Field(max_length=120)] = ""
    run_id: Annotated[str, Field(max_length=80)] = ""
    node_id: Annotated[str, Field(max_length=200)] = ""
    message: Annotated[str, Field(max_length=80)] = ""
    rule: Annotated[str, Field(max_length=120)] = ""


@with_fields_of(EntryState)
class _EntryState(_BaseLine):
    """The state of an entry, now or after one change."""

    value: Json
    metadata: dict[str, Any]
    category: Category
    tier: Tier
    importance: Fraction
    valid_from: Timestamp | None = None
    valid_until: Timestamp | None = None
    replaces: EntryId = ""
    replaced_by: EntryId = ""
    prompt_use: PromptUse = PromptUse.AUTO
    position: Count = 0
    expires_at: Timestamp | None = None


class EntryLine(_EntryState):
    type: Literal["entry"] = "entry"
    namespace: Text
    id: UUID
    key: Annotated[str, Field(min_length=1, max_length=MAX_KEY_LENGTH)]
    revision: Number
    created_at: Timestamp
    updated_at: Timestamp
    forgotten_at: Timestamp | None = None
    source: Source = Source()


class RevisionLine(_EntryState):
    type: Literal["revision"] = "revision"
    entry: UUID
    number: Number
    operation: Literal["store", "edit", "forget", "restore", "expire"]
    actor: Annotated[str, Field(max_length=120)] = ""
    reason: Annotated[str, Field(max_length=500)] = ""
    run_id: Annotated[str, Field(max_length=80)] = ""
    node_id: Annotated[str, Field(max_length=200)] = ""
    at: Timestamp


class GroupLine(_BaseLine):
    """The position of a group's last entry. The positions of entries that left it stay empty."""

    type: Literal["group"] = "group"
    namespace: Text
    name: Text
    last_position: Count


class ReadLine(_BaseLine):
    """A run that recalled an entry or had it in its prompt. An import only counts these lines."""

    type: Literal["read"] = "read"
    entry: UUID
    revision: Number
    run_id: Annotated[str, Field(max_length=80)]
    node_id: Annotated[str, Field(max_length=200)] = ""
    score: float | None = None
    injected: bool = False
    at: Timestamp


class AboutLine(_BaseLine):
    """A record that the host stores about a person, such as a conversation. An import only counts these lines."""

    type: Literal["about"] = "about"
    kind: Annotated[str, Field(max_length=40)]
    data: dict[str, Any]


class EndLine(_BaseLine):
    """The last line; ``lines`` counts all of them, including this one and the first."""

    type: Literal["end"] = "end"
    lines: Number


FileLine = NamespaceLine | EntryLine | RevisionLine | GroupLine | ReadLine | AboutLine | EndLine

_LINE_TYPES: dict[str, type[_BaseLine]] = {
    "namespace": NamespaceLine,
    "entry": EntryLine,
    "revision": RevisionLine,
    "group": GroupLine,
    "read": ReadLine,
    "about": AboutLine,
    "end": EndLine,
}


@dataclass(frozen=True, slots=True)
class LineProblem:
    """A problem in a line; ``field`` is empty if it concerns the whole line."""

    line: int
    field: str
    message: str


@dataclass(frozen=True, slots=True)
class NumberedLine:
    number: int
    line: Header | FileLine


def serialize_line(line: BaseModel) -> bytes:
    return line.model_dump_json().encode() + b"\n"


def read_lines(file: BinaryIO, parse: Parse) -> Iterator[NumberedLine | LineProblem]:
    """Yield the lines and problems in order. A first line that is no valid header is the only problem of its file."""
    number, end_number = 0, 0
    for number, raw in enumerate(_read_raw_lines(file), 1):
        if number > MAX_LINES:
            yield LineProblem(number, "", _("More than %(most)s lines.") % {"most": MAX_LINES})
            return
        item = _parse_line(number, raw, parse)
        if number == 1 and isinstance(item, LineProblem):
            yield item
            return
        if end_number:
            yield LineProblem(
                number, "", _("After the end record on line %(end)s.") % {"end": end_number}
            )
            return
        if isinstance(item, NumberedLine) and isinstance(item.line, EndLine):
            end_number = number
            if item.line.lines != number:
                counts = {"said": item.line.lines, "number": number}
                message = _("The file declares %(said)s lines but has %(number)s.") % counts
                yield LineProblem(number, "lines", message)
                continue
        yield item
    if number == 0:
        yield LineProblem(1, "", _("The file is empty."))
    elif not end_number:
        yield LineProblem(
            number, "", _("The file is incomplete: its last line must be the end record.")
        )


def _read_raw_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines, each cut off one byte after the limit so that the caller notices that it is too long."""
    is_first = True
    while raw := file.readline(MAX_LINE_BYTES + 1):
        if is_first:
            raw, is_first = raw.removeprefix(BOM_UTF8), False
        if len(raw) > MAX_LINE_BYTES:
            yield raw
            while rest := file.readline(MAX_LINE_BYTES):
                if rest.endswith(b"\n"):
                    break
            continue
        yield raw


def _parse_line(number: int, raw: bytes, parse: Parse) -> NumberedLine | LineProblem:
    if len(raw) > MAX_LINE_BYTES:
        return LineProblem(number, "", _("Longer than %(most)s bytes.") % {"most": MAX_LINE_BYTES})
    try:
        document = parse(raw)
    except ValueError as error:
        message = _("Can’t be read: %(why)s") % {"why": describe_syntax_error(error)}
        return LineProblem(number, _find_field(raw, error), message)
    if not isinstance(document, dict):
        return LineProblem(number, "", _("Expected an object."))
    if number == 1:
        return _parse_header(document)
    kind = document.get("type")
    model = _LINE_TYPES.get(kind) if isinstance(kind, str) else None
    if model is None:
        choices = _("Use one of: %(words)s.") % {"words": ", ".join(_LINE_TYPES)}
        return LineProblem(number, "type", choices)
    return _validate_line(number, model, document)


def _parse_header(document: dict[str, Json]) -> NumberedLine | LineProblem:
    if document.get("format") != FORMAT:
        return LineProblem(1, "format", _("This file is not a memory export."))
    if document.get("version") != VERSION:
        versions = {"version": str(document.get("version"))[:20], "ours": VERSION}
        message = _("Version %(version)s is not supported, only version %(ours)s.") % versions
        return LineProblem(1, "version", message)
    return _validate_line(1, Header, document)


def _validate_line(
    number: int, model: type[_BaseLine], document: dict[str, Json]
) -> NumberedLine | LineProblem:
    try:
        line = model.model_validate_json(json.dumps(document), strict=True)
    except ValidationError as error:
        detail = error.errors(include_url=False, include_input=False)[0]
        return LineProblem(number, ".".join(map(str, detail["loc"])), describe_error(detail))
    try:
        if isinstance(line, _EntryState):
            check_json(line.value, "value")
            check_json(line.metadata, "metadata")
            check_validity(line.valid_from, line.valid_until)
    except MemoryFault as fault:
        field, _colon, message = str(fault).partition(": ")
        return LineProblem(number, field, message)
    return NumberedLine(number, line)  # type: ignore[arg-type]  # each of the table is one of the union


def _find_field(raw: bytes, error: ValueError) -> str:
    """Return the field with the syntax error: the last name at the outermost level before the error."""
    text = raw.decode("utf-8", "replace")
    if duplicate := _DUPLICATE.search(str(error)):
        return _find_name_before(text, text.rfind(f'"{duplicate[1]}"') + len(duplicate[1]) + 3)
    if isinstance(error.__cause__, UnicodeDecodeError):
        prefix = raw[: error.__cause__.start].decode("utf-8", "replace")
        return _find_name_before(text, len(prefix))
    if isinstance(error.__cause__, json.JSONDecodeError):
        return _find_name_before(text, error.__cause__.pos)
    return _find_field_by_value(text)


def _find_field_by_value(text: str) -> str:
    """Return the field with a value that Python parses but ``check_json`` rejects, such as NaN or a NUL character."""
    try:
        document = json.loads(text)
        for name, value in document.items() if isinstance(document, dict) else ():
            try:
                check_json(value, name)
            except MemoryFault:
                return str(name)
    except (ValueError, RecursionError):
        pass
    return _find_name_before(text, len(text), max_depth=64)


def _find_name_before(text: str, end: int, max_depth: int = 0) -> str:
    """Return the last name in the outermost object before ``end``, or before it is nested deeper than ``max_depth``."""
    name, previous, depth = "", "", 0
    for token in _TOKENS.finditer(text):
        if token.start() >= end or (max_depth and depth > max_depth):
            break
        symbol = token[0]
        if symbol in "{[":
            depth += 1
        elif symbol in "}]":
            depth -= 1
        elif symbol == ":" and depth == 1:
            name = previous
        previous = symbol
    return name.strip('"')[:80]
