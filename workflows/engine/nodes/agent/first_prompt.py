"""The first prompt of an agent: that of an LLM node, recorded so that a repeated attempt works with the same memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from workflows.engine.kinds import UNTRUSTED_KEYS, NodeContext
from workflows.engine.language.document import Json
from workflows.engine.nodes.agent.agent_config import AgentConfig
from workflows.engine.nodes.llm.images import add_images
from workflows.engine.nodes.llm.prompt_messages import Prompt, build_prompt
from workflows.engine.nodes.memory.memory_access import to_entry
from workflows.engine.ports import MemoryHit, Message, Origin
from workflows.engine.runtime.step_parts import PartResult


PROMPT_PART: Final = "prompt"
PROMPT_KIND: Final = "agent-prompt"
_DATES: Final = ("updated_at", "valid_from", "valid_until")


@dataclass(frozen=True, slots=True)
class RecordedHit:
    """A memory in a recorded prompt, with what its line says beside it. It implements ``ports.MemoryHit``."""

    id: str
    namespace: str
    key: str
    value: Json
    metadata: Mapping[str, Json]
    score: float | None
    speaker: str = ""
    updated_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    disagrees_with: tuple["RecordedHit", ...] = ()


@dataclass(frozen=True, slots=True)
class FirstPrompt:
    messages: tuple[Message, ...]
    memories: tuple[MemoryHit, ...] = ()

    def describe(self) -> dict[str, Json]:
        """Describe the prompt for the record of the step."""
        return Prompt(self.messages, self.memories).describe()


def to_record(hit: MemoryHit) -> dict[str, Json]:
    """Return a hit as a part of a step records it, with the notes that ``read_records`` reads."""
    dates = {name: getattr(hit, name, None) for name in _DATES}
    return {
        **to_entry(hit),
        "speaker": getattr(hit, "speaker", ""),
        **{name: date.isoformat() if date else None for name, date in dates.items()},
        "disagrees_with": [other.id for other in getattr(hit, "disagrees_with", ())],
    }


def read_records(records: Sequence[Mapping[str, Any]]) -> list[RecordedHit]:
    """Return the hits of ``to_record``. Those of older runs have no notes."""
    by_id: dict[str, RecordedHit] = {}
    for record in records:
        by_id[record["id"]] = RecordedHit(**{**record, **_read_dates(record), "disagrees_with": ()})
    return [
        replace(
            by_id[record["id"]],
            disagrees_with=tuple(
                by_id[other] for other in record.get("disagrees_with", ()) if other in by_id
            ),
        )
        for record in records
    ]


def _read_dates(record: Mapping[str, Any]) -> dict[str, datetime | None]:
    dates = {name: record.get(name) for name in _DATES}
    return {name: datetime.fromisoformat(date) if date else None for name, date in dates.items()}


async def build_first_prompt(config: AgentConfig, ctx: NodeContext) -> FirstPrompt:
    """Build the prompt with its images, or return that of an earlier attempt if it holds memories or earlier messages.

    The images are not recorded: their files stay the same, and are large.
    """
    return await _add_images(await _build_text(config, ctx), config, ctx)


async def preview_first_prompt(config: AgentConfig, ctx: NodeContext) -> FirstPrompt:
    """Build the prompt without memories."""
    prompt = await build_prompt(config.build_prompt_config(), ctx, with_memory=False)
    return await _add_images(FirstPrompt(prompt.messages), config, ctx)


async def _add_images(prompt: FirstPrompt, config: AgentConfig, ctx: NodeContext) -> FirstPrompt:
    if config.image_variable is None:
        return prompt
    messages = await add_images(config.image_variable, ctx, [*prompt.messages])
    return replace(prompt, messages=tuple(messages))


async def _build_text(config: AgentConfig, ctx: NodeContext) -> FirstPrompt:
    prompt_config = config.build_prompt_config()
    window, memory = config.memory, config.enhanced_memory
    uses_memory = (window is not None and window.enabled) or (memory is not None and memory.enabled)
    if ctx.parts is None or not (uses_memory or ctx.ports.reminder):
        prompt = await build_prompt(prompt_config, ctx)
        return FirstPrompt(prompt.messages)

    async def call(origin: Origin) -> PartResult:
        built_prompt = await build_prompt(prompt_config, ctx)
        return PartResult(_to_outputs(built_prompt, ctx), events=built_prompt.events)

    outputs = await ctx.parts.run(PROMPT_PART, PROMPT_KIND, call, inputs={})
    ctx.record_untrusted_keys(outputs["untrusted_keys"])
    ctx.record_memories(outputs.get("shown_memories", ()))
    return _read_prompt(outputs)


def _to_outputs(prompt: Prompt, ctx: NodeContext) -> dict[str, Json]:
    return {
        "messages": [{"role": each.role, "text": each.text} for each in prompt.messages],
        "memories": [to_entry(hit) for hit in prompt.memories],
        "untrusted_keys": list(ctx.recorded_inputs.get(UNTRUSTED_KEYS, ())),
        "shown_memories": list(ctx.recorded_memories),
    }


def _read_prompt(outputs: Mapping[str, Any]) -> FirstPrompt:
    messages: Sequence[Mapping[str, Any]] = outputs["messages"]
    return FirstPrompt(
        tuple(Message(message["role"], message["text"]) for message in messages),
        tuple(RecordedHit(**{**entry, **_read_dates(entry)}) for entry in outputs["memories"]),
    )
