"""Conversation messages: appends, reads, clears and summarizes the messages of a conversation."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

from pydantic import Field as Bounded

from workflows.engine.appearance import Data
from workflows.engine.configuration import ConfigPart, Field, NodeConfig, Widget
from workflows.engine.errors import MemoryUnavailable
from workflows.engine.kinds import NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.content_marks.untrusted import (
    WEB,
    is_influenced,
    is_untrusted_memory,
)
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.templating import Template
from workflows.engine.memory_ports import ConversationPort, ConversationResult
from workflows.engine.nodes.memory.consent import (
    MAX_MEANT,
    hash_meant,
    may_forget,
    needs_consent,
)
from workflows.engine.nodes.memory.memory_access import (
    build_quarantined_event,
    build_written_event,
    find_field_with_secret,
    get_memory,
    get_objects,
    has_secret,
    refuse_secret,
    to_event_entry,
)
from workflows.engine.nodes.memory.summarizer import SummaryModel, join_messages, summarize_messages
from workflows.engine.runtime.events import Event, MemoryRecalled
from workflows.engine.text_rendering import as_text
from workflows.engine.texts import Phrase, Text, count_text, gettext_noop


SCOPE = "conversation"
Action = Literal["append", "read", "clear"]
APPEND: Action = "append"
READ: Action = "read"
CLEAR: Action = "clear"
_ACTIONS: Final[Mapping[str, str]] = {
    APPEND: gettext_noop("Append"),
    READ: gettext_noop("Read"),
    CLEAR: gettext_noop("Clear"),
}
# The settings that are passed to memory unchanged.
_RULES: Final = (
    *("strategy", "max_turns", "max_messages", "context_window"),
    *("reserved_tokens", "keep_recent", "summary"),
)


class HistoryMessage(ConfigPart):
    role: Literal["system", "user", "assistant", "tool"] = "user"
    text: str = ""
    tool_call_id: str = ""


class HistoryConfig(NodeConfig):
    action: Action = APPEND
    messages: tuple[HistoryMessage, ...] = ()
    messages_selector: tuple[str, ...] | None = None
    strategy: Literal["full", "sliding_window"] = "full"
    max_turns: int | None = Bounded(default=None, ge=1)
    max_messages: int | None = Bounded(default=None, ge=1)
    context_window: int | None = Bounded(default=None, ge=1)
    reserved_tokens: int | None = Bounded(default=None, ge=0)
    keep_recent: int | None = Bounded(default=None, ge=0)
    summary: Literal["off", "sentences", "model"] = "off"
    summary_model: SummaryModel | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    config: HistoryConfig
    texts: tuple[Template, ...]  # of the messages, in their order
    rules: Mapping[str, Json]


class ConversationMemory(NodeKind[HistoryConfig, Prepared]):
    name = "conversation-memory"
    title = gettext_noop("Conversation messages")
    description = gettext_noop(
        "Stores the messages of a conversation and keeps them within the context window"
    )
    group = "memory"
    palette_order = 50
    icon = "messages"
    family = "memory"
    config_model = HistoryConfig
    has_effect = True
    leak_check_settings = (
        {"action": APPEND, "messages": [{"role": "user", "text": "{{#start.text#}}"}]},
        {"action": READ},
    )
    needs_memory = True
    default_scope = SCOPE
    fields = (
        Field("action", gettext_noop("Action"), Widget.CHOICE, required=True, default=APPEND,
              choices=tuple(_ACTIONS.items())),
        Field("messages", gettext_noop("Messages"), Widget.MESSAGES,
              help=gettext_noop("Appended in this order. Empty messages are skipped."),
              default=[{"role": "user", "text": "{{#sys.query#}}"}],
              example=[{"role": "user", "text": "{{#sys.query#}}"}],
              shown_when=("action", (None, "", APPEND))),
        Field("messages_selector", gettext_noop("Messages variable"), Widget.SELECTOR, is_advanced=True,
              help=gettext_noop("A list of objects with role and content. Tool calls and tool results are supported."),
              shown_when=("action", (None, "", APPEND))),
        Field("strategy", gettext_noop("Keep"), Widget.CHOICE, default="full", choices=(
            ("full", gettext_noop("All messages")),
            ("sliding_window", gettext_noop("Last turns")),
        )),
        Field("max_turns", gettext_noop("Turns"), Widget.NUMBER, default=20, low=1,
              shown_when=("strategy", ("sliding_window",))),
        Field("max_messages", gettext_noop("Max messages"), Widget.NUMBER, low=1, is_advanced=True,
              help=gettext_noop("The oldest messages are removed first. A tool call is removed together with its result.")),
        Field("context_window", gettext_noop("Context window (tokens)"), Widget.NUMBER, low=1, is_advanced=True,
              help=gettext_noop("Tool results that don't fit are shortened, then answers. Nothing is removed, and what a person said is always kept whole.")),
        Field("reserved_tokens", gettext_noop("Reserved tokens"), Widget.NUMBER, low=0, is_advanced=True),
        Field("keep_recent", gettext_noop("Latest messages to keep unchanged"), Widget.NUMBER,
              default=4, low=0, is_advanced=True),
        Field("summary", gettext_noop("Summary of removed messages"), Widget.CHOICE, default="off", is_advanced=True, choices=(
            ("off", gettext_noop("None")),
            ("sentences", gettext_noop("Extracted sentences")),
            ("model", gettext_noop("Written by a model")),
        )),
        Field("summary_model", gettext_noop("Summary model"), Widget.MODEL, is_advanced=True,
              help=gettext_noop("If the model is not available, the summary consists of extracted sentences."),
              shown_when=("summary", ("model",))),
    )  # fmt: skip

    def summarize(self, data: Data) -> Iterable[Text]:
        """Return the action, and the window if there is one."""
        label = _ACTIONS.get(as_text(data.get("action")) or APPEND)
        turns = data.get("max_turns") if data.get("strategy") == "sliding_window" else None
        window = count_text(turns, gettext_noop("last turn"), gettext_noop("last %(count)s turns"))
        return [Phrase(label) if label else "", window if turns else ""]

    def prepare(self, spec: NodeSpec) -> Prepared:
        config = self.configure(spec)
        rules = {name: getattr(config, name) for name in _RULES}
        texts = tuple(Template.of(message.text) for message in config.messages)
        return Prepared(config, texts, rules)

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        messages = gettext_noop("Messages, oldest first: role, content…")
        count = gettext_noop("Number of messages kept, or removed when clearing")
        return (
            Output("messages", "array[object]", messages),
            Output("text", "string", gettext_noop("Messages as text, one per line")),
            Output("summary", "string", gettext_noop("Summary of the removed messages")),
            Output("count", "number", count),
            Output("tokens", "number", gettext_noop("Estimated number of tokens")),
            Output("folded", "number", gettext_noop("Number of messages removed in this step")),
            Output("reason", "string", gettext_noop("Reason if not stored")),
        )

    def list_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        selector = self.configure(spec).messages_selector
        return (selector,) if selector else ()

    async def run(self, prepared: Prepared, ctx: NodeContext) -> NodeResult:
        config, rules = prepared.config, prepared.rules
        action = config.action
        messages = _collect_messages(prepared, ctx) if action == APPEND else []
        stated_rules = {name: value for name, value in rules.items() if value is not None}
        ctx.record_inputs({"action": action, "messages": messages, **stated_rules})
        memory = get_memory(ctx, SCOPE)
        if not isinstance(memory, ConversationPort):
            raise MemoryUnavailable("This memory provider doesn't support conversation history")
        field = await _find_field_with_secret(prepared, messages, ctx)
        if field:
            messages = []  # all of them, since a call without its result would be half a conversation
        if action == APPEND and not messages:
            action = READ  # no message: return the history unchanged
        converse = partial(memory.converse, identity=ctx.identity, origin=ctx.origin)
        if action == CLEAR and needs_consent(ctx):
            current_history = await converse(action=READ, messages=[], rules=rules)
            action = CLEAR if _may_clear(current_history, ctx) else READ
        history = await converse(action=action, messages=messages, rules=rules)
        untrusted = filter(_is_untrusted, history.messages)
        ctx.record_untrusted_keys([str(message.get("id") or "summary") for message in untrusted])
        outputs, events = _build_outputs(history), _build_events(action, ctx.node_id, history)
        if field:
            refusal, outputs["reason"] = refuse_secret(ctx, SCOPE, field)
            events = (refusal, *events)
        if config.summary != "model":
            return NodeResult(outputs, events=events)
        text, usage = await summarize_messages(
            config.summary_model, history.previous_summary, history.removed, ctx
        )
        if text and not await has_secret(ctx, text):
            replacement = {"text": text, "instead_of": history.summary, "by": "model"}
            updated = _build_outputs(
                await converse(action="summarise", rules={**rules, **replacement})
            )
            outputs |= {name: updated[name] for name in ("messages", "text", "summary", "tokens")}
        return NodeResult(outputs, events=events, usage=usage)


def _may_clear(history: ConversationResult, ctx: NodeContext) -> bool:
    """Return whether a person has allowed to remove this history. An empty one needs nobody."""
    messages = [dict(message) for message in history.messages]
    shown: list[Json] = [_show_message(message) for message in messages[-MAX_MEANT:]]
    if history.summary:
        shown.insert(0, {"summary": history.summary})
    if not shown:
        return True
    digest = hash_meant([history.summary, *messages])
    return may_forget(ctx, {"scope": SCOPE, "action": CLEAR}, shown, digest)


def _show_message(message: Mapping[str, Json]) -> dict[str, Json]:
    return {name: message.get(name) for name in ("role", "content")}


async def _find_field_with_secret(
    prepared: Prepared, messages: Sequence[Json], ctx: NodeContext
) -> str:
    """Return the field whose messages have a stored secret in them: the node's own, which come first, or the variable's."""
    selector = prepared.config.messages_selector
    objects = get_objects(selector, ctx, "InvalidMessages", "messages_selector") if messages else []
    own_count = len(messages) - len(objects)
    fields = {"messages": [*messages[:own_count]], "messages_selector": [*messages[own_count:]]}
    return await find_field_with_secret(ctx, fields)


def _collect_messages(prepared: Prepared, ctx: NodeContext) -> list[Json]:
    """Return the messages configured in the node, then those of the variable."""
    messages = [
        {
            "role": item.role,
            "content": text,
            "tool_call_id": item.tool_call_id,
            **_get_origin(template.references, ctx),
        }
        for item, template in zip(prepared.config.messages, prepared.texts, strict=True)
        if (text := template.render_text(ctx.pool)).strip()
    ]
    selector = prepared.config.messages_selector
    origin = _get_origin([selector], ctx)
    objects = get_objects(selector, ctx, "InvalidMessages", "messages_selector")
    return [*messages, *({**_remove_origin(item), **origin} for item in objects)]


def _get_origin(selectors: Sequence[Selector | None], ctx: NodeContext) -> dict[str, Json]:
    return {"origin": WEB} if is_influenced(ctx.node_id, selectors, ctx.untrusted) else {}


def _remove_origin(message: Mapping[str, Json]) -> dict[str, Json]:
    """Remove the origin that a message states, because a model may have written it."""
    return {name: value for name, value in message.items() if name != "origin"}


def _is_untrusted(message: Mapping[str, Json]) -> bool:
    return message.get("role") == "tool" or is_untrusted_memory(message)


def _build_outputs(history: ConversationResult) -> dict[str, Json]:
    return {
        "messages": [dict(message) for message in history.messages],
        "text": join_messages(history.messages),
        "summary": history.summary,
        "count": history.count,
        "tokens": history.tokens,
        "folded": history.removed_count,
    }


def _build_events(action: str, node: str, history: ConversationResult) -> tuple[Event, ...]:
    if action == CLEAR:
        return ()
    if action == READ:
        namespace = history.entries[0].namespace if history.entries else ""
        entries = [to_event_entry(hit) for hit in history.entries]
        return (MemoryRecalled(node, SCOPE, namespace, None, entries),)
    return (
        *(build_written_event(hit, node, SCOPE) for hit in history.entries),
        *(build_quarantined_event(hit, node, SCOPE, hit.key) for hit in history.held_entries),
    )
