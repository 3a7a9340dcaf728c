"""Asks a person whether a call may be made.

The person sees the arguments that will be sent, and the answer is valid for exactly this call. If its arguments or the
connection were changed before it is made, the person is asked again.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from workflows.engine.answerers import Answerer, build_keys
from workflows.engine.kinds import NodeContext
from workflows.engine.language.document import Json
from workflows.engine.nodes.agent.agent_config import AgentConfig
from workflows.engine.nodes.agent.tool_use.call_groups import PreparedCall
from workflows.engine.nodes.agent.tool_use.memory_tools import MemoryTool
from workflows.engine.nodes.agent.tool_use.toolbox import PortTool, describe_call
from workflows.engine.nodes.memory.consent import (
    CHANGED,
    build_digest,
    describe_meant,
    wait_for_consent,
)
from workflows.engine.ports import Origin
from workflows.engine.runtime.waits import (
    ALLOW,
    APPROVAL_ACTIONS,
    Answer,
    Wait,
    is_from_outside,
)
from workflows.engine.sub_workflows.tools import WORKFLOW


# The field of the form in which a person says why.
REASON_FIELD: Final = "comment"


_MAX_REASON: Final = 2000  # characters
_CONNECTED: Final = frozenset({"mcp", "openapi"})  # the sources of tools


class Refused(Exception):
    """The call is not made. ``is_untrusted``: the reason is from somebody who only had the link."""

    def __init__(self, text: str, *, is_untrusted: bool = False) -> None:
        self.is_untrusted = is_untrusted
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class AskedCall:
    """A call that a person is asked about. ``arguments`` are all that will be sent, those that the author set included."""

    tool_name: str
    arguments: Mapping[str, Json]
    version: str = ""  # of the tool
    cause: str = ""  # why a person is asked although the author didn't say so
    connection: str = ""  # through which it goes, if any

    @property
    def digest(self) -> str:
        """Return a text that no other call has."""
        # Stored values come back with their members in another order.
        parts = [self.tool_name, self.arguments, self.version]
        text = json.dumps(parts, sort_keys=True, default=_to_plain)
        return hashlib.sha256(text.encode()).hexdigest()


async def build_asked_call(call: PreparedCall, origin: Origin, cause: str = "") -> AskedCall:
    """Return the call as a person is asked about it, with the memory that a call of memory is about, as it is now."""
    tool = call.tool
    if tool is None:
        return AskedCall(call.name, call.arguments, cause=cause)
    arguments, description = tool.complete(call.arguments), tool.description
    connection = name_connection(str(description["source"]), str(description["provider"]))
    if isinstance(tool, PortTool):
        cause = cause or tool.tool.cause
    version = tool.version
    if isinstance(tool, MemoryTool) and (memories := await tool.find_meant(arguments, origin)):
        arguments = {**arguments, "memories": describe_meant(memories)}
        version = build_digest(memories)
    return AskedCall(call.name, arguments, version, cause, connection)


def name_connection(source: str, provider: str) -> str:
    """Return the name of the team's connection through which a tool is called, or an empty text if it needs none."""
    return provider if source in _CONNECTED else ""


def ask_for_approval(ctx: NodeContext, config: AgentConfig, part: str, call: AskedCall) -> None:
    """Return if a person allowed the call. Raises Refused, or StepWaiting as long as nobody has answered."""
    answer = wait_for_answer(
        ctx, call, part, approvers=config.approvers, due_at=_get_due_at(ctx, config)
    )
    if answer.is_timed_out:
        raise Refused("Nobody allowed this call in time. Go on without it.")
    if answer.action != ALLOW:
        reason_text = str(answer.values.get(REASON_FIELD) or "").strip()[:_MAX_REASON]
        reason = f" The reason: “{reason_text}”." if reason_text else ""
        raise Refused(
            f"A person refused this call.{reason} Go on without it.",
            is_untrusted=bool(reason_text) and is_from_outside(answer),
        )


async def has_begun(ctx: NodeContext, source: str, idempotency_key: str) -> bool:
    """Return whether the call has started a workflow already, in the version that a person allowed then."""
    children = ctx.ports.sub_workflows
    return source == WORKFLOW and children is not None and await children.has_begun(idempotency_key)


def wait_for_answer(
    ctx: NodeContext,
    call: AskedCall,
    part: str = "",
    *,
    approvers: Iterable[Answerer] = (),
    due_at: float | None = None,
) -> Answer:
    """Return the answer to this very call. Raises StepWaiting as long as there is none, also if another one was allowed.

    A call that was refused stays so, whatever was changed meanwhile.
    """
    wait = Wait(build_form(call, approvers), due_at, is_duration=due_at is not None)
    return wait_for_consent(ctx, wait, call.digest, part)


def was_refused_from_outside(ctx: NodeContext, part: str) -> bool:
    """Return whether somebody who only had the link gave a reason against the call, which was decided earlier."""
    return any(
        bool(str(answer.values.get(REASON_FIELD) or "").strip()) and is_from_outside(answer)
        for name, answer in ctx.answers.items()
        if name.partition(CHANGED)[0] == part and answer.action != ALLOW
    )


def _to_plain(value: object) -> Json:
    return dict(value) if isinstance(value, Mapping) else str(value)


def build_form(call: AskedCall, approvers: Iterable[Answerer] = ()) -> dict[str, Json]:
    """Return the form of a call. Without approvers it asks the run's own people, as every question does."""
    return {
        "type": "approval",
        "content": describe_call(call.tool_name, dict(call.arguments)),
        "tool": call.tool_name,
        "arguments": dict(call.arguments),
        "call": call.digest,
        "answerers": build_keys(approvers),
        **({"cause": call.cause} if call.cause else {}),
        **({"connection": call.connection} if call.connection else {}),
        "inputs": [
            {
                "name": REASON_FIELD,
                "type": "paragraph",
                "label": "Reason",
                "required": False,
                "max_length": _MAX_REASON,
            }
        ],
        "actions": [dict(action) for action in APPROVAL_ACTIONS],
    }


def _get_due_at(ctx: NodeContext, config: AgentConfig) -> float | None:
    hours = config.approval_timeout_hours
    return None if hours is None else ctx.ports.clock.now().timestamp() + hours * 3600
