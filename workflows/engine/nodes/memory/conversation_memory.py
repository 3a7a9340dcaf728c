"""Conversation history: what was said so far, kept small enough for a model and readable for people."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from pydantic import Field as Bounded

from workflows.engine.document import Json, NodeSpec, Selector
from workflows.engine.errors import MemoryUnavailable, NodeFailed
from workflows.engine.events import Event, MemoryRecalled, MemoryWritten
from workflows.engine.kinds import (
    Field,
    NodeConfig,
    NodeContext,
    NodeKind,
    NodeResult,
    Output,
    Widget,
    gettext_noop,
)
from workflows.engine.memory_ports import ConversationPort, Talk
from workflows.engine.outside import WEB, is_from_outside, is_strangers
from workflows.engine.recalling import brief, held_back, memory_of
from workflows.engine.rendering import as_text
from workflows.engine.summarising import SummaryModel, summed_up
from workflows.engine.templating import Template


SCOPE = "conversation"
Action = Literal["append", "read", "clear"]
APPEND: Action = "append"
READ: Action = "read"
CLEAR: Action = "clear"
BY_MODEL = "model"
SUMMARY = "summary"


class Said(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    role: Literal["system", "user", "assistant", "tool"] = "user"
    text: str = ""
    tool_call_id: str = ""


class HistoryConfig(NodeConfig):
    action: Action = APPEND
    messages: tuple[Said, ...] = ()
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
    title = gettext_noop("Conversation history")
    description = gettext_noop("Keeps what was said, in a window that fits a model.")
    group = "memory"
    config_model = HistoryConfig
    has_effect = True
    needs_memory = True
    fields = (
        Field("action", gettext_noop("What to do"), Widget.CHOICE, required=True, default=APPEND,
              choices=(
                  (APPEND, gettext_noop("Append")),
                  (READ, gettext_noop("Read")),
                  (CLEAR, gettext_noop("Clear")),
              )),
        Field("messages", gettext_noop("Messages"), Widget.MESSAGES,
              help=gettext_noop("Added to the end, in this order; empty ones are left out."),
              default=[{"role": "user", "text": "{{#sys.query#}}"}],
              example=[{"role": "user", "text": "{{#sys.query#}}"}],
              shown_when=("action", (None, "", APPEND))),
        Field("messages_selector", gettext_noop("Messages from"), Widget.SELECTOR,
              help=gettext_noop("A list of objects with role and content, also calls of tools and their results."),
              shown_when=("action", (None, "", APPEND))),
        Field("strategy", gettext_noop("Keep"), Widget.CHOICE, default="full", choices=(
            ("full", gettext_noop("Everything")),
            ("sliding_window", gettext_noop("The last turns")),
        )),
        Field("max_turns", gettext_noop("Turns"), Widget.NUMBER, default=20, low=1,
              shown_when=("strategy", ("sliding_window",))),
        Field("max_messages", gettext_noop("At most so many messages"), Widget.NUMBER, low=1,
              help=gettext_noop("The oldest leave first; a call of a tool leaves with its result.")),
        Field("context_window", gettext_noop("Tokens the model takes"), Widget.NUMBER, low=1,
              help=gettext_noop("What would not fit is shortened, results of tools first, then left out.")),
        Field("reserved_tokens", gettext_noop("Of these, kept free"), Widget.NUMBER, low=0),
        Field("keep_recent", gettext_noop("Newest messages left untouched"), Widget.NUMBER,
              default=4, low=0),
        Field("summary", gettext_noop("In place of what left"), Widget.CHOICE, default="off", choices=(
            ("off", gettext_noop("Nothing")),
            ("sentences", gettext_noop("A summary of its sentences")),
            ("model", gettext_noop("A summary by a model")),
        )),
        Field("summary_model", gettext_noop("Model for the summary"), Widget.MODEL,
              help=gettext_noop("Where it can't be asked, the summary is made of sentences."),
              shown_when=("summary", ("model",))),
    )  # fmt: skip

    def prepare(self, spec: NodeSpec) -> Prepared:
        config = self.configure(spec)
        rules = {name: getattr(config, name) for name in _RULES}
        return Prepared(config, tuple(Template.of(one.text) for one in config.messages), rules)

    def outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        return (
            Output("messages", "array[object]", gettext_noop("Oldest first: role, content…")),
            Output("text", "string", gettext_noop("The same as text, a line each")),
            Output("summary", "string", gettext_noop("What stands in for the messages that left")),
            Output("count", "number", gettext_noop("Messages kept; of a clearing, how many went")),
            Output("tokens", "number", gettext_noop("How many tokens they cost, about")),
            Output("folded", "number", gettext_noop("Messages that left just now")),
        )

    def reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        selector = self.configure(spec).messages_selector
        return (selector,) if selector else ()

    async def run(self, prepared: Prepared, ctx: NodeContext) -> NodeResult:
        action: Action = prepared.config.action
        said = _said(prepared, ctx) if action == APPEND else []
        ctx.give({"action": action, "messages": said, **_given(prepared.rules)})
        memory = memory_of(ctx, SCOPE)
        if not isinstance(memory, ConversationPort):
            raise MemoryUnavailable("This memory keeps no history of conversations")
        if action == APPEND and not said:
            action = READ  # nothing was said: the history as it is
        talk = await memory.converse(
            identity=ctx.identity,
            origin=ctx.origin,
            action=action,
            messages=said,
            rules=prepared.rules,
        )
        ctx.hear([str(one.get("id") or SUMMARY) for one in talk.messages if _is_strangers(one)])
        outputs, events = _outputs(talk), _EVENTS[action](ctx.node_id, talk)
        if prepared.config.summary != BY_MODEL:
            return NodeResult(outputs, events=events)
        text, usage = await summed_up(prepared.config.summary_model, talk.before, talk.left, ctx)
        if text:
            rules = {**prepared.rules, "text": text, "instead_of": talk.summary, "by": BY_MODEL}
            anew = await memory.converse(
                identity=ctx.identity, origin=ctx.origin, action="summarise", rules=rules
            )
            outputs |= {
                name: _outputs(anew)[name] for name in ("messages", "text", "summary", "tokens")
            }
        return NodeResult(outputs, events=events, usage=usage)


_RULES = (
    *("strategy", "max_turns", "max_messages", "context_window"),
    *("reserved_tokens", "keep_recent", "summary"),
)


def _said(prepared: Prepared, ctx: NodeContext) -> list[Json]:
    """Those written in the node, then those of the variable."""
    written = [
        {
            "role": one.role,
            "content": text,
            "tool_call_id": one.tool_call_id,
            **_whose(template.references, ctx),
        }
        for one, template in zip(prepared.config.messages, prepared.texts, strict=True)
        if (text := template.text(ctx.pool)).strip()
    ]
    selector = prepared.config.messages_selector
    found = ctx.pool.get_or_none(selector) if selector else None
    if found is None:
        return [*written]
    listed = found if isinstance(found, list) else [found]
    if not all(isinstance(one, dict) for one in listed):
        raise NodeFailed("InvalidMessages", "messages_selector: a list of objects was expected")
    whose = _whose([selector], ctx)
    return [*written, *({**_unsigned(one), **whose} for one in listed)]


def _whose(read: Sequence[Selector | None], ctx: NodeContext) -> dict[str, Json]:
    return {"origin": WEB} if is_from_outside(read, ctx.outside) else {}


def _unsigned(message: Mapping[str, Json]) -> dict[str, Json]:
    """What it says of itself isn't asked: a model may have written it."""
    return {name: value for name, value in message.items() if name != "origin"}


def _given(rules: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in rules.items() if value is not None}


def _is_strangers(message: Mapping[str, Json]) -> bool:
    return message.get("role") == "tool" or is_strangers(message)


def _outputs(talk: Talk) -> dict[str, Json]:
    messages = [dict(one) for one in talk.messages]
    return {
        "messages": messages,
        "text": "\n".join(f"{one['role']}: {as_text(one['content'])}" for one in messages),
        "summary": talk.summary,
        "count": talk.count,
        "tokens": talk.tokens,
        "folded": talk.folded,
    }


def _recalled(node: str, talk: Talk) -> Sequence[Event]:
    namespace = talk.entries[0].namespace if talk.entries else ""
    entries = [brief(hit) for hit in talk.entries]
    return (MemoryRecalled(node, SCOPE, namespace, None, entries),)


def _written(node: str, talk: Talk) -> Sequence[Event]:
    written: list[Event] = [
        MemoryWritten(
            node, SCOPE, hit.namespace, {"id": hit.id, "key": hit.key, "value": hit.value}
        )
        for hit in talk.entries
    ]
    return [*written, *(held_back(hit, node, SCOPE, hit.key) for hit in talk.held)]


def _nothing(node: str, talk: Talk) -> Sequence[Event]:
    return ()


_EVENTS: dict[str, Any] = {APPEND: _written, READ: _recalled, CLEAR: _nothing}
