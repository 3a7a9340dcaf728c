"""Asks a person whether an agent may make a call."""

from collections.abc import Iterable
from typing import Final

from workflows.engine.answerers import Answerer, build_keys
from workflows.engine.kinds import NodeContext
from workflows.engine.language.document import Json
from workflows.engine.nodes.agent.agent_config import AgentConfig
from workflows.engine.nodes.agent.tool_use.toolbox import describe_call
from workflows.engine.runtime.waits import Wait, is_from_outside


ALLOW: Final = "allow"
REFUSE: Final = "refuse"
# The field of the form in which a person says why.
REASON_FIELD: Final = "comment"


_MAX_REASON: Final = 2000  # characters


class Refused(Exception):
    """The call is not made. ``is_untrusted``: the reason is from somebody who only had the link."""

    def __init__(self, text: str, *, is_untrusted: bool = False) -> None:
        self.is_untrusted = is_untrusted
        super().__init__(text)


def ask_for_approval(
    ctx: NodeContext, config: AgentConfig, part: str, tool_name: str, arguments: Json
) -> None:
    """Return if a person allowed the call. Raises Refused, or StepWaiting as long as nobody has answered."""
    form = build_form(tool_name, arguments, config.approvers)
    due_at = _get_due_at(ctx, config)
    answer = ctx.wait_for(Wait(form, due_at, is_duration=True), part)
    if answer.is_timed_out:
        raise Refused("Nobody allowed this call in time. Go on without it.")
    if answer.action != ALLOW:
        reason_text = str(answer.values.get(REASON_FIELD) or "").strip()[:_MAX_REASON]
        reason = f" The reason: “{reason_text}”." if reason_text else ""
        raise Refused(
            f"A person refused this call.{reason} Go on without it.",
            is_untrusted=bool(reason_text) and is_from_outside(answer),
        )


def build_form(
    tool_name: str, arguments: Json, approvers: Iterable[Answerer] = ()
) -> dict[str, Json]:
    """Return the form of a call. Without approvers it asks the run's own people, as every question does."""
    return {
        "type": "approval",
        "content": describe_call(tool_name, arguments),
        "tool": tool_name,
        "arguments": arguments,
        "answerers": build_keys(approvers),
        "inputs": [
            {
                "name": REASON_FIELD,
                "type": "paragraph",
                "label": "Reason",
                "required": False,
                "max_length": _MAX_REASON,
            }
        ],
        "actions": [
            {"id": ALLOW, "title": "Allow", "style": "primary"},
            {"id": REFUSE, "title": "Refuse", "style": "default"},
        ],
    }


def _get_due_at(ctx: NodeContext, config: AgentConfig) -> float | None:
    hours = config.approval_timeout_hours
    return None if hours is None else ctx.ports.clock.now().timestamp() + hours * 3600
