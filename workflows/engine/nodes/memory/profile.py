"""The profile of the person of a run, which the prompts of a node get whatever its question is."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from workflows.engine.kinds import NodeContext
from workflows.engine.language.memory_usage import PROFILE_SCOPE
from workflows.engine.memory_ports import ProfilePort
from workflows.engine.nodes.memory.disagreeing import list_shown
from workflows.engine.nodes.memory.memory_access import build_recalled_event, record_shown_hits
from workflows.engine.ports import MemoryHit
from workflows.engine.runtime.events import MemoryRecalled


H = TypeVar("H", bound=MemoryHit)


async def recall_profile(
    ctx: NodeContext, *, injected: bool = False
) -> tuple[tuple[MemoryHit, ...], tuple[MemoryRecalled, ...]]:
    """Return the entries of the profile and the event that reports them.

    A run for nobody has no profile, nor has a memory that keeps none: then both are empty.
    """
    memory: object = ctx.ports.memory
    if not isinstance(memory, ProfilePort) or not ctx.pool.get(("sys", "user_id")):
        return (), ()
    profile = await memory.recall_profile(
        identity=ctx.identity, origin=ctx.origin, injected=injected
    )
    entries = list_shown(profile.entries)
    record_shown_hits(ctx, entries)
    event = replace(
        build_recalled_event(ctx, PROFILE_SCOPE, None, entries, injected=injected),
        sought={"profile": True, "left_out": len(profile.left_out)},
        withheld=profile.withheld,
    )
    return tuple(entries), (event,)


def exclude_profile(hits: Sequence[H], profile: Sequence[MemoryHit]) -> Sequence[H]:
    """Return the hits that the profile doesn't have already."""
    ids = {entry.id for entry in profile}
    return [hit for hit in hits if hit.id not in ids] if ids else hits
