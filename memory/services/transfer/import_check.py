"""The check of a file before its import: each line alone, and in relation to the lines before it."""

import json
from dataclasses import dataclass, field
from typing import BinaryIO, Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from config.http import strict_json
from memory.core.entry_codec import CONTENT
from memory.core.errors import InvalidInput, MemoryFault
from memory.core.records import Json
from memory.core.scopes import parse_namespace
from memory.services.transfer import file_format


MAX_BYTES: Final = 50 * 1024 * 1024
OTHER_NAMESPACE: Final = gettext_lazy("Not in the same namespace as the lines before.")
DUPLICATE: Final = gettext_lazy("Duplicate.")


@dataclass(slots=True)
class FileCheck:
    header: file_format.Header | None = None
    problems: list[file_format.LineProblem] = field(default_factory=list)
    namespaces: frozenset[str] = frozenset()  # named in the file


def check_file(file: BinaryIO) -> FileCheck:
    """Check each line alone and in relation to the lines before it. At most ``MAX_PROBLEMS`` are reported."""
    check = FileCheck()
    state = _LinesBefore()
    for item in file_format.read_lines(_LimitedFile(file), strict_json.loads):  # type: ignore[arg-type]  # it reads lines, as a file does
        problem = item if isinstance(item, file_format.LineProblem) else None
        if isinstance(item, file_format.NumberedLine):
            if isinstance(item.line, file_format.Header):
                check.header = item.line
            else:
                problem = state.find_problem(item.number, item.line)
        if problem is not None:
            check.problems.append(problem)
            if len(check.problems) >= file_format.MAX_PROBLEMS:
                break
    check.namespaces = frozenset(state.namespaces)
    return check


class _LimitedFile:
    """A file that raises an error once more bytes are read than a file may have."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._left = file, MAX_BYTES

    def readline(self, most: int) -> bytes:
        line = self._file.readline(most)
        self._left -= len(line)
        if self._left < 0:
            raise InvalidInput(f"file: at most {MAX_BYTES} bytes.")
        return line


@dataclass(slots=True)
class _LinesBefore:
    """The state after the lines so far. Keys are stored as hashes because a file may have a million."""

    namespace: str = ""
    namespaces: set[str] = field(default_factory=set)
    living: dict[int, int] = field(default_factory=dict)
    ids: set[int] = field(default_factory=set)
    entry: file_format.EntryLine | None = None
    revision: int = 0

    def find_problem(
        self, number: int, line: file_format.FileLine | file_format.Header
    ) -> file_format.LineProblem | None:
        problem = (
            self._check_entry_end(number)
            if not isinstance(line, file_format.RevisionLine)
            else None
        )
        match line:
            case file_format.NamespaceLine():
                return problem or self._check_namespace(number, line)
            case file_format.EntryLine():
                return problem or self._check_entry(number, line)
            case file_format.RevisionLine():
                return self._check_revision(number, line)
            case file_format.GroupLine() if line.namespace != self.namespace:
                return file_format.LineProblem(number, "namespace", str(OTHER_NAMESPACE))
        return problem

    def _check_entry_end(self, number: int) -> file_format.LineProblem | None:
        """Check that the last revision of an entry, if it has any, is its current one."""
        entry, last = self.entry, self.revision
        self.entry, self.revision = None, 0
        if entry is None or last in (0, entry.revision):
            return None
        values = {"key": entry.key, "last": last, "revision": entry.revision}
        message = (
            _(
                "The revisions of “%(key)s” end at %(last)s, but the entry is at revision %(revision)s."
            )
            % values
        )
        return file_format.LineProblem(number - 1, "number", message)

    def _check_namespace(
        self, number: int, line: file_format.NamespaceLine
    ) -> file_format.LineProblem | None:
        try:
            parse_namespace(line.namespace)
        except MemoryFault as fault:
            return file_format.LineProblem(number, "namespace", str(fault))
        if line.namespace in self.namespaces:
            return file_format.LineProblem(number, "namespace", str(DUPLICATE))
        self.namespace = line.namespace
        self.namespaces.add(line.namespace)
        return None

    def _check_entry(
        self, number: int, line: file_format.EntryLine
    ) -> file_format.LineProblem | None:
        if line.namespace != self.namespace:
            return file_format.LineProblem(number, "namespace", str(OTHER_NAMESPACE))
        if hash(line.id) in self.ids:
            return file_format.LineProblem(number, "id", str(DUPLICATE))
        self.ids.add(hash(line.id))
        self.entry = line
        if line.forgotten_at is None:
            key_hash = hash((line.namespace, line.key))
            if key_hash in self.living:
                message = _("Line %(line)s already has an entry with this key.") % {
                    "line": self.living[key_hash]
                }
                return file_format.LineProblem(number, "key", message)
            self.living[key_hash] = number
        return None

    def _check_revision(
        self, number: int, line: file_format.RevisionLine
    ) -> file_format.LineProblem | None:
        if self.entry is None or line.entry != self.entry.id:
            return file_format.LineProblem(
                number, "entry", _("Not from the same entry as the lines before.")
            )
        if not self.revision < line.number <= self.entry.revision:
            return file_format.LineProblem(number, "number", _("Revisions are not in order."))
        self.revision = line.number
        return (
            self._check_newest_revision(number, line)
            if line.number == self.entry.revision
            else None
        )

    def _check_newest_revision(
        self, number: int, line: file_format.RevisionLine
    ) -> file_format.LineProblem | None:
        """Check that the entry equals its newest revision."""
        entry = self.entry
        if entry is None:
            raise AssertionError("asked of a revision without an entry")
        for name in CONTENT:
            if _serialize_value(getattr(entry, name)) != _serialize_value(getattr(line, name)):
                values = {"key": entry.key, "field": name}
                message = _("“%(key)s” differs from its newest revision, this one, in %(field)s.")
                return file_format.LineProblem(number, name, message % values)
        return None


def _serialize_value(value: Json) -> str:
    """Serialize the value so that True and 1 differ, which are equal in Python."""
    return json.dumps(value, sort_keys=True)
