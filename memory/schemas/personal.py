"""Bodies of a person's own page over the API."""

from datetime import datetime
from typing import Literal

from pydantic import AwareDatetime, ConfigDict, Field

from config.http.openapi import Body
from memory.personal import About, Remembered
from memory.providers.postgres import rows
from memory.schemas import entries
from memory.services.access.pause_state import Pause


What = Literal["remembering", "recalling", "both"]


class PauseIn(Body):
    """No ``until``: until it is resumed."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"what": "both", "until": "2030-01-01T00:00:00Z"}}
    )

    what: What = "both"
    until: AwareDatetime | None = None


class PauseOut(Body):
    what: What
    since: datetime
    until: datetime | None


class SubjectPauseOut(Body):
    """Nothing: memory leaves nothing off for them."""

    pause: PauseOut | None


class LearntInOut(Body):
    """The run it was learnt in, as far as the reader may see it."""

    workflow: str
    said: str
    at: datetime
    url: str


class RememberedOut(Body):
    memory: entries.EntryOut
    text: str
    learnt: LearntInOut | None
    uses: int = Field(description="In how many runs it was recalled")
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


def pause_out(pause: Pause) -> PauseOut:
    return PauseOut(what=pause.what, since=pause.since, until=pause.until)


def me_out(found: About) -> AboutMeOut:
    people = [
        PersonOut(
            namespace=person.namespace.text,
            name=person.name,
            is_me=person.is_own,
            memories=[_remembered(one, person.namespace.text) for one in person.remembered],
        )
        for person in found.people
    ]
    pause = pause_out(found.pause) if found.pause else None
    return AboutMeOut(people=people, total=found.total, shown=found.shown, pause=pause)


def _remembered(one: Remembered, namespace: str) -> RememberedOut:
    told, learnt = one.told, None
    if told is not None:
        learnt = LearntInOut(workflow=told.workflow, said=told.summary, at=told.at, url=told.url)
    return RememberedOut(
        memory=entries.entry_out(rows.entry_of(one.row, namespace)),
        text=one.text,
        learnt=learnt,
        uses=one.uses,
        used_at=one.used_at,
    )
