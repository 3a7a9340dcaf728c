"""A call of a memory tool, as the actions of memory and of the wiki take it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple

from workflows.engine.kinds import NodeContext
from workflows.engine.language.document import Json
from workflows.engine.nodes.agent.tool_use.tool_results import ToolOutcome
from workflows.engine.ports import Origin


WAITS: Final = "It waits for a person's approval before anyone can recall it."

Arguments = Mapping[str, Json]


class MemoryCall(NamedTuple):
    """A call of a memory tool: the scope that the model chose, and the other arguments."""

    scope: str
    arguments: Arguments
    ctx: NodeContext
    origin: Origin
    has_read_untrusted: bool
    knowledge_bases: tuple[
        str, ...
    ] = ()  # of the team, which a search is about instead of the scope

    @property
    def address(self) -> dict[str, Any]:
        return {"scope": self.scope, "identity": self.ctx.identity, "origin": self.origin}


Action = Callable[[MemoryCall], Awaitable[ToolOutcome]]
# Description, parameters, required parameters, action.
ToolEntry = tuple[str, dict[str, Json], tuple[str, ...], Action]
