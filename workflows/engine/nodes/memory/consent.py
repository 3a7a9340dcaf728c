"""Asks a person before memories are forgotten on the word of untrusted content.

The person sees the memories that are meant, and the answer is valid for exactly these as they are: if one was changed or
added before they are forgotten, the person is asked again.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from workflows.engine.kinds import NodeContext
from workflows.engine.language.content_marks.untrusted import is_influenced
from workflows.engine.language.document import Json, Selector
from workflows.engine.nodes.memory.memory_access import get_memory
from workflows.engine.ports import MemoryHit, Origin
from workflows.engine.runtime.waits import (
    ALLOW,
    APPROVAL_ACTIONS,
    FORGETS_FOR_OUTSIDE,
    Answer,
    Wait,
)


FORGET: Final = "forget"
MAX_MEANT: Final = 100  # more memories are neither shown nor forgotten
_MAX_TEXT: Final = 2_000  # characters of a memory that are shown
# Stands between the name of a part and the digest of what was changed after a person was asked.
CHANGED: Final = "@"
_DIGEST_LENGTH: Final = 16


def needs_consent(ctx: NodeContext, selectors: Iterable[Selector] = ()) -> bool:
    """Return whether untrusted content chose what a step forgets, in these variables, or decided that the step runs."""
    return is_influenced(ctx.node_id, selectors, ctx.untrusted)


async def find_meant(
    ctx: NodeContext,
    scope: str,
    origin: Origin,
    *,
    key: str | None = None,
    filter: Mapping[str, Json] | None = None,  # noqa: A002 -- the word of the nodes
) -> Sequence[MemoryHit]:
    """Return the memories that a key or a filter selects now, former ones included."""
    memory = get_memory(ctx, scope)
    hits = await memory.recall(
        scope=scope,
        identity=ctx.identity,
        origin=origin,
        key=key,
        filter=filter,
        top_k=MAX_MEANT,
        include_former=True,
    )
    return sorted(hits, key=lambda hit: hit.id)


def describe_meant(hits: Iterable[MemoryHit]) -> list[Json]:
    """Return the memories as the form of the question shows them."""
    return [{"key": hit.key, "value": _shorten(hit.value)} for hit in hits]


def build_digest(hits: Iterable[MemoryHit]) -> str:
    """Return a text that no other memories have, nor these with other values."""
    return hash_meant([[hit.id, hit.key, hit.value] for hit in hits])


def hash_meant(memories: Sequence[Json]) -> str:
    text = json.dumps(memories, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def may_forget(
    ctx: NodeContext, selection: Mapping[str, Json], memories: Sequence[Json], digest: str
) -> bool:
    """Return whether a person has allowed to forget these memories, which the ``selection`` of a step means.

    Raises StepWaiting, which pauses the run, as long as nobody has answered, also if other memories were meant when
    somebody allowed it. What was refused stays so.
    """
    conditions = {name: value for name, value in selection.items() if value}
    form = {
        "type": "approval",
        "content": "",
        "tool": FORGET,
        "cause": FORGETS_FOR_OUTSIDE,
        "arguments": {**conditions, "memories": list(memories)},
        "call": digest,
        "inputs": [],
        "actions": [dict(action) for action in APPROVAL_ACTIONS],
    }
    return wait_for_consent(ctx, Wait(form), digest).action == ALLOW


def wait_for_consent(ctx: NodeContext, wait: Wait, digest: str, part: str = "") -> Answer:
    """Return the answer about exactly what has this digest. Raises StepWaiting as long as there is none.

    If something else was allowed, a person is asked again. What was refused stays so, whatever was changed meanwhile.
    """
    first = ctx.answers.get(part)
    is_changed = first is not None and first.action == ALLOW and first.call not in ("", digest)
    return ctx.wait_for(wait, f"{part}{CHANGED}{digest[:_DIGEST_LENGTH]}" if is_changed else part)


def _shorten(value: Json) -> Json:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return value if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"
