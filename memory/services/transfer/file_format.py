"""Memory as a file: JSON Lines, one thing a line, that another installation can read again.

The first line says what the file is, the last how many lines there should have been. An entry is
followed by its revisions. Reading never stops at a bad line: each becomes a problem with its number and
the field that is wrong, so that somebody can mend the file at once.
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
from memory.core.records import EntryState, Json, Tier
from memory.core.values import MAX_KEY_LENGTH, check_json
from memory.services.transfer.line_errors import said, unread


FORMAT: Final = "mnemoflow-memory"
VERSION: Final = 1
LONGEST_LINE: Final = 6 * 1024 * 1024  # bytes; a value may have four million, and metadata besides
MOST_LINES: Final = 2_000_000
MOST_PROBLEMS: Final = 100
YEARS: Final = range(1970, 9001)  # PostgreSQL keeps more of them than can be read again
MOST: Final = 10**9  # what is counted on from here still fits into four bytes

Parse = Callable[[bytes], Json]  # strict JSON; ValueError says what is wrong


def _within_years(moment: datetime) -> datetime:
    """At the end of the calendar it depends on the time zone which year it is, and whether it is one."""
    try:
        year = moment.astimezone(UTC).year
    except OverflowError:
        year = 0
    if year not in YEARS:
        raise ValueError(f"Expected a year from {YEARS[0]} to {YEARS[-1]}.")
    return moment


Moment = Annotated[AwareDatetime, AfterValidator(_within_years)]
Text = Annotated[str, Field(max_length=200)]
Category = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$")]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Number = Annotated[int, Field(ge=1, le=MOST)]
Place = Annotated[int, Field(ge=0, le=MOST)]


class _Line(BaseModel):
    """Nothing that is not written down here; numbers are numbers, texts are texts."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Whose(_Line):
    id: Annotated[str, Field(max_length=80)] = ""
    name: Annotated[str, Field(max_length=200)] = ""


class Counts(_Line):
    namespaces: Place = 0
    entries: Place = 0
    revisions: Place = 0


class Header(_Line):
    """``left_out``: namespaces that are of it, and that whoever made the file may not see."""

    format: Literal["mnemoflow-memory"]
    version: Literal[1]
    of: Literal["namespace", "person", "team"]
    name: Text
    team: Whose = Whose()
    at: Moment
    counts: Counts = Counts()
    left_out: Place = 0
    personas: list[Text] = Field(default_factory=list, max_length=10_000)


class NamespaceLine(_Line):
    type: Literal["namespace"] = "namespace"
    namespace: Text
    scope: Annotated[str, Field(max_length=40)]
    created_at: Moment


class Source(_Line):
    actor: Annotated[str, Field(max_length=120)] = ""
    run_id: Annotated[str, Field(max_length=80)] = ""
    node_id: Annotated[str, Field(max_length=200)] = ""
    message: Annotated[str, Field(max_length=80)] = ""
    rule: Annotated[str, Field(max_length=120)] = ""


@with_fields_of(EntryState)
class _State(_Line):
    """What an entry is, or was after one change."""

    value: Json
    metadata: dict[str, Any]
    category: Category
    tier: Tier
    importance: Share
    position: Place = 0
    expires_at: Moment | None = None


class EntryLine(_State):
    type: Literal["entry"] = "entry"
    namespace: Text
    id: UUID
    key: Annotated[str, Field(min_length=1, max_length=MAX_KEY_LENGTH)]
    revision: Number
    created_at: Moment
    updated_at: Moment
    forgotten_at: Moment | None = None
    source: Source = Source()


class RevisionLine(_State):
    type: Literal["revision"] = "revision"
    entry: UUID
    number: Number
    operation: Literal["store", "edit", "forget", "restore", "expire"]
    actor: Annotated[str, Field(max_length=120)] = ""
    reason: Annotated[str, Field(max_length=500)] = ""
    run_id: Annotated[str, Field(max_length=80)] = ""
    node_id: Annotated[str, Field(max_length=200)] = ""
    at: Moment


class GroupLine(_Line):
    """Where the next entry of a group goes: those that left it left their places empty."""

    type: Literal["group"] = "group"
    namespace: Text
    name: Text
    last_position: Place


class ReadLine(_Line):
    """A run whose prompt an entry reached, or that recalled it. For reading; no import brings runs."""

    type: Literal["read"] = "read"
    entry: UUID
    revision: Number
    run_id: Annotated[str, Field(max_length=80)]
    node_id: Annotated[str, Field(max_length=200)] = ""
    score: float | None = None
    injected: bool = False
    at: Moment


class AboutLine(_Line):
    """What others keep about a person: their conversations. For reading; no import brings it."""

    type: Literal["about"] = "about"
    kind: Annotated[str, Field(max_length=40)]
    data: dict[str, Any]


class EndLine(_Line):
    """``lines``: all of them, this one and the first included."""

    type: Literal["end"] = "end"
    lines: Number


Line = NamespaceLine | EntryLine | RevisionLine | GroupLine | ReadLine | AboutLine | EndLine

_LINES: dict[str, type[_Line]] = {
    "namespace": NamespaceLine,
    "entry": EntryLine,
    "revision": RevisionLine,
    "group": GroupLine,
    "read": ReadLine,
    "about": AboutLine,
    "end": EndLine,
}


@dataclass(frozen=True, slots=True)
class Problem:
    """``field`` is empty where the line as a whole is wrong."""

    line: int
    field: str
    message: str


@dataclass(frozen=True, slots=True)
class Numbered:
    number: int
    line: Header | Line


def written(line: BaseModel) -> bytes:
    return line.model_dump_json().encode() + b"\n"


def read(file: BinaryIO, parse: Parse) -> Iterator[Numbered | Problem]:
    """Lines and problems in order. A file that is none of ours is one problem, at its first line."""
    number, ended = 0, 0
    for number, raw in enumerate(_raw_lines(file), 1):
        if number > MOST_LINES:
            yield Problem(number, "", _("More than %(most)s lines.") % {"most": MOST_LINES})
            return
        found = _line(number, raw, parse)
        if number == 1 and isinstance(found, Problem):
            yield found
            return
        if ended:
            yield Problem(number, "", _("After the end record on line %(end)s.") % {"end": ended})
            return
        if isinstance(found, Numbered) and isinstance(found.line, EndLine):
            ended = number
            if found.line.lines != number:
                counted = {"said": found.line.lines, "number": number}
                told = _("The file declares %(said)s lines but has %(number)s.") % counted
                yield Problem(number, "lines", told)
                continue
        yield found
    if number == 0:
        yield Problem(1, "", _("The file is empty."))
    elif not ended:
        yield Problem(
            number, "", _("The file is incomplete: its last line must be the end record.")
        )


def _raw_lines(file: BinaryIO) -> Iterator[bytes]:
    """One byte more than a line may have is asked for, and the rest of a longer one is left out."""
    first = True
    while raw := file.readline(LONGEST_LINE + 1):
        if first:  # the mark that some editors put before a text is none of it
            raw, first = raw.removeprefix(BOM_UTF8), False
        if len(raw) > LONGEST_LINE:
            yield raw
            while rest := file.readline(LONGEST_LINE):
                if rest.endswith(b"\n"):
                    break
            continue
        yield raw


def _line(number: int, raw: bytes, parse: Parse) -> Numbered | Problem:
    if len(raw) > LONGEST_LINE:
        return Problem(number, "", _("Longer than %(most)s bytes.") % {"most": LONGEST_LINE})
    try:
        found = parse(raw)
    except ValueError as wrong:
        why = _("Can’t be read: %(why)s") % {"why": unread(wrong)}
        return Problem(number, _field_of(raw, wrong), why)
    if not isinstance(found, dict):
        return Problem(number, "", _("Expected an object."))
    if number == 1:
        return _header(found)
    kind = found.get("type")
    model = _LINES.get(kind) if isinstance(kind, str) else None
    if model is None:
        known = _("Use one of: %(words)s.") % {"words": ", ".join(_LINES)}
        return Problem(number, "type", known)
    return _checked(number, model, found)


def _header(found: dict[str, Json]) -> Numbered | Problem:
    if found.get("format") != FORMAT:
        return Problem(1, "format", _("This file is not a memory export."))
    if found.get("version") != VERSION:
        versions = {"version": str(found.get("version"))[:20], "ours": VERSION}
        told = _("Version %(version)s is not supported, only version %(ours)s.") % versions
        return Problem(1, "version", told)
    return _checked(1, Header, found)


def _checked(number: int, model: type[_Line], found: dict[str, Json]) -> Numbered | Problem:
    try:
        line = model.model_validate_json(json.dumps(found), strict=True)
    except ValidationError as wrong:
        first = wrong.errors(include_url=False, include_input=False)[0]
        return Problem(number, ".".join(map(str, first["loc"])), said(first))
    try:
        if isinstance(line, _State):
            check_json(line.value, "value")
            check_json(line.metadata, "metadata")
    except MemoryFault as fault:
        field, _colon, message = str(fault).partition(": ")
        return Problem(number, field, message)
    return Numbered(number, line)  # type: ignore[arg-type]  # each of the table is one of the union


_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]', re.DOTALL)
_TWICE = re.compile(r"The key '(.+)' appears twice")


def _field_of(raw: bytes, wrong: ValueError) -> str:
    """The field in which a line stops being what it should: the last name at the outermost level."""
    text = raw.decode("utf-8", "replace")
    if twice := _TWICE.search(str(wrong)):
        return _name_before(text, text.rfind(f'"{twice[1]}"') + len(twice[1]) + 3)
    if isinstance(wrong.__cause__, UnicodeDecodeError):
        before = raw[: wrong.__cause__.start].decode("utf-8", "replace")
        return _name_before(text, len(before))
    if isinstance(wrong.__cause__, json.JSONDecodeError):
        return _name_before(text, wrong.__cause__.pos)
    return _field_by_value(text)


def _field_by_value(text: str) -> str:
    """For what parses, and says something that no reader should take: NaN, NUL, half a character."""
    try:
        found = json.loads(text)
        for name, value in found.items() if isinstance(found, dict) else ():
            try:
                check_json(value, name)
            except MemoryFault:
                return str(name)
    except (ValueError, RecursionError):
        pass
    return _name_before(text, len(text), deepest=64)


def _name_before(text: str, end: int, deepest: int = 0) -> str:
    """The last name of the outermost object before ``end``, or before it gets too deep."""
    name, last, depth = "", "", 0
    for token in _STRINGS.finditer(text):
        if token.start() >= end or (deepest and depth > deepest):
            break
        found = token[0]
        if found in "{[":
            depth += 1
        elif found in "}]":
            depth -= 1
        elif found == ":" and depth == 1:
            name = last
        last = found
    return name.strip('"')[:80]
