"""A browser tab that has a draft open: its person, the last revision sent to it and its queue of events."""

import asyncio
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from accounts.models import User
from workflows.engine.language.document import Json


QUEUE_SIZE = 256  # events that a tab may be behind; then its stream ends, and it reconnects
COLORS = 8  # of ``--person-…`` in static/css/together.css


class Watch(NamedTuple):
    """A draft with a person and a session ("" without one) that watch it. Each poll checks whether they still may."""

    workflow_id: UUID
    user_id: UUID
    session: str


@dataclass(frozen=True, slots=True)
class LiveEvent:
    """An event of a tab's stream. Only an edit has a ``revision``, after which a reconnected tab continues."""

    name: str
    data: Json
    revision: int | None = None


@dataclass(eq=False, slots=True)
class Tab:
    """A tab that watches a draft, in one event loop. ``revision`` is the last revision that was sent to it."""

    team_id: UUID
    workflow_id: UUID
    user_id: UUID
    client: str
    revision: int
    card: dict[str, Json]  # shown to the other people on the draft
    session: str = ""
    cut_off: bool = False
    comments: Json = None  # the marker of the comments that this tab has, see ``news.DraftNews``
    runs: dict[str, str] = field(default_factory=dict)
    queue: asyncio.Queue[LiveEvent | None] = field(
        default_factory=lambda: asyncio.Queue(QUEUE_SIZE)
    )

    @property
    def watch(self) -> Watch:
        return Watch(self.workflow_id, self.user_id, self.session)

    @property
    def key(self) -> str:
        """Return the key of the tab. It contains the person's id, so that nobody can act as another person's tab."""
        return build_tab_key(self.user_id, self.client)

    def put(self, event: LiveEvent) -> None:
        """Queue an event. A tab whose queue is full is ended."""
        try:
            self.queue.put_nowait(event)
        except asyncio.QueueFull:
            self.end()

    def put_revision(self, revision: int, client: str | None) -> None:
        if revision > self.revision:
            self.revision = revision
            self.put(LiveEvent("revision", {"revision": revision, "client": client}, revision))

    def end(self) -> None:
        """Mark the tab as cut off, which closes its stream without the events that are still queued."""
        self.cut_off = True
        if self.queue.full():
            self.queue.get_nowait()
        self.queue.put_nowait(None)


def build_tab_key(user_id: UUID | None, client: str) -> str:
    return f"{user_id}:{client}"


def build_card(user: User, client: str, *, can_edit: bool) -> dict[str, Json]:
    """Return the card that others see. It contains no email address, only the name, which the team's pages also show."""
    name = user.name or user.get_short_name()
    return {
        "client": client,
        "user": str(user.pk),
        "name": name,
        "initials": get_initials(name),
        "colour": int(user.pk.int % COLORS),
        "edits": can_edit,
        "selection": [],
        "editing": None,
    }


def get_initials(name: str) -> str:
    words = name.split()
    letters = words[0][:1] + (words[-1][:1] if len(words) > 1 else "") if words else "?"
    return letters.upper()
