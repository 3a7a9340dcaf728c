"""The memories that an agent is shown in its first prompt, whichever way they came there."""

from collections.abc import Sequence

from workflows.engine.kinds import NodeContext
from workflows.engine.language.content_marks.shown_memories import ShownMemories
from workflows.engine.language.content_marks.untrusted import is_influenced, is_recalled
from workflows.engine.language.templating import Template
from workflows.engine.nodes.agent.agent_config import AgentConfig
from workflows.engine.ports import MemoryHit
from workflows.engine.text_rendering import as_text


def collect_memories(
    config: AgentConfig, ctx: NodeContext, hits: Sequence[MemoryHit]
) -> ShownMemories:
    """Return the memories that may be in an agent's first prompt. The person's own words in its last question are left out.

    Those that earlier steps and turns were shown are among them, since what a model wrote after it had read them may be
    in the prompt.
    """
    memories = ShownMemories(_get_own_words(config, ctx))
    memories.add(ctx.shown_memories)
    memories.add(ctx.recorded_memories)
    memories.add(as_text(hit.value) for hit in hits)
    memories.add(
        as_text(ctx.pool.get_or_none(selector))
        for selector in config.selectors
        if is_recalled(selector, ctx.recalled)
    )
    return memories


def _get_own_words(config: AgentConfig, ctx: NodeContext) -> str:
    """Return the words of the last question that are the person's or the author's, unless they are under outside influence."""
    segments = Template.of(config.query).segments
    selectors = [each for each in segments if not isinstance(each, str)]
    own_selectors = [each for each in selectors if each[0] in ctx.own_sources]
    if is_influenced(ctx.node_id, own_selectors, ctx.untrusted):
        return ""
    return " ".join(
        each if isinstance(each, str) else as_text(ctx.pool.get_or_none(each))
        for each in segments
        if isinstance(each, str) or each in own_selectors
    )
