"""What became of an import, or would become of it."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from memory.services.transfer import file_format


MOST_REFUSALS: Final = 100  # that are named; the others are counted
LEFT: Final[dict[str, Promise]] = {
    "read": _("Recalls by runs: the file doesn't contain the runs."),
    "about": _(
        "Conversations and runs of the user: they belong to workflows that are not in the file."
    ),
}


class Clash(StrEnum):
    """Whose word holds where both have one."""

    MINE = "mine"
    THEIRS = "theirs"
    NEWER = "newer"


@dataclass(frozen=True, slots=True)
class Refusal:
    """What did not come, and the line it stands in. No key: the whole namespace."""

    line: int
    namespace: str
    key: str
    why: str


@dataclass(frozen=True, slots=True)
class Caught:
    """What the gate found in a line that comes. ``orders``: what they were known by; then it waits for a person."""

    line: int
    namespace: str
    key: str
    secrets: tuple[str, ...]  # their kinds
    orders: str


@dataclass(slots=True)
class Target:
    """A namespace of the file, what it is here, and what became of its entries."""

    named: str
    to: str
    new: int = 0
    overwritten: int = 0
    same: int = 0  # there already, and says just that
    kept: int = 0  # what was here holds
    refused: int = 0
    redacted: int = 0  # lines that held a secret, which is blotted out
    held: int = 0  # of those that come: entries that wait for a person
    why: str = ""  # not let in at all


@dataclass(slots=True)
class Imported:
    """``problems``: lines that can't be read, and then nothing was done. ``changes`` undo together."""

    dry_run: bool
    header: file_format.Header | None = None
    problems: list[file_format.Problem] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    caught: list[Caught] = field(default_factory=list)  # by line, no more than refusals
    left: dict[str, int] = field(default_factory=dict)  # lines for reading alone, by their type
    changes: list[UUID] = field(default_factory=list)

    def refuse(self, refusal: Refusal) -> None:
        if len(self.refusals) < MOST_REFUSALS:
            self.refusals.append(refusal)

    def catch(self, caught: Caught) -> None:
        if len(self.caught) < MOST_REFUSALS:
            self.caught.append(caught)

    def leave(self, line: file_format.ReadLine | file_format.AboutLine) -> None:
        self.left[line.type] = self.left.get(line.type, 0) + 1

    @property
    def skipped(self) -> int:
        return sum(self.left.values())

    @property
    def why_left(self) -> list[tuple[int, str]]:
        """How many lines of each kind, and why no import brings them."""
        return [(count, str(LEFT[kind])) for kind, count in sorted(self.left.items())]

    @property
    def new(self) -> int:
        return sum(one.new for one in self.targets)

    @property
    def overwritten(self) -> int:
        return sum(one.overwritten for one in self.targets)

    @property
    def same(self) -> int:
        return sum(one.same for one in self.targets)

    @property
    def kept(self) -> int:
        return sum(one.kept for one in self.targets)

    @property
    def refused(self) -> int:
        return sum(one.refused for one in self.targets)

    @property
    def redacted(self) -> int:
        return sum(one.redacted for one in self.targets)

    @property
    def held(self) -> int:
        return sum(one.held for one in self.targets)
