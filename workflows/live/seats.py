"""One tab's place in a draft: who sits there, what was told, and what waits to be told."""

import asyncio
from dataclasses import dataclass, field
from uuid import UUID

from accounts.models import User
from workflows.engine.document import Json


QUEUE = (
    256  # events a tab may be behind; then its stream ends, and it comes back for what it missed
)
COLOURS = 8  # of ``--person-…`` in static/css/together.css


@dataclass(frozen=True, slots=True)
class Said:
    """An event of the stream; only revisions have a number to go on after."""

    name: str
    data: Json
    revision: int | None = None


@dataclass(eq=False, slots=True)
class Seat:
    """Belongs to one event loop. ``revision``: the last one this tab was told of."""

    team_id: UUID
    workflow_id: UUID
    user_id: UUID
    client: str
    revision: int
    card: dict[str, Json]  # what others are shown of this person
    session: str = ""
    cut_off: bool = False
    comments: Json = None  # the mark of the comments this tab knows, see ``rows.Look``
    runs: dict[str, str] = field(default_factory=dict)
    queue: asyncio.Queue[Said | None] = field(default_factory=lambda: asyncio.Queue(QUEUE))

    @property
    def key(self) -> str:
        """Nobody can speak as somebody else: the server puts the person in front."""
        return seat_key(self.user_id, self.client)

    def put(self, said: Said) -> None:
        try:
            self.queue.put_nowait(said)
        except asyncio.QueueFull:
            self.end()

    def tell_revision(self, revision: int, client: str | None) -> None:
        if revision > self.revision:
            self.revision = revision
            self.put(Said("revision", {"revision": revision, "client": client}, revision))

    def end(self) -> None:
        """The stream closes once it looks; what is still in the queue isn't told any more."""
        self.cut_off = True
        if self.queue.full():
            self.queue.get_nowait()
        self.queue.put_nowait(None)


def seat_key(user_id: UUID | None, client: str) -> str:
    return f"{user_id}:{client}"


def card_of(user: User, client: str, *, can_edit: bool) -> dict[str, Json]:
    """Never the address: a name, or the part of it that the team's pages show anyway."""
    name = user.name or user.get_short_name()
    return {
        "client": client,
        "user": str(user.pk),
        "name": name,
        "initials": initials(name),
        "colour": int(user.pk.int % COLOURS),
        "edits": can_edit,
        "selection": [],
        "editing": None,
    }


def initials(name: str) -> str:
    words = name.split()
    letters = words[0][:1] + (words[-1][:1] if len(words) > 1 else "") if words else "?"
    return letters.upper()
