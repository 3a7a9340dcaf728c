"""What a workflow asks of its conversation's history: JSON as a node has it in, messages and entries out."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from memory.core.errors import InvalidInput
from memory.core.provider import Clock, NamespaceStore, utc_now
from memory.core.records import Json, MemoryEntry, Source
from memory.logic.conversations.conversation import ConversationMemory
from memory.logic.conversations.conversation_gate import Heard, heard_of, held_apart
from memory.logic.conversations.folding import Compaction, Folding, Strategy, plan
from memory.logic.conversations.messages import Message, Role, ToolCall, to_json, tokens_in
from memory.logic.conversations.summary import ExtractiveSummariser, Summariser
from memory.logic.entries.secrets import redact
from memory.logic.ports import NewId


@dataclass(frozen=True, slots=True)
class Asked:
    """``step`` names the step that asks: the same step again adds nothing a second time."""

    action: str
    said: tuple[Heard, ...] = ()
    folding: Folding = field(default_factory=Folding)
    summarises: bool = False
    step: str = ""
    told: Mapping[str, str] = field(default_factory=dict)  # of a summary: text, instead_of, by
    source: Source = field(default_factory=Source)  # of what it keeps; who converses knows it


@dataclass(frozen=True, slots=True)
class Talk:
    """``messages`` as a model takes them, the summary among them; ``folded`` left in this act.

    ``entries`` are what was read, or written; ``count``: messages that are there, or were cleared.
    ``held``: what waits for a person, with the messages that stand in for it in their place.
    ``left`` are the messages that left in this act, whole, and ``before`` the summary there was.
    """

    messages: tuple[Mapping[str, Json], ...] = ()
    summary: str = ""
    tokens: int = 0
    count: int = 0
    folded: int = 0
    entries: tuple[MemoryEntry, ...] = ()
    held: tuple[MemoryEntry, ...] = ()
    left: tuple[Mapping[str, Json], ...] = ()
    before: str = ""


def asked(
    action: str, messages: Sequence[Json], rules: Mapping[str, Json], *, step: str = ""
) -> Asked:
    """Refuses what makes no sense before anything is touched."""
    if action not in ACTIONS:
        raise InvalidInput(f"action: use one of {', '.join(ACTIONS)}.")
    heard = tuple(heard_of(message_of(value), value) for value in messages)
    if action == "append" and not heard:
        raise InvalidInput("messages: required to append.")
    # A model's summary comes later, if it comes: until then sentences stand in.
    summarises = rules.get("summary") in ("sentences", "model")
    told = {name: _text(rules.get(name)) for name in ("text", "instead_of", "by")}
    return Asked(action, heard, folding_of(rules), summarises, step, told=told)


def converse(
    asked: Asked,
    session: str,
    entries: NamespaceStore,
    *,
    new_id: NewId,
    clock: Clock = utc_now,
    source: Source = Source(),  # noqa: B008 - a frozen value
) -> Talk:
    summariser: Summariser | None = ExtractiveSummariser() if asked.summarises else None
    memory = ConversationMemory(
        session, entries, new_id=new_id, folding=asked.folding, summariser=summariser,
        clock=clock, source=source,
    )  # fmt: skip
    return _WORK[asked.action](replace(asked, source=source), memory, entries)


def message_of(value: Json) -> Message:
    """Ours, or as chat models speak: ``{role, content, tool_calls: [{id, function: {…}}]}``."""
    if not isinstance(value, Mapping):
        raise InvalidInput("messages: each must be an object with role and content.")
    try:
        role = Role(value.get("role") or Role.USER)
    except ValueError:
        raise InvalidInput(f"role: use one of {', '.join(Role)}.") from None
    calls = value.get("tool_calls") or ()
    if not isinstance(calls, list | tuple) or not all(isinstance(one, Mapping) for one in calls):
        raise InvalidInput("tool_calls: must be a list of objects.")
    return Message(
        role=role,
        content=_text(value.get("content", value.get("text"))),
        tool_calls=tuple(map(_call, calls)),
        tool_call_id=_text(value.get("tool_call_id")),
    )


def folding_of(rules: Mapping[str, Json]) -> Folding:
    """What isn't said is as ``Folding`` has it."""
    said = {name: number for name in _NUMBERS if (number := _number(rules, name)) is not None}
    window = said.pop("context_window", None)
    room = {name: said.pop(name) for name in ("reserved_tokens", "keep_recent") if name in said}
    compaction = None if window is None else Compaction(window, **room)
    try:
        strategy = Strategy(rules.get("strategy") or Strategy.FULL)
    except ValueError:
        raise InvalidInput(f"strategy: use one of {', '.join(Strategy)}.") from None
    return Folding(strategy=strategy, compaction=compaction, **said)


_NUMBERS = ("max_turns", "max_messages", "context_window", "reserved_tokens", "keep_recent")


def _append(asked: Asked, memory: ConversationMemory, entries: NamespaceStore) -> Talk:
    before = memory.view()
    named = (
        replace(one.message, id=_id(asked.step, place)) for place, one in enumerate(asked.said)
    )
    kept = memory.add_messages(tuple(named))
    held = [
        entries.store(replace(apart, source=asked.source))
        for one, message in zip(asked.said, kept, strict=True)
        if (apart := held_apart(one, message, memory.namespace, memory.session))
    ]
    after = memory.view()
    gone = _ids((*before.messages, *kept)) - _ids(after.messages)
    return Talk(
        messages=tuple(to_json(one) for one in memory.get_history()),
        summary=after.summary,
        tokens=after.tokens,
        count=len(after.messages),
        folded=len(gone),
        entries=memory.entries_of(kept),
        held=tuple(held),
        left=tuple(to_json(one) for one in (*before.messages, *kept) if one.id in gone),
        before=before.summary,
    )


def _read(asked: Asked, memory: ConversationMemory, entries: NamespaceStore) -> Talk:
    """As much of it as the rules leave; what they leave out stays where it is."""
    history = memory.get_history()
    there = memory.view()
    decided = plan(history, asked.folding)
    return Talk(
        messages=tuple(to_json(one) for one in decided.kept),
        summary=there.summary,
        tokens=tokens_in(decided.kept),
        count=len(there.messages),
        folded=len(history) - len(decided.kept),
        entries=memory.entries_of(one for one in decided.kept if one.id),
    )


def _summarise(asked: Asked, memory: ConversationMemory, entries: NamespaceStore) -> Talk:
    """A model's summary in the place of the one it was made from; ``count`` says whether it is there."""
    text = str(redact(asked.told["text"].strip()).value)
    done = bool(text) and memory.resummarise(
        text, instead_of=asked.told["instead_of"], by=asked.told["by"]
    )
    history = memory.get_history()
    there = memory.view()
    return Talk(
        messages=tuple(to_json(one) for one in history),
        summary=there.summary,
        tokens=there.tokens,
        count=int(done),
    )


def _clear(asked: Asked, memory: ConversationMemory, entries: NamespaceStore) -> Talk:
    return Talk(count=memory.clear())


_WORK: dict[str, Callable[[Asked, ConversationMemory, NamespaceStore], Talk]] = {
    "append": _append,
    "read": _read,
    "clear": _clear,
    "summarise": _summarise,
}
ACTIONS = tuple(_WORK)


def _ids(messages: Sequence[Message]) -> set[str]:
    return {one.id for one in messages}


def _id(step: str, number: int) -> str:
    """The same for the same message of the same step; nothing where no step is known."""
    return f"{hashlib.sha256(step.encode()).hexdigest()[:24]}-{number}" if step else ""


def _call(value: Mapping[str, Json]) -> ToolCall:
    said = value.get("function")
    called = said if isinstance(said, Mapping) else value
    return ToolCall(
        _text(value.get("id")), _text(called.get("name")), _text(called.get("arguments"))
    )


def _text(value: Json) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _number(rules: Mapping[str, Json], name: str) -> int | None:
    value = rules.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise InvalidInput(f"{name}: must be a whole number.")
