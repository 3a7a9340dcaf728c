"""Whether a file can be imported at all: every line by itself, and what it says of the ones before."""

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


MOST_BYTES: Final = 50 * 1024 * 1024
OTHER_NAMESPACE: Final = gettext_lazy("Not in the same namespace as the lines before.")
TWICE: Final = gettext_lazy("Duplicate.")


@dataclass(slots=True)
class Checked:
    header: file_format.Header | None = None
    problems: list[file_format.Problem] = field(default_factory=list)
    namespaces: frozenset[str] = frozenset()  # that the file names


def check_file(file: BinaryIO) -> Checked:
    """Every line by itself, and what it says of the ones before."""
    found = Checked()
    seen = _Seen()
    for one in file_format.read(_Bounded(file), strict_json.loads):  # type: ignore[arg-type]  # it reads lines, as a file does
        problem = one if isinstance(one, file_format.Problem) else None
        if isinstance(one, file_format.Numbered):
            if isinstance(one.line, file_format.Header):
                found.header = one.line
            else:
                problem = seen.problem(one.number, one.line)
        if problem is not None:
            found.problems.append(problem)
            if len(found.problems) >= file_format.MOST_PROBLEMS:
                break
    found.namespaces = frozenset(seen.spaces)
    return found


class _Bounded:
    """The lines of a file, up to as many bytes as a file may have."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._left = file, MOST_BYTES

    def readline(self, most: int) -> bytes:
        line = self._file.readline(most)
        self._left -= len(line)
        if self._left < 0:
            raise InvalidInput(f"file: at most {MOST_BYTES} bytes.")
        return line


@dataclass(slots=True)
class _Seen:
    """What the lines so far have said. Keys by what they hash to: a file may have a million."""

    namespace: str = ""
    spaces: set[str] = field(default_factory=set)
    living: dict[int, int] = field(default_factory=dict)
    ids: set[int] = field(default_factory=set)
    entry: file_format.EntryLine | None = None
    revision: int = 0

    def problem(
        self, number: int, line: file_format.Line | file_format.Header
    ) -> file_format.Problem | None:
        before = (
            self._unfinished(number) if not isinstance(line, file_format.RevisionLine) else None
        )
        match line:
            case file_format.NamespaceLine():
                return before or self._of_namespace(number, line)
            case file_format.EntryLine():
                return before or self._of_entry(number, line)
            case file_format.RevisionLine():
                return self._of_revision(number, line)
            case file_format.GroupLine() if line.namespace != self.namespace:
                return file_format.Problem(number, "namespace", str(OTHER_NAMESPACE))
        return before

    def _unfinished(self, number: int) -> file_format.Problem | None:
        """An entry's revisions end where it is now, if it has any."""
        entry, last = self.entry, self.revision
        self.entry, self.revision = None, 0
        if entry is None or last in (0, entry.revision):
            return None
        known = {"key": entry.key, "last": last, "revision": entry.revision}
        said = (
            _(
                "The revisions of “%(key)s” end at %(last)s, but the entry is at revision %(revision)s."
            )
            % known
        )
        return file_format.Problem(number - 1, "number", said)

    def _of_namespace(
        self, number: int, line: file_format.NamespaceLine
    ) -> file_format.Problem | None:
        try:
            parse_namespace(line.namespace)
        except MemoryFault as fault:
            return file_format.Problem(number, "namespace", str(fault))
        if line.namespace in self.spaces:
            return file_format.Problem(number, "namespace", str(TWICE))
        self.namespace = line.namespace
        self.spaces.add(line.namespace)
        return None

    def _of_entry(self, number: int, line: file_format.EntryLine) -> file_format.Problem | None:
        if line.namespace != self.namespace:
            return file_format.Problem(number, "namespace", str(OTHER_NAMESPACE))
        if hash(line.id) in self.ids:
            return file_format.Problem(number, "id", str(TWICE))
        self.ids.add(hash(line.id))
        self.entry = line
        if line.forgotten_at is None:
            mark = hash((line.namespace, line.key))
            if mark in self.living:
                said = _("Line %(line)s already has an entry with this key.") % {
                    "line": self.living[mark]
                }
                return file_format.Problem(number, "key", said)
            self.living[mark] = number
        return None

    def _of_revision(
        self, number: int, line: file_format.RevisionLine
    ) -> file_format.Problem | None:
        if self.entry is None or line.entry != self.entry.id:
            return file_format.Problem(
                number, "entry", _("Not from the same entry as the lines before.")
            )
        if not self.revision < line.number <= self.entry.revision:
            return file_format.Problem(number, "number", _("Revisions are not in order."))
        self.revision = line.number
        return self._of_newest(number, line) if line.number == self.entry.revision else None

    def _of_newest(self, number: int, line: file_format.RevisionLine) -> file_format.Problem | None:
        """An entry is what its newest revision says, or one of them lies."""
        now = self.entry
        if now is None:
            raise AssertionError("asked of a revision without an entry")
        for name in CONTENT:
            if _canonical(getattr(now, name)) != _canonical(getattr(line, name)):
                known = {"key": now.key, "field": name}
                said = _("“%(key)s” differs from its newest revision, this one, in %(field)s.")
                return file_format.Problem(number, name, said % known)
        return None


def _canonical(value: Json) -> str:
    """Told apart where Python would not: a yes and a one."""
    return json.dumps(value, sort_keys=True)
