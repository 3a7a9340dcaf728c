"""Asks a person whether an agent may make a call."""

from typing import Final

from workflows.engine.kinds import NodeContext
from workflows.engine.language.document import Json
from workflows.engine.nodes.agent.agent_config import AgentConfig
from workflows.engine.nodes.agent.tool_use.toolbox import describe_call
from workflows.engine.runtime.waits import Wait


ALLOW: Final = "allow"
REFUSE: Final = "refuse"


class Refused(Exception):
    """The call is not made."""


def ask_for_approval(
    ctx: NodeContext, config: AgentConfig, part: str, tool_name: str, arguments: Json
) -> None:
    """Return if a person allowed the call. Raises Refused, or StepWaiting as long as nobody has answered."""
    answer = ctx.wait_for(Wait(build_form(tool_name, arguments), _get_due_at(ctx, config)), part)
    if answer.is_timed_out:
        raise Refused("Nobody allowed this call in time. Go on without it.")
    if answer.action != ALLOW:
        comment = str(answer.values.get("comment") or "").strip()[:2000]
        reason = f" The reason: “{comment}”." if comment else ""
        raise Refused(f"A person refused this call.{reason} Go on without it.")


def build_form(tool_name: str, arguments: Json) -> dict[str, Json]:
    return {
        "type": "approval",
        "content": describe_call(tool_name, arguments),
        "tool": tool_name,
        "arguments": arguments,
        "inputs": [],
        "actions": [
            {"id": ALLOW, "title": "Allow", "style": "primary"},
            {"id": REFUSE, "title": "Refuse", "style": "default"},
        ],
    }


def _get_due_at(ctx: NodeContext, config: AgentConfig) -> float | None:
    hours = config.approval_timeout_hours
    return None if hours is None else ctx.ports.clock.now().timestamp() + hours * 3600
