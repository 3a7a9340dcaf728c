"""Bodies of the API of learning: runs, what they wrote to memory, and which runs used it."""

from datetime import date
from uuid import UUID

from pydantic import Field

from config.http.openapi import Body
from memory.host import TeamRun
from memory.logic.learning.lessons import Lesson, Use
from memory.schemas.entries import Moment
from memory.services.history.learning import KeyLearning


class LearningQuery(Body):
    """Filters, all optional. ``person`` is a part of a name, of an email address or of an external id.

    ``service_account`` chooses the picture of a program whose keys you created; a key always gets that of its own.
    """

    workflow: UUID | None = None
    service_account: UUID | None = None
    person: str = Field("", max_length=100)
    since: date | None = None
    until: date | None = None


class LearningRunOut(Body):
    id: UUID
    workflow: UUID
    workflow_name: str
    summary: str
    task: str
    person: str
    status: str
    at: Moment


class LessonOut(Body):
    """A lesson that a run wrote: ``kind`` is task, error, learning or note. A forgotten entry has no text."""

    entry: UUID
    run: UUID
    key: str
    kind: str
    text: str
    namespace: str
    forgotten: bool


class UseOut(Body):
    """An entry that ``source_run`` wrote and ``target_run`` recalled, into a prompt if ``injected``."""

    entry: UUID
    source_run: UUID
    target_run: UUID
    injected: bool


class KeyLearningOut(Body):
    """It says how much the runs of a service account taught, by kind of lesson, and how often other runs used it."""

    service_account: UUID
    name: str
    runs: int
    lessons: dict[str, int]
    uses: int


class LearningPictureOut(Body):
    """The newest runs with their lessons and uses; ``is_all`` is false if there are more than are returned.

    ``keys`` counts what the newest 500 runs of the team's keys taught, for whoever manages the keys.
    """

    runs: list[LearningRunOut]
    lessons: list[LessonOut]
    uses: list[UseOut]
    is_all: bool
    keys: list[KeyLearningOut]


def run_out(run: TeamRun) -> LearningRunOut:
    return LearningRunOut.from_object(run, workflow=run.workflow_id, workflow_name=run.workflow)


def lesson_out(lesson: Lesson) -> LessonOut:
    return LessonOut.from_object(
        lesson, entry=lesson.entry_id, run=lesson.run_id, forgotten=lesson.is_forgotten
    )


def key_out(learning: KeyLearning) -> KeyLearningOut:
    return KeyLearningOut(
        service_account=UUID(learning.account_id),
        name=learning.account,
        runs=learning.run_count,
        lessons={kind.value: count for kind, count in learning.lesson_counts.items()},
        uses=learning.use_count,
    )


def use_out(use: Use) -> UseOut:
    return UseOut.from_object(use, entry=use.entry_id, injected=use.is_in_prompt)
