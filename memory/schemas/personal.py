"""Bodies of the API of a person's own memory."""

from datetime import datetime
from typing import Literal

from pydantic import AwareDatetime, Field

from config.http.openapi import Body, with_example
from memory.personal import PersonalEntry, PersonalMemory
from memory.providers.postgres import rows
from memory.schemas import entries


PausedPart = Literal["remembering", "recalling", "both"]


class PauseIn(Body):
    """A pause. Without ``until``, it lasts until memory is resumed."""

    model_config = with_example(what="both", until="2030-01-01T00:00:00Z")

    what: PausedPart = "both"
    until: AwareDatetime | None = None


class PauseOut(Body):
    what: PausedPart
    since: datetime
    until: datetime | None


class SubjectPauseOut(Body):
    """The pause of a user, or null."""

    pause: PauseOut | None


class SourceRunOut(Body):
    """The run in which a memory was learned, as far as the reader may see it."""

    workflow: str
    said: str
    at: datetime
    url: str


class RememberedOut(Body):
    memory: entries.EntryOut
    text: str
    learnt: SourceRunOut | None
    uses: int = Field(description="The number of runs that recalled it")
    used_at: datetime | None


class PersonOut(Body):
    namespace: str
    name: str
    is_me: bool
    memories: list[RememberedOut]


class AboutMeOut(Body):
    people: list[PersonOut]
    total: int
    shown: int
    pause: PauseOut | None


class ResumedOut(Body):
    resumed: bool


def about_me_out(memory: PersonalMemory) -> AboutMeOut:
    people = [
        PersonOut(
            namespace=person.namespace.text,
            name=person.name,
            is_me=person.is_own,
            memories=[_remembered_out(entry, person.namespace.text) for entry in person.entries],
        )
        for person in memory.people
    ]
    pause = PauseOut.from_object(memory.pause) if memory.pause else None
    return AboutMeOut(people=people, total=memory.total, shown=memory.shown_count, pause=pause)


def _remembered_out(entry: PersonalEntry, namespace: str) -> RememberedOut:
    run = entry.run
    return RememberedOut.from_object(
        entry,
        memory=entries.entry_out(rows.build_entry(entry.row, namespace)),
        learnt=SourceRunOut.from_object(run, said=run.summary) if run else None,
    )
