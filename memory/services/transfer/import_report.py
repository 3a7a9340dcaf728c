"""The report of an import or of its dry run."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from memory.services.transfer import file_format


MAX_LISTED: Final = 100  # refusals and findings; the others are only counted
SKIP_REASONS: Final[dict[str, Promise]] = {
    "read": _("Recalls by runs: the file doesn't contain the runs."),
    "about": _(
        "Conversations and runs of the user: they belong to workflows that are not in the file."
    ),
}


class DryRunEnd(Exception):
    """Raised at the end of a dry run to roll its transaction back."""


class ConflictRule(StrEnum):
    """The rule says which of two entries with the same key stays: the existing one, the file's, or the one that was changed last."""

    MINE = "mine"
    THEIRS = "theirs"
    NEWER = "newer"


@dataclass(frozen=True, slots=True)
class Refusal:
    """An entry that was not imported, or a whole namespace if ``key`` is empty, and the reason."""

    line: int
    namespace: str
    key: str
    why: str


@dataclass(frozen=True, slots=True)
class ImportFinding:
    """The findings of the content filter in an imported line.

    An entry with ``orders``, the rule that recognized instructions, waits for a review.
    """

    line: int
    namespace: str
    key: str
    secrets: tuple[str, ...]  # the kinds of removed secrets
    orders: str


@dataclass(slots=True)
class ImportTarget:
    """A namespace of the file, its name here, and the results of its entries."""

    name_in_file: str
    to: str
    new_count: int = 0
    overwritten_count: int = 0
    same_count: int = 0  # identical to the existing entry
    kept_count: int = 0  # the existing entry was kept
    refused_count: int = 0
    forgotten_count: int = 0  # not imported, because they were forgotten here
    redacted_count: int = 0  # lines from which a secret was removed
    held_count: int = 0  # imported entries that wait for a review
    why: str = ""  # the reason if the whole namespace was refused


class _Total:
    """An attribute of the report: the sum of the attributes of its targets with the same name."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, report: "ImportReport", owner: type) -> int:
        return sum(getattr(target, self._name) for target in report.targets)


@dataclass(slots=True)
class ImportReport:
    """The report says what an import did, or would do. With ``problems``, lines that can't be read, nothing was imported."""

    new_count = _Total()
    overwritten_count = _Total()
    same_count = _Total()
    kept_count = _Total()
    refused_count = _Total()
    forgotten_count = _Total()
    redacted_count = _Total()
    held_count = _Total()

    dry_run: bool
    header: file_format.Header | None = None
    problems: list[file_format.LineProblem] = field(default_factory=list)
    targets: list[ImportTarget] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    findings: list[ImportFinding] = field(default_factory=list)  # by line
    skipped_lines: dict[str, int] = field(default_factory=dict)  # informative lines by type
    changes: list[UUID] = field(default_factory=list)  # for ``undo_import``
    contradiction_count: int = 0  # proposed for review; a preview looks for none

    def add_refusal(self, refusal: Refusal) -> None:
        if len(self.refusals) < MAX_LISTED:
            self.refusals.append(refusal)

    def add_finding(self, finding: ImportFinding) -> None:
        if len(self.findings) < MAX_LISTED:
            self.findings.append(finding)

    def count_skipped(self, line: file_format.ReadLine | file_format.AboutLine) -> None:
        self.skipped_lines[line.type] = self.skipped_lines.get(line.type, 0) + 1

    @property
    def omitted_count(self) -> int:
        """Return the number of entries that the list ``refusals`` is about."""
        return self.refused_count + self.forgotten_count

    @property
    def skipped_count(self) -> int:
        return sum(self.skipped_lines.values())

    @property
    def skip_reasons(self) -> list[tuple[int, str]]:
        """Return the number of skipped lines of each kind and why no import includes them."""
        return [
            (count, str(SKIP_REASONS[kind])) for kind, count in sorted(self.skipped_lines.items())
        ]
