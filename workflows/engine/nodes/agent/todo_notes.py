"""The notes of a run, which the steps of the todo loop write and read, together with its memory nodes and tools.

They are entries of the scope ``run`` in the form of ``memory.notes.notebook``, and expire after thirty minutes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from workflows.engine.kinds import NodeContext
from workflows.engine.language.content_marks.untrusted import WEB, is_untrusted_memory
from workflows.engine.language.document import Json
from workflows.engine.nodes.memory.memory_access import (
    SECRET_REFUSED,
    build_written_event,
    has_secret,
)
from workflows.engine.ports import MemoryPort, Origin
from workflows.engine.runtime.step_parts import PartResult
from workflows.engine.text_rendering import remove_unstorable


NOTES_SCOPE: Final = "run"
NOTE_KIND: Final = "agent-note"
LIFETIME: Final = 1800.0  # seconds
MAX_NOTES: Final = 50
_FIELDS: Final = ("content", "source", "time", "temporary")


@dataclass(frozen=True, slots=True)
class Note:
    value: Mapping[str, Json]
    is_untrusted: bool = False

    @property
    def content(self) -> str:
        return str(self.value["content"])


class TodoNotes:
    """The notes of one run of an agent. Without memory they last as long as the agent's step."""

    def __init__(self, ctx: NodeContext) -> None:
        self._ctx = ctx
        self._memory: MemoryPort | None = ctx.ports.memory
        self.written: list[Note] = []  # oldest first

    async def add(self, part: str, content: str, source: str, *, is_untrusted: bool) -> None:
        """Store a note once, whatever happens to the worker."""
        ctx, memory = self._ctx, self._memory
        if ctx.parts is None:
            return

        async def call(origin: Origin) -> PartResult:
            time = round(ctx.ports.clock.now().timestamp() * 1000)
            text = SECRET_REFUSED if await has_secret(ctx, content) else content
            value = {
                "content": remove_unstorable(text),
                "source": source,
                "time": time,
                "temporary": True,
            }
            if memory is None:
                return PartResult(value)
            hit = await memory.store(
                scope=NOTES_SCOPE,
                identity=ctx.identity,
                origin=origin,
                key=f"note:{origin.idempotency_key.removeprefix(ctx.run_id).strip(':')}",
                value=value,
                metadata={"category": "note", **({"origin": WEB} if is_untrusted else {})},
                tier="working",
                ttl_seconds=LIFETIME,
            )
            return PartResult(value, events=(build_written_event(hit, ctx.node_id, NOTES_SCOPE),))

        outputs = await ctx.parts.run(part, NOTE_KIND, call, title=source, inputs={})
        self.written.append(Note(dict(outputs), is_untrusted))

    async def read(self) -> list[Note]:
        """Return the unexpired notes of the run, newest first."""
        if self._memory is None:
            oldest = self._ctx.ports.clock.now().timestamp() * 1000 - LIFETIME * 1000
            return [note for note in reversed(self.written) if note.value["time"] > oldest]
        hits: Sequence[Any] = await self._memory.recall(
            scope=NOTES_SCOPE,
            identity=self._ctx.identity,
            origin=self._ctx.origin,
            filter={"category": "note"},
        )
        notes = [
            Note({name: hit.value[name] for name in _FIELDS}, is_untrusted_memory(hit.metadata))
            for hit in hits
            if isinstance(hit.value, Mapping) and hit.value.keys() >= {*_FIELDS}
        ]
        notes.sort(key=lambda note: note.value["time"], reverse=True)
        return notes[:MAX_NOTES]
