"""Asking memory, for every kind that does: the port or a clear error, hits as plain values, events."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from workflows.engine.document import Json
from workflows.engine.errors import MemoryUnavailable, NodeFailed
from workflows.engine.events import MemoryKeptOut, MemoryRecalled
from workflows.engine.kinds import NodeContext
from workflows.engine.outside import is_strangers
from workflows.engine.ports import MemoryHit, MemoryPort
from workflows.engine.rendering import as_text


# What a scope can't do without; the other scopes have a default or come from the run itself.
_NEEDS = {"conversation": "conversation_id", "user": "user_id"}


def memory_of(ctx: NodeContext, scope: str) -> MemoryPort:
    if ctx.ports.memory is None:
        raise MemoryUnavailable("No memory provider is configured; the node needs one")
    needed = _NEEDS.get(scope)
    if needed is not None and not ctx.pool.get(("sys", needed)):
        message = f"sys.{needed} not set; required for {scope} scope"
        raise NodeFailed("MemoryIdentityMissing", message)
    return ctx.ports.memory


def query_of(selector: Sequence[str] | None, ctx: NodeContext) -> str | None:
    """What is looked for, as text; nothing where nothing is asked or known."""
    query = ctx.pool.get_or_none(selector) if selector else None
    return None if query is None else as_text(query)


async def recall(
    ctx: NodeContext,
    *,
    scope: str,
    key: str | None = None,
    query: str | None = None,
    filter: Mapping[str, Json] | None = None,  # noqa: A002 - the contract's word
    top_k: int | None = None,
    injected: bool = False,
    recency_days: float | None = None,
) -> tuple[list[MemoryHit], MemoryRecalled]:
    memory = memory_of(ctx, scope)
    hits = await memory.recall(
        scope=scope,
        identity=ctx.identity,
        origin=ctx.origin,
        key=key,
        query_text=query,
        filter=filter,
        top_k=top_k,
        injected=injected,
        recency_days=recency_days,
    )
    heed(ctx, hits)
    event = recalled(ctx, scope, query, hits, injected=injected)
    sought: dict[str, Json] = {
        "key": key,
        "filter": dict(filter) if filter else None,
        "top_k": top_k,
    }
    if recency_days is not None:
        sought["recency_days"] = recency_days
    return list(hits), replace(event, sought=sought)


def heed(ctx: NodeContext, hits: Sequence[MemoryHit]) -> None:
    """What a step was told from outside is remembered of it; see ``workflows.engine.outside``."""
    ctx.hear([hit.key for hit in hits if is_strangers(hit.metadata)])


def recalled(
    ctx: NodeContext,
    scope: str,
    query: str | None,
    hits: Sequence[MemoryHit],
    *,
    injected: bool = False,
) -> MemoryRecalled:
    return MemoryRecalled(
        node=ctx.node_id,
        scope=scope,
        namespace=hits[0].namespace if hits else "",
        query=query,
        entries=[brief(hit) for hit in hits],
        injected=injected,
        withheld=getattr(hits, "withheld", None),  # not every memory can say why it gave nothing
    )


def kept_out(fault: Exception, ctx: NodeContext, scope: str, key: str) -> MemoryKeptOut | None:
    """That memory let something not in is no failure of the node. Its error lives elsewhere; it has reasons."""
    reasons = getattr(fault, "reasons", None)
    return MemoryKeptOut(ctx.node_id, scope, key, list(reasons)) if reasons else None


def held_back(hit: MemoryHit, node: str, scope: str, key: str) -> MemoryKeptOut:
    """What memory took and doesn't use: it waits in quarantine for somebody to look at it."""
    metadata = dict(hit.metadata or {})
    listed = metadata.get("quarantined_for")
    reasons = [str(one.get("reason", "")) for one in listed or () if isinstance(one, Mapping)]
    return MemoryKeptOut(node, scope, key, reasons, hit.id)


def as_entry(hit: MemoryHit) -> dict[str, Json]:
    """One hit as a workflow value."""
    return {
        "id": hit.id,
        "namespace": hit.namespace,
        "key": hit.key,
        "value": hit.value,
        "metadata": dict(hit.metadata or {}),
        "score": hit.score,
    }


def brief(hit: MemoryHit) -> dict[str, Json]:
    """One hit as its event has it. ``parts`` explain the score; ``run`` is where it was learnt. Not every memory can say either."""
    source = getattr(hit, "source", None)
    return {
        "id": hit.id,
        "key": hit.key,
        "value": hit.value,
        "score": hit.score,
        "parts": dict(getattr(hit, "explain", None) or {}),
        "run": getattr(source, "run_id", "") or "",
    }
