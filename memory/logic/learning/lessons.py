"""What runs wrote to memory, and which runs it reached: the data of the picture of learning."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class LessonKind(StrEnum):
    """What a run wrote. Curation names the first three by the prefixes of their keys."""

    TASK = "task"
    ERROR = "error"
    LEARNING = "learning"
    NOTE = "note"  # stored by a node of the workflow


@dataclass(frozen=True, slots=True)
class Lesson:
    """An entry that a run wrote. ``text`` is empty if the entry was forgotten since."""

    entry_id: str
    run_id: str
    key: str
    kind: LessonKind
    text: str
    namespace: str
    is_forgotten: bool = False


@dataclass(frozen=True, slots=True)
class Use:
    """One entry of an earlier run in a later one. ``is_in_prompt`` means that it was added to a prompt."""

    entry_id: str
    source_run: str
    target_run: str
    is_in_prompt: bool


@dataclass(frozen=True, slots=True)
class Learning:
    """Lessons in the order in which they were written, and their uses. ``is_all`` says whether none was left out."""

    lessons: tuple[Lesson, ...] = ()
    uses: tuple[Use, ...] = ()
    is_all: bool = True

    def group_lessons(self) -> Mapping[str, list[Lesson]]:
        """Return the lessons by the run that wrote them."""
        groups: dict[str, list[Lesson]] = {}
        for lesson in self.lessons:
            groups.setdefault(lesson.run_id, []).append(lesson)
        return groups

    def list_targets(self, entry_id: str, run_id: str) -> list[str]:
        """Return the runs that used what this run wrote into the entry."""
        return list(_select_targets(self.uses, entry_id, run_id))

    @property
    def linked_runs(self) -> frozenset[str]:
        """Return the runs that wrote or used anything."""
        runs = {lesson.run_id for lesson in self.lessons}
        return frozenset(runs.union(*((use.source_run, use.target_run) for use in self.uses)))


def get_kind(key: str) -> LessonKind:
    return _KINDS_BY_PREFIX.get(key.partition(":")[0], LessonKind.NOTE)


def _select_targets(uses: Iterable[Use], entry_id: str, run_id: str) -> Iterable[str]:
    matches = (use for use in uses if (use.entry_id, use.source_run) == (entry_id, run_id))
    return dict.fromkeys(use.target_run for use in matches)


_KINDS_BY_PREFIX: Final[Mapping[str, LessonKind]] = {
    kind.value: kind for kind in LessonKind if kind is not LessonKind.NOTE
}
