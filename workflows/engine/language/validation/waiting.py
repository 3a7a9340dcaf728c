"""What would be remembered from outside and so wait for a person: said while it is drawn, not when it is missed."""

from collections.abc import Container, Iterator, Mapping

from workflows.engine.kinds import AnyKind
from workflows.engine.language.document import Document
from workflows.engine.language.problems import Problem, warning
from workflows.engine.language.untrusted import Flow


# The switch that lets it in, which is where the warning stands.
SWITCH = "trusts_outside"


def waiting_problems(
    document: Document,
    kinds: Mapping[str, AnyKind],
    broken: Container[str],
    only: str | None = None,
) -> Iterator[Problem]:
    flow = Flow(document.nodes, kinds)
    # Of each that brings something in, how far it gets: a warning names the one it is about.
    ways = {one: flow.spread(frozenset({one})) for one in flow.brought}
    for node in document.nodes if ways else ():
        kind = kinds.get(node.kind)
        if kind is None or only not in (None, node.id) or node.id in broken:
            continue
        source = next((one for one in sorted(ways) if kind.waits(node, ways[one])), None)
        if source is not None:
            message = f"{source} brings in external content, which stays in quarantine until it is approved"
            yield warning("memory.waits", message, node=node.id, field=SWITCH)
