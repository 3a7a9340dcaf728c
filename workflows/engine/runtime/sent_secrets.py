"""Refuses to send outside what other steps wrote if a secret of the team is in it.

What the author put into the node is configuration, and so are the workflow's own secret variables, wherever they were put
together: only secrets of the team's connections, models and webhooks count, which no step is ever given.
"""

from collections.abc import Iterator
from typing import Final

from workflows.engine.errors import NodeFailed
from workflows.engine.kinds import NodeContext
from workflows.engine.language.document import Json
from workflows.engine.language.plan import PlanNode
from workflows.engine.language.variables import ENVIRONMENT
from workflows.engine.runtime.partial_runs import iter_reads


ERROR_TYPE: Final = "StoredSecret"


async def check_sent(node: PlanNode, ctx: NodeContext) -> None:
    """Raise NodeFailed if the step would send a stored secret that came to it in a variable."""
    port = ctx.ports.secrets
    if port is None or not node.kind.sends_outside(node.spec):
        return
    values = list(_iter_values(node, ctx))
    if values and await port.is_team_secret_in(values):
        raise NodeFailed(
            ERROR_TYPE, "A stored secret is in what this node would send, so it was not sent"
        )


def _iter_values(node: PlanNode, ctx: NodeContext) -> Iterator[Json]:
    for selector in dict.fromkeys(iter_reads(node.spec, {node.spec.kind: node.kind})):
        if selector[0] != ENVIRONMENT and (value := ctx.pool.get_or_none(selector)) is not None:
            yield value
