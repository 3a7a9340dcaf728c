"""The outgoing bus messages of runs: events in their order, with text at its position between them.

The first text of each source in a run leaves at once, and so does the end of a run. Further text waits for more text until
25 ms after the worker's last message; a committed event waits up to 20 ms for further events. Publishing a message costs the
event loop as much as a commit.
"""

import asyncio
from dataclasses import dataclass, field
from uuid import UUID

from workflows.execution.events.bus import Publisher, get_channel
from workflows.execution.journal.codec import dump


TEXT_DELAY = 0.025
EVENTS_DELAY = 0.02
MAX_EVENT_CHARACTERS = 48_000  # a larger event is announced and read from its row


@dataclass(slots=True)
class PendingText:
    """Text of one source that is not in a message yet. ``after`` is the number of the event before it."""

    after: int
    offset: int  # in the run's text, in UTF-16 units
    node: str
    source: str | None
    pieces: list[str]

    def to_item(self) -> str:
        return dump(["t", self.after, self.offset, self.node, self.source, "".join(self.pieces)])


@dataclass(slots=True)
class RunMessages:
    """The items of a run's next message as JSON, and the text that waits for the commit of the event before it."""

    attempt: int
    last_seq: int  # of the last committed event
    texts: list[PendingText] = field(default_factory=list)
    items: list[str] = field(default_factory=list)
    # The node and source of each text that was moved to items.
    sources: set[tuple[str, str | None]] = field(default_factory=set)
    is_urgent: bool = False  # the first text of a source is among the items

    @property
    def has_first_text(self) -> bool:
        """Return whether the first text of a source waits for no commit any more, only to be sent."""
        return self.is_urgent or any(
            text.after <= self.last_seq and (text.node, text.source) not in self.sources
            for text in self.texts
        )

    def add_text(self, after: int, offset: int, node: str, source: str | None, text: str) -> None:
        """Add text after this event number; it extends the previous text of the same source."""
        last = self.texts[-1] if self.texts else None
        if last is not None and (last.after, last.node, last.source) == (after, node, source):
            last.pieces.append(text)
        else:
            self.texts.append(PendingText(after, offset, node, source, [text]))

    def add_event(self, seq: int, name: str, data: str) -> None:
        """Add a committed event, and before it the text that precedes it. A large event is added without its data."""
        if self.texts:
            self.move_texts(seq)
        self.last_seq = seq
        is_large = len(data) > MAX_EVENT_CHARACTERS
        self.items.append(f'["e",{seq}]' if is_large else f'["e",{seq},"{name}",{data}]')

    def move_texts(self, before: int | None = None) -> None:
        """Move the text before this event number to the items, by default all text that follows committed events."""
        limit = self.last_seq + 1 if before is None else before
        moved = [text for text in self.texts if text.after < limit]
        sources = {(text.node, text.source) for text in moved}
        self.is_urgent = self.is_urgent or not sources <= self.sources
        self.sources |= sources
        self.items += [text.to_item() for text in moved]
        self.texts = [text for text in self.texts if text.after >= limit]


class Outbox:
    """The outgoing messages of a worker's runs. All messages that are due are sent in one round trip."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self._runs: dict[UUID, RunMessages] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ends = 0.0  # by the loop's clock
        self._sending: asyncio.Task[None] | None = None
        self._ready: list[tuple[str, str]] = []  # channel and message
        self._is_send_due = False  # as soon as what is being sent has been sent
        self._sent_at = float("-inf")  # by the loop's clock

    def open_run(self, run_id: UUID, attempt: int, last_seq: int) -> RunMessages:
        """Return the messages of a new attempt at a run, whose items are sent from now on."""
        messages = self._runs[run_id] = RunMessages(attempt, last_seq)
        return messages

    def close_run(self, run_id: UUID, messages: RunMessages) -> None:
        """Send the remaining items of the attempt, unless a later attempt has been opened."""
        if self._runs.get(run_id) is messages:
            self._collect(run_id, messages)
            del self._runs[run_id]
            self.schedule(0)

    async def drain(self) -> None:
        """Send all messages now, and wait until they are sent."""
        self._send()
        while self._sending is not None and not self._sending.done():
            await self._sending  # after which what waited for it is being sent

    def schedule_text(self, messages: RunMessages) -> None:
        """Send what there is as soon as the last message is ``TEXT_DELAY`` old, and the first text of a source at once."""
        if messages.has_first_text:
            self.schedule(0)
            return
        now = asyncio.get_running_loop().time()
        self.schedule(max(0.0, self._sent_at + TEXT_DELAY - now))

    def schedule_events(self, messages: RunMessages) -> None:
        """Send committed events after ``EVENTS_DELAY``, or at once with the first text of a source that waited for them."""
        self.schedule(0 if messages.has_first_text else EVENTS_DELAY)

    def schedule(self, delay: float) -> None:
        """Send after the delay in seconds, or sooner if that is scheduled."""
        loop = asyncio.get_running_loop()
        when = loop.time() + delay
        if self._timer is not None:
            if self._timer_ends <= when:
                return
            self._timer.cancel()
        self._timer, self._timer_ends = loop.call_at(when, self._send), when

    def _collect(self, run_id: UUID, messages: RunMessages) -> None:
        messages.move_texts()
        if messages.items:
            body = f'{{"attempt":{messages.attempt},"items":[{",".join(messages.items)}]}}'
            self._ready.append((get_channel(run_id), body))
            messages.items, messages.is_urgent = [], False

    def _send(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._sending is not None and not self._sending.done():
            self._is_send_due = True  # one publish at a time, which keeps the order
            return
        for run_id, messages in self._runs.items():
            self._collect(run_id, messages)
        if self._ready:
            ready, self._ready = self._ready, []
            self._sent_at = asyncio.get_running_loop().time()
            self._sending = asyncio.create_task(self._publisher.publish(ready))
            self._sending.add_done_callback(self._send_what_waited)

    def _send_what_waited(self, _task: "asyncio.Task[None]") -> None:
        if self._is_send_due:
            self._is_send_due = False
            self._send()
