"""The messages a model is sent: prompt, injected memory, window of the conversation, current question."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from workflows.engine.document import Json
from workflows.engine.errors import NodeFailed, PortMissing
from workflows.engine.events import MemoryRecalled
from workflows.engine.jinja import plain_template
from workflows.engine.kinds import NodeContext
from workflows.engine.ports import MemoryHit, Message, Role
from workflows.engine.quoting import listed
from workflows.engine.recalling import as_entry, heed, query_of, recall, recalled
from workflows.engine.remembering import MAX_RECENCY_DAYS
from workflows.engine.rendering import as_text
from workflows.engine.templating import Template


CONTEXT_MARK = "{{#context#}}"
HISTORY_MARK = "{{#histories#}}"

# Room for history when nothing is known of the model.
_HISTORY_TOKENS = 2000


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class PromptMessage(_Part):
    role: Role = "user"
    text: str = ""
    edition_type: str | None = None
    jinja2_text: str | None = None

    @property
    def is_jinja(self) -> bool:
        return self.edition_type == "jinja2"


class JinjaVariable(_Part):
    variable: str
    value_selector: tuple[str, ...] = ()


class PromptConfig(_Part):
    jinja2_variables: tuple[JinjaVariable, ...] = ()


class ContextConfig(_Part):
    enabled: bool = False
    variable_selector: tuple[str, ...] | None = None


class WindowSize(_Part):
    enabled: bool = False
    size: int | None = None


class RolePrefix(_Part):
    user: str = "Human"
    assistant: str = "Assistant"


class WindowConfig(_Part):
    """Both dialects' ``memory``: Dify's takes the chat's turns, xworkflow's a variable that holds messages."""

    role_prefix: RolePrefix | None = None
    window: WindowSize = WindowSize()
    query_prompt_template: str | None = None
    enabled: bool = True
    window_size: int | None = None
    variable_selector: tuple[str, ...] | None = None


class EnhancedMemory(_Part):
    enabled: bool = False
    scope: str = "conversation"
    query_selector: tuple[str, ...] | None = None
    top_k: int | None = Field(default=10, ge=1)
    filter: dict[str, Json] | None = None
    recency_days: float | None = Field(default=None, gt=0, le=MAX_RECENCY_DAYS)
    injection_position: Literal["before_system", "after_system", "before_user"] = "after_system"
    format_template: str | None = None


@dataclass(frozen=True, slots=True)
class PromptSpec:
    """What of a node's configuration its messages depend on."""

    messages: tuple[PromptMessage, ...]
    completion: bool = False
    jinja: PromptConfig = field(default_factory=PromptConfig)
    context: ContextConfig = field(default_factory=ContextConfig)
    window: WindowConfig | None = None
    memory: EnhancedMemory | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    messages: tuple[Message, ...]
    memories: tuple[MemoryHit, ...] = ()
    events: tuple[MemoryRecalled, ...] = ()

    def shown(self) -> dict[str, Json]:
        """For the step's record: what was sent, and what of it came from memory."""
        shown: dict[str, Json] = {
            "messages": [{"role": m.role, "text": m.text} for m in self.messages]
        }
        if self.memories:
            shown["memories"] = [
                {"id": hit.id, "key": hit.key, "score": hit.score} for hit in self.memories
            ]
        return shown


async def build_prompt(spec: PromptSpec, ctx: NodeContext, *, recalls: bool = True) -> Prompt:
    """Messages that came out empty are dropped; with none left there is nothing to ask."""
    messages = [
        Message(message.role, text)
        for message in spec.messages
        if (text := await _rendered(message, spec, ctx)).strip()
    ]
    if spec.completion:
        messages = await _completed(spec, ctx, messages)
    elif spec.window is not None and spec.window.enabled:
        messages = await _with_window(spec.window, ctx, messages)
    prompt = Prompt(tuple(messages))
    if recalls and spec.memory is not None and spec.memory.enabled:
        prompt = await _with_memory(spec.memory, ctx, messages)
    if recalls and not prompt.memories and not spec.completion:
        prompt = await _reminded(prompt, ctx)
    if not any(message.text for message in prompt.messages if message.text):
        raise NodeFailed("NoPromptFoundError", "No message is left to send to the model")
    return prompt


async def render_jinja(source: str, inputs: Mapping[str, Json], ctx: NodeContext) -> str:
    plain = plain_template(source)
    text = plain.render(inputs) if plain is not None else None
    if text is not None:
        return text
    if ctx.ports.templates is None:
        raise PortMissing("templates")
    return await ctx.ports.templates.render(source, inputs)


def _shown_context(context: ContextConfig, ctx: NodeContext) -> str:
    if not context.enabled or not context.variable_selector:
        return ""
    value = ctx.pool.get_or_none(context.variable_selector)
    if isinstance(value, list):
        return "\n\n".join(
            as_text(item.get("content", item) if isinstance(item, Mapping) else item)
            for item in value
        )
    return as_text(value)


async def _rendered(message: PromptMessage, spec: PromptSpec, ctx: NodeContext) -> str:
    context = _shown_context(spec.context, ctx)
    if message.is_jinja:
        inputs = {
            variable.variable: ctx.pool.get_or_none(variable.value_selector)
            for variable in spec.jinja.jinja2_variables
        }
        source = (message.jinja2_text or message.text).replace(CONTEXT_MARK, "{{ _context }}")
        return await render_jinja(source, {**inputs, "_context": context}, ctx)
    # Cut at the mark first: what a variable holds is never looked at again.
    parts = message.text.split(CONTEXT_MARK)
    return context.join(Template.of(part).text(ctx.pool) for part in parts)


async def _with_window(
    window: WindowConfig, ctx: NodeContext, messages: list[Message]
) -> list[Message]:
    if window.variable_selector:
        held = ctx.pool.get_or_none(window.variable_selector)
        past = _messages(held if isinstance(held, list) else [])
        if window.window_size is not None:
            past = past[max(len(past) - window.window_size, 0) :]
        at = _last(messages, "user")
        return [*messages[:at], *past, *messages[at:]]
    past = await _turns(window, ctx)
    template = window.query_prompt_template or "{{#sys.query#}}"
    question = Template.of(template).text(ctx.pool) if ctx.pool.get(("sys", "query")) else ""
    asked = [Message("user", question)] if question.strip() else []
    if asked and messages and messages[-1] == asked[0]:
        messages = messages[:-1]  # the prompt ends with the very question already
    return [*messages, *past, *asked]


async def _turns(window: WindowConfig, ctx: NodeContext) -> list[Message]:
    """The chat so far; ``size`` counts messages, two of which make a turn."""
    if ctx.ports.history is None:
        return []
    size = window.window.size if window.window.enabled else None
    limit = None if size is None else (size + 1) // 2
    turns = await ctx.ports.history.turns(limit=limit)
    past = [
        message
        for query, answer in turns
        for message in (Message("user", query), Message("assistant", answer))
    ]
    return _within(past if size is None else past[max(len(past) - size, 0) :])


def _within(past: list[Message], tokens: int = _HISTORY_TOKENS) -> list[Message]:
    """The newest messages that fit."""
    kept: list[Message] = []
    for message in reversed(past):
        tokens -= _tokens(message.text)
        if tokens < 0:
            break
        kept.append(message)
    return kept[::-1]


def _tokens(text: str) -> int:
    """A guess that errs on the large side: four letters a token, other scripts one each."""
    ascii_only = sum(character < "\x80" for character in text)
    return ascii_only // 4 + len(text) - ascii_only + 1


def _messages(held: Iterable[Json]) -> list[Message]:
    """Messages as people keep them in a variable: role and content, question and answer, or bare text."""
    messages: list[Message] = []
    for item in held:
        if not isinstance(item, Mapping):
            messages.append(Message("user", as_text(item)))
            continue
        if "query" in item or "answer" in item:
            messages.append(Message("user", as_text(item.get("query"))))
            messages.append(Message("assistant", as_text(item.get("answer"))))
            continue
        role = item.get("role")
        text = as_text(item.get("content", item.get("text")))
        messages.append(Message(role if role in ("system", "assistant") else "user", text))
    return [message for message in messages if message.text]


async def _with_memory(config: EnhancedMemory, ctx: NodeContext, messages: list[Message]) -> Prompt:
    hits, event = await recall(
        ctx,
        scope=config.scope,
        query=query_of(config.query_selector, ctx),
        filter=config.filter,
        top_k=config.top_k,
        injected=True,
        recency_days=config.recency_days,
    )
    if not hits:
        return Prompt(tuple(messages), events=(event,))
    injected = Message("system", await _memory_text(config, hits, ctx))
    at = _position(config.injection_position, messages)
    return Prompt((*messages[:at], injected, *messages[at:]), tuple(hits), (event,))


async def _reminded(prompt: Prompt, ctx: NodeContext) -> Prompt:
    """What earlier runs taught, where the application learns from them; put as ``enhanced_memory`` puts it."""
    if ctx.ports.reminder is None:
        return prompt
    found = await ctx.ports.reminder.remind(prompt.messages, ctx.origin)
    if found is None:
        return prompt
    heed(ctx, found.hits)
    event = recalled(ctx, found.scope, found.query, found.hits, injected=True)
    events = (*prompt.events, event)
    if not found.hits:
        return replace(prompt, events=events)
    injected = Message("system", listed(found.hits))
    at = _position("after_system", prompt.messages)
    return Prompt(
        (*prompt.messages[:at], injected, *prompt.messages[at:]), tuple(found.hits), events
    )


async def _memory_text(config: EnhancedMemory, hits: Sequence[MemoryHit], ctx: NodeContext) -> str:
    if config.format_template:
        entries = [as_entry(hit) for hit in hits]
        inputs = {"entries": entries, "memories": entries, "results": entries}
        return await render_jinja(config.format_template, inputs, ctx)
    return listed(hits)


def _position(position: str, messages: Sequence[Message]) -> int:
    if position == "before_system":
        return 0
    if position == "before_user":
        return _last(messages, "user")
    leading = 0
    while leading < len(messages) and messages[leading].role == "system":
        leading += 1
    return leading


def _last(messages: Sequence[Message], role: str) -> int:
    """Where the last message of a role is; the end if there is none."""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role == role:
            return index
    return len(messages)


async def _completed(spec: PromptSpec, ctx: NodeContext, messages: list[Message]) -> list[Message]:
    """Completion models get one text, the chat so far written into it."""
    window = spec.window
    if not messages or window is None or not window.enabled:
        return [replace(message, role="user") for message in messages[:1]]
    if window.role_prefix is None:
        raise NodeFailed("RolePrefixRequired", "memory.role_prefix is needed in completion mode")
    names = {"user": window.role_prefix.user, "assistant": window.role_prefix.assistant}
    past = "\n".join(f"{names[m.role]}: {m.text}" for m in await _turns(window, ctx))
    text = messages[0].text
    text = text.replace(HISTORY_MARK, past) if HISTORY_MARK in text else f"{past}\n{text}".lstrip()
    return [Message("user", text)]
