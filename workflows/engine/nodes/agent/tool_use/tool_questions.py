"""Calls a tool that may ask a person something first: the run pauses, and the same call is made again with the answer.

An answer is for who has asked: a tool whose connection was changed meanwhile has to ask again.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from workflows.engine.errors import ToolFailed
from workflows.engine.kinds import NodeContext
from workflows.engine.language.document import Json
from workflows.engine.runtime.waits import Wait
from workflows.engine.tool_calls import Tool, ToolAsks, ToolPort, ToolReply, ToolResult


MAX_QUESTIONS: Final = 20  # of one call
# Stands between the name of a part and the number of the question.
_ASKED: Final = "?"
_DIGEST_LENGTH: Final = 16


async def call_answered(
    ctx: NodeContext,
    port: ToolPort,
    tool: Tool,
    arguments: Mapping[str, Json],
    *,
    idempotency_key: str,
    part: str = "",
) -> ToolResult:
    """Return the result of the call. Raises StepWaiting as long as nobody has answered what the tool asks."""
    begin = _begin_name(ctx, part, tool.version)
    count = 0
    while f"{begin}{count + 1}" in ctx.answers:
        count += 1
    if count:
        answer = ctx.answers[f"{begin}{count}"]
        tool = replace(tool, reply=ToolReply(answer.values, answer.action, answer.state))
    try:
        return await port.call(tool, arguments, idempotency_key=idempotency_key)
    except ToolAsks as asked:
        if count >= MAX_QUESTIONS:
            raise ToolFailed(f"The tool {tool.spec.name} asks too many questions") from None
        form = {**asked.form, "state": asked.state, "call": tool.version}
    # The question has no answer yet, so that this pauses the run.
    ctx.wait_for(Wait(form), f"{begin}{count + 1}")
    raise AssertionError("A new question has no answer.")


def _begin_name(ctx: NodeContext, part: str, version: str) -> str:
    """Return how the names of the questions of a call begin: those after a change of its connection have a name of their own."""
    begin = f"{part}{_ASKED}"
    first = ctx.answers.get(f"{begin}1")
    if first is None or not first.call or first.call == version:
        return begin
    return f"{begin}{hashlib.sha256(version.encode()).hexdigest()[:_DIGEST_LENGTH]}."
