"""The seat of a tab on a draft: its person, the last sent revision and the outgoing queue."""

import asyncio
from dataclasses import dataclass, field
from uuid import UUID

from accounts.models import User
from workflows.engine.language.document import Json


QUEUE_SIZE = 256  # events that a tab may be behind; then its stream ends, and it reconnects
COLORS = 8  # of ``--person-…`` in static/css/together.css

Watch = tuple[UUID, UUID, str]  # workflow, person, session


@dataclass(frozen=True, slots=True)
class LiveEvent:
    """An event of the stream; only revisions have a number to continue after."""

    name: str
    data: Json
    revision: int | None = None


@dataclass(eq=False, slots=True)
class Seat:
    """A tab that watches a draft; it belongs to one event loop. ``revision`` is the last revision sent to the tab."""

    team_id: UUID
    workflow_id: UUID
    user_id: UUID
    client: str
    revision: int
    card: dict[str, Json]  # shown to the other people on the draft
    session: str = ""
    cut_off: bool = False
    comments: Json = None  # the marker of the comments that this tab has, see ``rows.DraftNews``
    runs: dict[str, str] = field(default_factory=dict)
    queue: asyncio.Queue[LiveEvent | None] = field(
        default_factory=lambda: asyncio.Queue(QUEUE_SIZE)
    )

    @property
    def watch(self) -> Watch:
        return self.workflow_id, self.user_id, self.session

    @property
    def key(self) -> str:
        """Return the key of the seat; the server prepends the person, so that no person can act as another."""
        return make_seat_key(self.user_id, self.client)

    def put(self, event: LiveEvent) -> None:
        try:
            self.queue.put_nowait(event)
        except asyncio.QueueFull:
            self.end()

    def put_revision(self, revision: int, client: str | None) -> None:
        if revision > self.revision:
            self.revision = revision
            self.put(LiveEvent("revision", {"revision": revision, "client": client}, revision))

    def end(self) -> None:
        """Close the stream when it next waits; the rest of the queue isn't sent."""
        self.cut_off = True
        if self.queue.full():
            self.queue.get_nowait()
        self.queue.put_nowait(None)


def make_seat_key(user_id: UUID | None, client: str) -> str:
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
