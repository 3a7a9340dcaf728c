"""The memory nodes share the access to the memory ports, entries as workflow values, and events."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from workflows.engine.configuration import Field, Widget
from workflows.engine.earlier_turns import EarlierTurn
from workflows.engine.errors import MemoryUnavailable, NodeFailed
from workflows.engine.kinds import NodeContext
from workflows.engine.language.content_marks.untrusted import is_untrusted_memory
from workflows.engine.language.document import Json, Selector
from workflows.engine.language.memory_usage import INITIAL_SCOPE, SCOPE_HELP, SCOPE_HINTS, SCOPES
from workflows.engine.memory_ports import KnowledgePort, LearningPort, TurnsPort, WikiPort
from workflows.engine.nodes.memory.disagreeing import list_shown
from workflows.engine.ports import MemoryHit, MemoryPort, Origin
from workflows.engine.runtime.events import MemoryKeptOut, MemoryRecalled, MemoryWritten
from workflows.engine.text_rendering import as_text
from workflows.engine.texts import gettext_noop


H = TypeVar("H", bound=MemoryHit)

# Scope → the system variable that it requires; the other scopes have a default or come from the run itself.
_REQUIRED_VARIABLES = {"conversation": "conversation_id", "user": "user_id"}

QUARANTINE: Final = "quarantine"  # the tier of what waits for a review
FROM_OUTSIDE: Final = "from_outside"

# The scopes of pages.
PAGE_SCOPES: Final = (
    ("global", gettext_noop("Global")),
    ("user", gettext_noop("User")),
    ("conversation", gettext_noop("Conversation")),
)
# The reason for which memory keeps content out, and what a model is told.
SECRET: Final = "secret"  # noqa: S105 - the name of a rule
SECRET_REFUSED: Final = "A stored secret is in it, which may not be written anywhere."  # noqa: S105 - a sentence
# Fields of several kinds.
SCOPE_FIELD: Final = Field(
    "scope",
    gettext_noop("Scope"),
    Widget.CHOICE,
    required=True,
    default=INITIAL_SCOPE,
    choices=SCOPES,
    help=SCOPE_HELP,
    choice_hints=SCOPE_HINTS,
)
TRUSTS_OUTSIDE_FIELD: Final = Field(
    "trusts_outside",
    gettext_noop("Skip quarantine for external content"),
    Widget.SWITCH,
    is_advanced=True,
    help=gettext_noop(
        "By default, text from the web or a tool in user or global scope stays in quarantine until it is approved, and in other scopes it replaces nothing that is trusted. Turn this on to store it directly."
    ),
)


def get_memory(ctx: NodeContext, scope: str) -> MemoryPort:
    """Return the memory port. Raises MemoryUnavailable, or NodeFailed without the variable that the scope needs."""
    if ctx.ports.memory is None:
        raise MemoryUnavailable("No memory provider is configured; this node needs one")
    variable = _REQUIRED_VARIABLES.get(scope)
    if variable is not None and not ctx.pool.get(("sys", variable)):
        message = f"sys.{variable} not set; required for {scope} scope"
        raise NodeFailed("MemoryIdentityMissing", message)
    return ctx.ports.memory


async def would_replace_trusted(
    ctx: NodeContext, address: Mapping[str, Any], key: str, value: Json
) -> bool:
    """Return whether an entry with this key and another value is there that didn't come from outside.

    Where nobody reviews what is stored, its value would be gone without a person. ``address`` has scope, identity and origin.
    """
    hits = await get_memory(ctx, address["scope"]).recall(**address, key=key, top_k=1)
    return any(not is_untrusted_memory(hit.metadata) and hit.value != value for hit in hits)


def hold_for_review(metadata: dict[str, Json]) -> str:
    """Note in the metadata of an entry from outside why it waits for a review, and return its tier."""
    metadata["quarantined_for"] = [{"reason": FROM_OUTSIDE, "detail": ""}]
    return QUARANTINE


def get_learning(ctx: NodeContext, scope: str) -> LearningPort:
    memory = get_memory(ctx, scope)
    if not isinstance(memory, LearningPort):
        raise MemoryUnavailable("This memory provider doesn't take facts from messages")
    return memory


def get_knowledge(ctx: NodeContext, scope: str) -> KnowledgePort:
    memory = get_memory(ctx, scope)
    if not isinstance(memory, KnowledgePort):
        raise MemoryUnavailable("This memory provider doesn't support knowledge pages")
    return memory


def get_wiki(ctx: NodeContext, scope: str) -> WikiPort:
    memory = get_memory(ctx, scope)
    if not isinstance(memory, WikiPort):
        raise MemoryUnavailable("This memory provider doesn't support sources of knowledge pages")
    return memory


def get_objects(
    selector: Selector | None, ctx: NodeContext, error_type: str, field: str
) -> list[dict[str, Json]]:
    """Return the objects in a variable that holds a list of objects or a single one; without a value, an empty list.

    Raises NodeFailed of ``error_type`` for any other value, with the name of the ``field``.
    """
    value = ctx.pool.get_or_none(selector) if selector else None
    items = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(item, dict) for item in items):
        raise NodeFailed(error_type, f"{field}: a list of objects was expected")
    return items


def get_query(selector: Sequence[str] | None, ctx: NodeContext) -> str | None:
    """Return the query as text, or None if there is no variable or it has no value."""
    query = ctx.pool.get_or_none(selector) if selector else None
    return None if query is None else as_text(query)


class Ranker(Protocol):
    """Chooses the best of recalled entries, best first, among as many ``candidates``."""

    @property
    def candidates(self) -> int: ...
    async def rank(self, hits: Sequence[MemoryHit]) -> Sequence[MemoryHit]: ...


async def recall_entries(
    ctx: NodeContext,
    *,
    scope: str,
    key: str | None = None,
    query: str | None = None,
    filter: Mapping[str, Json] | None = None,  # noqa: A002 - the contract's word
    top_k: int | None = None,
    injected: bool = False,
    recency_days: float | None = None,
    min_score: float | None = None,
    origin: Origin | None = None,  # of one of several calls of the step
    include_recent: bool = False,
    finds_former: bool = True,
    ranker: Ranker | None = None,  # chooses ``top_k`` of more candidates
) -> tuple[list[MemoryHit], MemoryRecalled]:
    """Return the entries that memory recalls, and the event that reports it.

    With ``include_recent`` the most recent entries follow those that match the query, up to ``top_k``. With ``finds_former`` a
    query about the past finds what no longer holds, too. What disagrees with an entry stands beside it, also beyond ``top_k``.
    """
    recall = partial(
        get_memory(ctx, scope).recall,
        scope=scope,
        identity=ctx.identity,
        origin=origin or ctx.origin,
        filter=filter,
        injected=injected,
        without_lessons=ctx.answers_chat,
    )
    search_memory = partial(
        recall,
        key=key,
        query_text=query,
        recency_days=recency_days,
        min_score=min_score,
        include_former=None if finds_former else False,
    )
    hits, left_out = await _recall_best(search_memory, top_k, ranker)
    relevant_count = len(list_shown(hits))
    if include_recent and key is None and query and top_k and len(hits) < top_k:
        hits = extend_hits(hits, await recall(top_k=top_k), top_k)
    hits = list_shown(hits)
    record_shown_hits(ctx, hits)
    event = build_recalled_event(ctx, scope, query, hits, injected=injected)
    search = _describe_search(
        key=key,
        filter=dict(filter) if filter else None,
        top_k=top_k,
        recency_days=recency_days,
        min_score=min_score,
        include_recent=include_recent or None,
        finds_former=None if finds_former else False,
    )
    return list(hits), replace(
        event,
        sought=search,
        recent_count=len(hits) - relevant_count,
        left_out=_select_unused(left_out, hits),
    )


async def _recall_best(
    recall: Callable[..., Awaitable[Sequence[MemoryHit]]], top_k: int | None, ranker: Ranker | None
) -> tuple[Sequence[MemoryHit], list[dict[str, Json]]]:
    """Return the entries that memory recalls or, with a ranker, the best of its candidates; and what memory left out."""
    if ranker is None:
        hits = await recall(top_k=top_k)
        return hits, list_left_out(hits)
    candidates = await recall(top_k=ranker.candidates)
    hits = await ranker.rank(candidates) if candidates else candidates
    return hits, list_left_out(candidates)


def _select_unused(
    left_out: Sequence[dict[str, Json]], hits: Sequence[MemoryHit]
) -> list[dict[str, Json]]:
    used_ids = {hit.id for hit in hits}
    return [each for each in left_out if each["id"] not in used_ids]


def _describe_search(
    *,
    key: str | None,
    filter: Mapping[str, Json] | None,  # noqa: A002 - as above
    top_k: int | None,
    **optional: Json,
) -> dict[str, Json]:
    """Return what was sought, as an event has it, without the options that were not given."""
    options = {name: value for name, value in optional.items() if value is not None}
    return {"key": key, "filter": filter, "top_k": top_k, **options}


def list_left_out(hits: Sequence[MemoryHit]) -> list[dict[str, Json]]:
    """Return what memory considered and left out, as an event has it. Not every memory says so."""
    return [
        {"id": each.id, "score": each.score, "reason": str(each.reason)}
        for each in getattr(hits, "left_out", ())
    ]


def extend_hits(hits: Sequence[H], recent: Sequence[H], limit: int) -> Sequence[H]:
    """Return the hits and, up to the limit, the recent entries that are not among them.

    Without any, the hits stay what they are, since memory may say with them why it withholds entries.
    """
    ids = {hit.id for hit in hits}
    others = [hit for hit in recent if hit.id not in ids]
    return [*hits, *others][:limit] if others else hits


def record_shown_hits(ctx: NodeContext, hits: Sequence[MemoryHit]) -> None:
    """Record with the step what it was shown of memory: the texts, and which of them are untrusted."""
    ctx.record_memories(as_text(hit.value) for hit in hits)
    record_untrusted_hits(ctx, hits)


def record_untrusted_hits(ctx: NodeContext, hits: Sequence[MemoryHit]) -> None:
    """Record the untrusted hits with the step, as ``workflows.engine.language.content_marks.untrusted`` explains."""
    ctx.record_untrusted_keys([hit.key for hit in hits if is_untrusted_memory(hit.metadata)])


def build_recalled_event(
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
        entries=[to_event_entry(hit) for hit in hits],
        injected=injected,
        # Not every memory reports why it returned nothing.
        withheld=getattr(hits, "withheld", None),
    )


def build_rejected_event(
    fault: Exception, ctx: NodeContext, scope: str, key: str
) -> MemoryKeptOut | None:
    """Return the event if memory rejected the entry, or None for any other error, which fails the node."""
    reasons = getattr(fault, "reasons", None)
    return MemoryKeptOut(ctx.node_id, scope, key, list(reasons)) if reasons else None


async def has_secret(ctx: NodeContext, value: Json) -> bool:
    """Return whether a stored secret of the team or the workflow is in what a model may have written."""
    return ctx.ports.secrets is not None and await ctx.ports.secrets.is_in(value)


async def find_field_with_secret(ctx: NodeContext, fields: Mapping[str, Json]) -> str:
    """Return the name of the first field whose value has a stored secret in it, or an empty string."""
    for field, value in fields.items():
        if value and await has_secret(ctx, value):
            return field
    return ""


def refuse_secret(ctx: NodeContext, scope: str, field: str) -> tuple[MemoryKeptOut, str]:
    """Return what tells of a value that isn't written because of a secret: the event, and a sentence with node and field.

    Neither names the key or the title, which may be what has the secret in it.
    """
    reason = f"{field} of the node {ctx.node_id}: {SECRET_REFUSED}"
    return MemoryKeptOut(ctx.node_id, scope, "", [SECRET]), reason


def build_written_event(hit: MemoryHit, node: str, scope: str) -> MemoryWritten:
    entry = {"id": hit.id, "key": hit.key, "value": hit.value}
    return MemoryWritten(node, scope, hit.namespace, entry)


def build_quarantined_event(hit: MemoryHit, node: str, scope: str, key: str) -> MemoryKeptOut:
    """Build the event of an entry that memory holds in quarantine for review."""
    causes = (hit.metadata or {}).get("quarantined_for") or ()
    reasons = [str(cause.get("reason", "")) for cause in causes if isinstance(cause, Mapping)]
    return MemoryKeptOut(node, scope, key, reasons, hit.id)


def to_entry(hit: MemoryHit) -> dict[str, Json]:
    """Convert a hit to a workflow value. What holds until a moment has it as ``valid_until``."""
    return {
        "id": hit.id,
        "namespace": hit.namespace,
        "key": hit.key,
        "value": hit.value,
        "metadata": dict(hit.metadata or {}),
        "score": hit.score,
        **_describe_end(hit),
    }


async def list_turns(ctx: NodeContext, *, limit: int | None) -> Sequence[EarlierTurn]:
    """Return the last turns of the conversation before this one, oldest first, as memory has them now.

    What was forgotten since is left out, and what was true until some day has that day.
    """
    if ctx.ports.history is None:
        return ()
    turns = await ctx.ports.history.list_turns(limit=limit)
    memory: object = ctx.ports.memory
    if not isinstance(memory, TurnsPort) or not any(turn.facts for turn in turns):
        return turns
    messages = await memory.reread_turns(identity=ctx.identity, origin=ctx.origin, turns=turns)
    return [
        turn._replace(query=query, answer=answer)
        for turn, (query, answer) in zip(turns, messages, strict=True)
    ]


def to_event_entry(hit: MemoryHit) -> dict[str, Json]:
    """Convert a hit to the entry of an event. ``parts`` explain the score, and ``run`` is the run that stored it."""
    source = getattr(hit, "source", None)
    return {
        "id": hit.id,
        "key": hit.key,
        "value": hit.value,
        "score": hit.score,
        "parts": dict(getattr(hit, "explain", None) or {}),
        "run": getattr(source, "run_id", "") or "",
        **_describe_end(hit),
    }


def _describe_end(hit: MemoryHit) -> dict[str, Json]:
    """Return the moment until which the entry holds, if there is one."""
    until: datetime | None = getattr(hit, "valid_until", None)
    return {"valid_until": until.isoformat()} if until else {}
