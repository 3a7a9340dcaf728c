"""The memory of the workflow in the todo loop: what a person replies is stored in it, and each todo recalls from it.

It is the memory that the agent recalls into its prompt (``enhanced_memory``) in the scope ``workflow``. Both are recorded
like any other call, so that a repeated attempt stores nothing twice and works with the same memories.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from workflows.engine.language.content_marks.untrusted import WEB, is_untrusted_memory
from workflows.engine.language.document import Json
from workflows.engine.nodes.agent.first_prompt import read_records, to_record
from workflows.engine.nodes.agent.session import AgentSession
from workflows.engine.nodes.memory.memory_access import (
    SECRET,
    build_rejected_event,
    build_written_event,
    get_memory,
    has_secret,
    recall_entries,
)
from workflows.engine.ports import MemoryHit, Origin
from workflows.engine.runtime.events import Event, MemoryKeptOut
from workflows.engine.runtime.step_parts import PartResult
from workflows.engine.text_rendering import remove_unstorable


SCOPE: Final = "workflow"
MEMORY_KIND: Final = "agent-memory"
_PERSON: Final = "person"  # the origin of a reply, as the memory gate names it


class TodoMemory:
    """The memory of one run of the loop, which does nothing unless the agent recalls from the workflow's memory."""

    def __init__(self, session: AgentSession) -> None:
        self._session, self._ctx = session, session.ctx
        settings = session.config.enhanced_memory
        is_on = settings is not None and settings.enabled and settings.scope == SCOPE
        self._settings = settings if is_on else None

    async def store_reply(self, part: str, text: str, *, question: str, is_untrusted: bool) -> None:
        """Store what a person replied. What memory refuses, such as a secret, is reported and ends nothing."""
        if self._settings is None:
            return
        ctx = self._ctx
        metadata: dict[str, Json] = {
            "category": "reply",
            "question": remove_unstorable(question),
            "origin": WEB if is_untrusted else _PERSON,
        }

        async def call(origin: Origin) -> PartResult:
            key = f"reply:{hashlib.sha256(origin.idempotency_key.encode()).hexdigest()[:12]}"
            if await has_secret(ctx, [text, question]):
                kept_out = MemoryKeptOut(ctx.node_id, SCOPE, key, [SECRET])
                return PartResult({"key": key, "stored": False}, events=(kept_out,))
            try:
                hit = await get_memory(ctx, SCOPE).store(
                    scope=SCOPE,
                    identity=ctx.identity,
                    origin=origin,
                    key=key,
                    value=remove_unstorable(text),
                    metadata=metadata,
                )
            except Exception as fault:
                event: Event | None = build_rejected_event(fault, ctx, SCOPE, key)
                if event is None:
                    raise
                return PartResult({"key": key, "stored": False}, events=(event,))
            event = build_written_event(hit, ctx.node_id, SCOPE)
            return PartResult({"key": hit.key, "stored": True}, events=(event,))

        await self._session.parts.run(part, MEMORY_KIND, call, inputs={"question": question})

    async def recall(self, part: str, query: str) -> list[MemoryHit]:
        """Return the memories that are relevant to a todo, without those that the first prompt holds already."""
        settings = self._settings
        if settings is None:
            return []

        async def call(origin: Origin) -> PartResult:
            hits, event = await recall_entries(
                self._ctx,
                scope=SCOPE,
                query=query,
                filter=settings.filter,
                top_k=settings.top_k,
                injected=True,
                recency_days=settings.recency_days,
                min_score=settings.min_score,
                finds_former=settings.finds_former,
                origin=origin,
            )
            return PartResult({"memories": [to_record(hit) for hit in hits]}, events=(event,))

        outputs: Mapping[str, Any] = await self._session.parts.run(
            part, MEMORY_KIND, call, inputs={"query": query}
        )
        hits = read_records(outputs["memories"])
        self._session.add_shown_memories(hits)
        untrusted = [hit.key for hit in hits if is_untrusted_memory(hit.metadata)]
        if untrusted:
            self._session.mark_untrusted(untrusted)
        return _select_new(hits, self._session.memories)


def _select_new(hits: Sequence[MemoryHit], earlier_hits: Sequence[MemoryHit]) -> list[MemoryHit]:
    earlier = {(hit.id, str(hit.value)) for hit in earlier_hits}
    return [hit for hit in hits if (hit.id, str(hit.value)) not in earlier]
