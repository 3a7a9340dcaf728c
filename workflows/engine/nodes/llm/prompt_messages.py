"""Builds the messages for a model: prompt, injected memory, window of the conversation, current question."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from workflows.engine.errors import NodeFailed, PortMissing
from workflows.engine.kinds import NodeContext
from workflows.engine.language.content_marks.untrusted import is_recalled
from workflows.engine.language.document import Json
from workflows.engine.language.simple_jinja import parse_plain_template
from workflows.engine.language.templating import Template
from workflows.engine.nodes.llm.images import add_images
from workflows.engine.nodes.llm.llm_config import (
    ContextConfig,
    EnhancedMemory,
    LlmConfig,
    PromptMessage,
    WindowConfig,
)
from workflows.engine.nodes.llm.model_calls import describe_messages
from workflows.engine.nodes.memory.disagreeing import list_shown
from workflows.engine.nodes.memory.memory_access import (
    build_recalled_event,
    get_query,
    list_turns,
    recall_entries,
    record_shown_hits,
    to_entry,
)
from workflows.engine.nodes.memory.profile import exclude_profile, recall_profile
from workflows.engine.nodes.memory.quoting import (
    DATA_NOTE,
    QUOTING_NOTE,
    join_blocks,
    needs_quoting,
    quote_entry,
    quote_recalled,
    quote_values,
    render_memories,
    render_profile,
)
from workflows.engine.ports import MemoryHit, Message
from workflows.engine.runtime.events import MemoryRecalled
from workflows.engine.text_rendering import as_text


CONTEXT_MARK = "{{#context#}}"
HISTORY_MARK = "{{#histories#}}"

# Tokens for the history if the model's context window is unknown.
_MAX_HISTORY_TOKENS = 2000


@dataclass(frozen=True, slots=True)
class Prompt:
    messages: tuple[Message, ...]
    memories: tuple[MemoryHit, ...] = ()  # with the profile
    has_recalled: bool = False  # memories besides the profile
    events: tuple[MemoryRecalled, ...] = ()

    def describe(self) -> dict[str, Json]:
        """Describe the prompt for the step's record: the messages, and the memories among them."""
        description: dict[str, Json] = {"messages": describe_messages(self.messages)}
        if self.memories:
            description["memories"] = [
                {"id": hit.id, "key": hit.key, "score": hit.score} for hit in self.memories
            ]
        return description


async def build_prompt(config: LlmConfig, ctx: NodeContext, *, with_memory: bool = True) -> Prompt:
    """Build the prompt, without empty messages. Raises NodeFailed if no message remains."""
    window, memory = config.memory, config.enhanced_memory
    messages = [
        Message(message.role, text)
        for message in config.messages
        if (text := await _render_message(message, config, ctx)).strip()
    ]
    if config.is_completion:
        messages = await _build_completion(window, ctx, messages)
    elif window is not None and window.enabled:
        messages = await _add_window(window, ctx, messages)
    if config.image_variable:
        messages = await add_images(config.image_variable, ctx, messages)
    prompt = Prompt(tuple(messages))
    if with_memory and memory is not None and memory.enabled:
        prompt = await _add_memory(memory, ctx, messages)
    if with_memory and not prompt.has_recalled and not config.is_completion:
        prompt = await _add_reminder(prompt, ctx)
    if not any(message.text or message.images for message in prompt.messages):
        raise NodeFailed("NoPromptFoundError", "There are no messages to send to the model")
    return prompt


async def load_history(window: WindowConfig | None, ctx: NodeContext) -> list[Message]:
    """Return the messages in the window: those of its variable, or else the chat's previous turns."""
    if window is None or not window.enabled:
        return []
    if not window.variable_selector:
        return await _load_turns(window, ctx)
    value = ctx.pool.get_or_none(window.variable_selector)
    history = _parse_messages(value if isinstance(value, list) else [])
    if window.window_size is None:
        return history
    return history[max(len(history) - window.window_size, 0) :]


async def _render_jinja(source: str, inputs: Mapping[str, Json], ctx: NodeContext) -> str:
    plain = parse_plain_template(source)
    text = plain.render(inputs, prints_json=True) if plain is not None else None
    if text is not None:
        return text
    if ctx.ports.templates is None:
        raise PortMissing("templates")
    return await ctx.ports.templates.render(source, inputs, prints_json=True)


def _render_context(context: ContextConfig | None, ctx: NodeContext) -> str:
    if context is None or not context.enabled or not context.variable_selector:
        return ""
    value = ctx.pool.get_or_none(context.variable_selector)
    if not isinstance(value, list):
        return as_text(value)
    contents = (v.get("content", v) if isinstance(v, Mapping) else v for v in value)
    return "\n\n".join(map(as_text, contents))


async def _render_message(message: PromptMessage, config: LlmConfig, ctx: NodeContext) -> str:
    """Render a message. In a system message the text of memories is quoted, however its author refers to it."""
    context = _render_context(config.context, ctx)
    recalled = ctx.recalled if message.role == "system" else frozenset()
    if config.context and is_recalled(config.context.variable_selector, recalled):
        context = quote_recalled(context)
    if message.is_jinja:
        inputs = {
            v.variable: ctx.pool.get_or_none(v.value_selector) for v in config.jinja_variables
        }
        names = [
            v.variable for v in config.jinja_variables if is_recalled(v.value_selector, recalled)
        ]
        inputs |= {name: quote_values(inputs[name]) for name in names}
        source = (message.jinja2_text or message.text).replace(CONTEXT_MARK, "{{ _context }}")
        text = await _render_jinja(source, {**inputs, "_context": context}, ctx)
        return f"{DATA_NOTE}\n{text}" if any(inputs[name] for name in names) else text
    # Split at the marker first, so that the values of variables are not searched for it.
    parts = message.text.split(CONTEXT_MARK)
    return context.join(
        Template.of(part).render_quoted(ctx.pool, recalled, quote_recalled) for part in parts
    )


async def _add_window(
    window: WindowConfig, ctx: NodeContext, messages: list[Message]
) -> list[Message]:
    """Add the messages of a variable before the last user message, or the chat's turns and its question at the end."""
    history = await load_history(window, ctx)
    if window.variable_selector:
        position = _find_last_index(messages, "user")
        return [*messages[:position], *history, *messages[position:]]
    template = window.query_prompt_template or "{{#sys.query#}}"
    question = Template.of(template).render_text(ctx.pool) if ctx.pool.get(("sys", "query")) else ""
    question_message = [Message("user", question)] if question.strip() else []
    if question_message and messages and messages[-1] == question_message[0]:
        messages = messages[:-1]  # the prompt already ends with the question
    return [*messages, *history, *question_message]


async def _load_turns(window: WindowConfig, ctx: NodeContext) -> list[Message]:
    """Return the messages of the previous turns. The window's ``size`` counts messages, two for each turn."""
    size = window.window.size if window.window.enabled else None
    limit = None if size is None else (size + 1) // 2
    turns = await list_turns(ctx, limit=limit)
    ctx.record_untrusted_keys(
        [f"turn:{number - len(turns)}" for number, turn in enumerate(turns) if turn.is_untrusted]
    )
    history: list[Message] = []
    for turn in turns:
        ctx.record_memories(turn.memories)
        history += (Message("user", turn.query), Message("assistant", turn.answer))
    history = [message for message in history if message.text]  # a client may send only one side
    return _cut_to_tokens(history if size is None else history[max(len(history) - size, 0) :])


def _cut_to_tokens(history: list[Message]) -> list[Message]:
    """Return the newest messages that fit into the tokens for the history."""
    messages: list[Message] = []
    tokens = _MAX_HISTORY_TOKENS
    for message in reversed(history):
        tokens -= _estimate_tokens(message.text)
        if tokens < 0:
            break
        messages.append(message)
    return messages[::-1]


def _estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text, rounded up: four ASCII characters, or one other character, are a token."""
    ascii_count = sum(character < "\x80" for character in text)
    return ascii_count // 4 + len(text) - ascii_count + 1


def _parse_messages(items: Iterable[Json]) -> list[Message]:
    """Return the messages of a list, whose items have role and content, or query and answer, or are strings."""
    messages: list[Message] = []
    for item in items:
        if not isinstance(item, Mapping):
            messages.append(Message("user", as_text(item)))
        elif "query" in item or "answer" in item:
            messages.append(Message("user", as_text(item.get("query"))))
            messages.append(Message("assistant", as_text(item.get("answer"))))
        else:
            role, text = item.get("role"), as_text(item.get("content", item.get("text")))
            messages.append(Message(role if role in ("system", "assistant") else "user", text))
    return [message for message in messages if message.text]


async def _add_memory(config: EnhancedMemory, ctx: NodeContext, messages: list[Message]) -> Prompt:
    include = config.include_profile
    profile, events = await recall_profile(ctx, injected=True) if include else ((), ())
    hits, event = await recall_entries(
        ctx,
        scope=config.scope,
        query=get_query(config.query_selector, ctx),
        filter=config.filter,
        top_k=config.top_k,
        injected=True,
        recency_days=config.recency_days,
        min_score=config.min_score,
        include_recent=config.include_recent,
        finds_former=config.finds_former,
    )
    events, others = (*events, event), exclude_profile(hits, profile)
    if not profile and not others:
        return Prompt(tuple(messages), events=events)
    text = await _render_memory(config, others, ctx) if others else ""
    injected = Message("system", join_blocks(render_profile(profile), text))
    position = _find_insert_index(config.injection_position, messages)
    return Prompt(
        (*messages[:position], injected, *messages[position:]),
        (*profile, *others),
        has_recalled=bool(hits),
        events=events,
    )


async def _add_reminder(prompt: Prompt, ctx: NodeContext) -> Prompt:
    """Add the memories of earlier runs that the application's reminder provides, if there is one."""
    if ctx.ports.reminder is None:
        return prompt
    reminder = await ctx.ports.reminder.remind(
        prompt.messages, ctx.origin, without_lessons=ctx.answers_chat
    )
    if reminder is None:
        return prompt
    shown = list_shown(reminder.hits)
    record_shown_hits(ctx, shown)
    event = build_recalled_event(ctx, reminder.scope, reminder.query, shown, injected=True)
    events = (*prompt.events, event)
    hits = exclude_profile(shown, prompt.memories)
    if not hits:
        return replace(prompt, events=events)
    injected = Message("system", render_memories(hits))
    position = _find_insert_index("after_system", prompt.messages)
    messages = (*prompt.messages[:position], injected, *prompt.messages[position:])
    memories = (*prompt.memories, *hits)
    return Prompt(messages, memories, has_recalled=True, events=events)


async def _render_memory(
    config: EnhancedMemory, hits: Sequence[MemoryHit], ctx: NodeContext
) -> str:
    if not config.format_template:
        return render_memories(hits)
    entries = [quote_entry(hit, to_entry(hit)) for hit in hits]
    inputs = dict.fromkeys(("entries", "memories", "results"), entries)
    text = await _render_jinja(config.format_template, inputs, ctx)
    return f"{QUOTING_NOTE}\n{text}" if any(map(needs_quoting, hits)) else text


def _find_insert_index(insert_position: str, messages: Sequence[Message]) -> int:
    if insert_position == "before_system":
        return 0
    if insert_position == "before_user":
        return _find_last_index(messages, "user")
    others = (index for index, message in enumerate(messages) if message.role != "system")
    return next(others, len(messages))


def _find_last_index(messages: Sequence[Message], role: str) -> int:
    """Return the index of the last message of a role, or the end if there is none."""
    indexes = reversed(range(len(messages)))
    return next((i for i in indexes if messages[i].role == role), len(messages))


async def _build_completion(
    window: WindowConfig | None, ctx: NodeContext, messages: list[Message]
) -> list[Message]:
    """Build the single prompt of a completion model, including the previous turns of the chat."""
    if not messages or window is None or not window.enabled:
        return [replace(message, role="user") for message in messages[:1]]
    if window.role_prefix is None:
        raise NodeFailed("RolePrefixRequired", "memory.role_prefix is needed in completion mode")
    names = {"user": window.role_prefix.user, "assistant": window.role_prefix.assistant}
    history = "\n".join(f"{names[m.role]}: {m.text}" for m in await _load_turns(window, ctx))
    text = messages[0].text
    if HISTORY_MARK in text:
        return [Message("user", text.replace(HISTORY_MARK, history))]
    return [Message("user", f"{history}\n{text}".lstrip())]
