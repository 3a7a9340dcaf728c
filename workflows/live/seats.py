"""The seat of one tab in a draft: who sits there, what it was sent, and what waits to be sent."""

import asyncio
from dataclasses import dataclass, field
from uuid import UUID

from accounts.models import User
from workflows.engine.language.document import Json


QUEUE = (
    256  # events a tab may be behind; then its stream ends, and it comes back for what it missed
)
COLOURS = 8  # of ``--person-…`` in static/css/together.css


@dataclass(frozen=True, slots=True)
class LiveEvent:
    """An event of the stream; only revisions have a number to continue after."""

    name: str
    data: Json
    revision: int | None = None


@dataclass(eq=False, slots=True)
class Seat:
    """A tab that watches a draft; it belongs to one event loop. ``revision`` is the last one this tab was sent."""

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
    queue: asyncio.Queue[LiveEvent | None] = field(default_factory=lambda: asyncio.Queue(QUEUE))

    @property
    def key(self) -> str:
        """The key of the seat, with the person put in front by the server, so that nobody can act as somebody else."""
        return make_seat_key(self.user_id, self.client)

    def put(self, event: LiveEvent) -> None:
        try:
            self.queue.put_nowait(event)
        except asyncio.QueueFull:
            self.end()

    def tell_revision(self, revision: int, client: str | None) -> None:
        if revision > self.revision:
            self.revision = revision
            self.put(LiveEvent("revision", {"revision": revision, "client": client}, revision))

    def end(self) -> None:
        """Close the stream at its next turn; what is still in the queue isn't sent any more."""
        self.cut_off = True
        if self.queue.full():
            self.queue.get_nowait()
        self.queue.put_nowait(None)


def make_seat_key(user_id: UUID | None, client: str) -> str:
    return f"{user_id}:{client}"


def build_card(user: User, client: str, *, can_edit: bool) -> dict[str, Json]:
    """Build the card that others see. It never holds the e-mail address, only the name that the team's pages show
    anyway.
    """
    name = user.name or user.get_short_name()
    return {
        "client": client,
        "user": str(user.pk),
        "name": name,
        "initials": get_initials(name),
        "colour": int(user.pk.int % COLOURS),
        "edits": can_edit,
        "selection": [],
        "editing": None,
    }


def get_initials(name: str) -> str:
    words = name.split()
    letters = words[0][:1] + (words[-1][:1] if len(words) > 1 else "") if words else "?"
    return letters.upper()
