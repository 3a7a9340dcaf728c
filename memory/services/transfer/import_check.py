"""Check a file before its import: each line alone, and in relation to the lines before it."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import BinaryIO, Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from config.http import strict_json
from memory.core.entry_codec import CONTENT
from memory.core.errors import MemoryFault, ValueTooLarge
from memory.core.records import Json
from memory.core.scopes import parse_namespace
from memory.services.transfer.file_format import (
    MAX_PROBLEMS,
    EntryLine,
    FileLine,
    GroupLine,
    Header,
    LineProblem,
    NamespaceLine,
    NumberedLine,
    RevisionLine,
    read_lines,
)


MAX_BYTES: Final = 50 * 1024 * 1024
OTHER_NAMESPACE: Final = gettext_lazy("Not in the same namespace as the lines before.")
DUPLICATE: Final = gettext_lazy("Duplicate.")


@dataclass(slots=True)
class FileCheck:
    """The result of a check. The header is None if the first line is no valid one."""

    header: Header | None = None
    problems: list[LineProblem] = field(default_factory=list)
    namespaces: frozenset[str] = frozenset()  # named in the file


def check_file(file: BinaryIO) -> FileCheck:
    """Check each line alone and in relation to the lines before it. At most ``MAX_PROBLEMS`` are reported."""
    check = FileCheck()
    state = _CheckState()
    for item in read_lines(_LimitedFile(file), strict_json.loads):  # type: ignore[arg-type]  # it reads lines, as a file does
        problem = item if isinstance(item, LineProblem) else None
        if isinstance(item, NumberedLine):
            if isinstance(item.line, Header):
                check.header = item.line
            else:
                problem = state.find_problem(item.number, item.line)
        if problem is not None:
            check.problems.append(problem)
            if len(check.problems) >= MAX_PROBLEMS:
                break
    check.namespaces = frozenset(state.namespaces)
    return check


class _LimitedFile:
    """A file that raises an error as soon as more than ``MAX_BYTES`` are read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._remaining_bytes = file, MAX_BYTES

    def readline(self, limit: int) -> bytes:
        line = self._file.readline(limit)
        self._remaining_bytes -= len(line)
        if self._remaining_bytes < 0:
            raise ValueTooLarge(f"file: at most {MAX_BYTES} bytes.")
        return line


@dataclass(slots=True)
class _CheckState:
    """The state after the lines so far. Ids and keys are stored as hashes because a file may have a million."""

    namespace: str = ""  # of the current lines
    namespaces: set[str] = field(default_factory=set)
    key_lines: dict[int, int] = field(default_factory=dict)  # the line of each living entry by key
    ids: set[int] = field(default_factory=set)
    entry: EntryLine | None = None  # the entry whose revisions follow
    revision: int = 0  # the number of its last revision so far

    def find_problem(self, number: int, line: FileLine | Header) -> LineProblem | None:
        """Return the line's problem in relation to the lines before it, or None, and add the line to the state."""
        if isinstance(line, RevisionLine):
            return self._check_revision(number, line)
        problem = self._check_entry_end(number)
        match line:
            case NamespaceLine():
                return problem or self._check_namespace(number, line)
            case EntryLine():
                return problem or self._check_entry(number, line)
            case GroupLine() if line.namespace != self.namespace:
                return LineProblem(number, "namespace", str(OTHER_NAMESPACE))
        return problem

    def _check_entry_end(self, number: int) -> LineProblem | None:
        """Check that the last revision of the entry before this line, if it has any, is the entry's current one."""
        entry, last_number = self.entry, self.revision
        self.entry, self.revision = None, 0
        if entry is None or last_number in (0, entry.revision):
            return None
        values = {"key": entry.key, "last": last_number, "revision": entry.revision}
        message = _(
            "The revisions of “%(key)s” end at %(last)s, but the entry is at revision %(revision)s."
        )
        return LineProblem(number - 1, "number", message % values)

    def _check_namespace(self, number: int, line: NamespaceLine) -> LineProblem | None:
        try:
            parse_namespace(line.namespace)
        except MemoryFault as fault:
            return LineProblem(number, "namespace", str(fault))
        if line.namespace in self.namespaces:
            return LineProblem(number, "namespace", str(DUPLICATE))
        self.namespace = line.namespace
        self.namespaces.add(line.namespace)
        return None

    def _check_entry(self, number: int, line: EntryLine) -> LineProblem | None:
        if line.namespace != self.namespace:
            return LineProblem(number, "namespace", str(OTHER_NAMESPACE))
        if hash(line.id) in self.ids:
            return LineProblem(number, "id", str(DUPLICATE))
        self.ids.add(hash(line.id))
        self.entry = line
        if line.forgotten_at is None:
            key_hash = hash((line.namespace, line.key))
            if key_hash in self.key_lines:
                values = {"line": self.key_lines[key_hash]}
                message = _("Line %(line)s already has an entry with this key.") % values
                return LineProblem(number, "key", message)
            self.key_lines[key_hash] = number
        return None

    def _check_revision(self, number: int, line: RevisionLine) -> LineProblem | None:
        if self.entry is None or line.entry != self.entry.id:
            message = _("Not from the same entry as the lines before.")
            return LineProblem(number, "entry", message)
        if not self.revision < line.number <= self.entry.revision:
            return LineProblem(number, "number", _("Revisions are not in order."))
        self.revision = line.number
        if line.number == self.entry.revision:
            return _check_newest_revision(number, line, self.entry)
        return None


def _check_newest_revision(number: int, line: RevisionLine, entry: EntryLine) -> LineProblem | None:
    """Check that the entry equals its newest revision."""
    for name in CONTENT:
        if _serialize_value(getattr(entry, name)) != _serialize_value(getattr(line, name)):
            values = {"key": entry.key, "field": name}
            message = _("“%(key)s” differs from its newest revision, this one, in %(field)s.")
            return LineProblem(number, name, message % values)
    return None


def _serialize_value(value: Json | datetime) -> str:
    """Serialize the value for a comparison, in which True and 1 differ, although they are equal in Python."""
    return json.dumps(value, sort_keys=True, default=_format_moment)


def _format_moment(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat()
