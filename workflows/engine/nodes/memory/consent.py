"""Asks a person before memories are forgotten on the word of untrusted content."""

from collections.abc import Iterable, Mapping
from typing import Final

from workflows.engine.kinds import NodeContext
from workflows.engine.language.content_marks.untrusted import is_influenced
from workflows.engine.language.document import Json, Selector
from workflows.engine.runtime.waits import ALLOW, APPROVAL_ACTIONS, FORGETS_FOR_OUTSIDE, Wait


FORGET: Final = "forget"


def may_forget(
    ctx: NodeContext, selectors: Iterable[Selector], selection: Mapping[str, Json]
) -> bool:
    """Return whether a step may forget the ``selection``, which comes from these variables.

    It may, unless untrusted content chose it or decided that the step runs: then a person has to allow it. Raises
    StepWaiting, which pauses the run, as long as nobody has answered.
    """
    if not is_influenced(ctx.node_id, selectors, ctx.untrusted):
        return True
    form = {
        "type": "approval",
        "content": "",
        "tool": FORGET,
        "cause": FORGETS_FOR_OUTSIDE,
        "arguments": {name: value for name, value in selection.items() if value},
        "inputs": [],
        "actions": [dict(action) for action in APPROVAL_ACTIONS],
    }
    return ctx.wait_for(Wait(form)).action == ALLOW
