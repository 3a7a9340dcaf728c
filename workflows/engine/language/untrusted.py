"""Finds the nodes that untrusted content, which comes from the web or from tools, reaches.

Every node that reads untrusted content has untrusted outputs, since a model that read a web page may repeat the page's
instructions. The document tells which nodes bring such content in, but which memory entries contain it is known only
during the run. A step records their keys with its inputs, so that a run that continues after a crash finds the same
nodes. Untrusted content in the answer or the variables of a conversation reaches the next turn.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final

from pydantic import ValidationError

from workflows.engine.errors import EngineFault
from workflows.engine.kinds import AnyKind, Execution
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.templating import list_references
from workflows.engine.language.variables import CONVERSATION


# The origins of content, as the memory gate names them.
WEB: Final = "web"
_UNTRUSTED_ORIGINS: Final = frozenset({WEB, "tool"})
# Scopes whose entries other conversations recall, which cannot tell where the content came from.
_REVIEWED_SCOPES: Final = frozenset({"user", "global"})
# The previous answers, which later turns of the conversation read.
_ANSWERS: Final = "sys.answers"
_VARIABLES: Final = f"{CONVERSATION}."


class ContentFlow:
    """The flow of content in a document from node to node. ``sources`` are the nodes that bring untrusted content in."""

    def __init__(self, nodes: Iterable[NodeSpec], kinds: Mapping[str, AnyKind]) -> None:
        self._nodes = [(spec, kinds[spec.kind]) for spec in nodes if spec.kind in kinds]
        self.sources = frozenset(
            spec.id for spec, kind in self._nodes if kind.brings_untrusted_content(spec)
        )

    def find_untrusted(self, more_sources: Collection[str] = ()) -> frozenset[str]:
        """Return the ids of nodes whose outputs may be untrusted, and the names of such conversation variables.

        ``more_sources`` are nodes that received untrusted content from memory, and the untrusted variables of earlier
        turns. A variable's name begins with ``conversation.``.
        """
        return self.propagate(self.sources.union(more_sources)) if more_sources else self._initial

    def propagate(self, untrusted: frozenset[str]) -> frozenset[str]:
        """Return these nodes and variables, and all others that their content reaches."""
        previous_count = 0
        while len(untrusted) > previous_count:
            previous_count = len(untrusted)
            for node, reads, outputs in self._flows:
                if node in untrusted or not untrusted.isdisjoint(reads):
                    untrusted |= outputs
        return untrusted

    @cached_property
    def recalled(self) -> frozenset[str]:
        """Return the variables with the text of memories: outputs of nodes that recall it, and what it is copied to.

        A copy is named by its node's id or, for a conversation variable, by its own name. What a model wrote after it
        read memories is no copy.
        """
        recalled = frozenset(
            f"{spec.id}.{output}" for spec, kind in self._nodes for output in kind.recalled_outputs
        )
        copying = [
            (reads, outputs)
            for (_spec, kind), (_id, reads, outputs) in zip(
                self._nodes, self.list_reads(), strict=True
            )
            if kind.passes_text_on
        ]
        count = -1
        while count < len(recalled):
            count = len(recalled)
            for reads, outputs in copying if recalled else ():
                if not recalled.isdisjoint(reads):
                    recalled |= outputs
        return recalled

    def list_reads(self) -> list[tuple[str, frozenset[str], frozenset[str]]]:
        """Return the id of each node, the names of what it reads, such as ``node`` and ``node.output``, and its outputs."""
        return [
            (spec.id, frozenset(_list_names(_iter_selectors(spec.data))), outputs)
            for (spec, _kind), (_id, _reads, outputs) in zip(self._nodes, self._flows, strict=True)
        ]

    def reaches_outputs(self, untrusted: Collection[str]) -> bool:
        """Return whether a node whose outputs are those of the run is among these."""
        return not self._responses.isdisjoint(untrusted)

    @cached_property
    def _responses(self) -> frozenset[str]:
        return frozenset(
            spec.id for spec, kind in self._nodes if kind.execution is Execution.RESPONSE
        )

    @cached_property
    def _initial(self) -> frozenset[str]:
        return self.propagate(self.sources)

    @cached_property
    def _flows(self) -> list[tuple[str, frozenset[str], frozenset[str]]]:
        return [
            (
                spec.id,
                _collect_reads(spec, kind),
                frozenset({spec.id, *map(_get_flow_key, _list_written_variables(spec, kind))}),
            )
            for spec, kind in self._nodes
        ]


def select_carried_over(untrusted: Iterable[str]) -> tuple[str, ...]:
    """Return the part of the untrusted content that the conversation's next turn may read."""
    return tuple(sorted(key for key in untrusted if key == _ANSWERS or key.startswith(_VARIABLES)))


def has_untrusted_source(selectors: Iterable[Selector | None], untrusted: frozenset[str]) -> bool:
    return any(
        selector is not None and _get_flow_key(selector) in untrusted for selector in selectors
    )


def is_untrusted_memory(metadata: Mapping[str, Json] | None) -> bool:
    """Return whether an entry came from an untrusted origin and has not been approved since."""
    metadata = metadata or {}
    return metadata.get("origin") in _UNTRUSTED_ORIGINS and metadata.get("review") != "approve"


def is_recalled(selector: Selector | None, recalled: frozenset[str]) -> bool:
    """Return whether a variable has the text of memories, as ``ContentFlow.recalled`` tells."""
    return bool(selector and recalled) and not recalled.isdisjoint(_list_names([selector or ()]))


def needs_scope_review(scope: str, *, trusted: bool) -> bool:
    """Return whether untrusted content has to be reviewed before it is stored in the scope."""
    return scope in _REVIEWED_SCOPES and not trusted


def _get_flow_key(selector: Selector) -> str:
    """Return the name under which the flow knows a variable: its node's id, or a conversation variable's own name."""
    return ".".join(selector[:2]) if selector[0] == CONVERSATION else selector[0]


def _list_names(selectors: Iterable[Selector]) -> Iterator[str]:
    """Yield the names of variables in ``ContentFlow.recalled``: of their nodes, and of their outputs."""
    for selector in selectors:
        yield from (selector[0], ".".join(selector[:2]))


def _iter_selectors(value: Json) -> Iterator[Selector]:
    """Yield every reference to a variable, anywhere in a node's configuration."""
    if isinstance(value, str):
        yield from list_references(value)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _iter_selectors(item)
    elif isinstance(value, list | tuple):
        if len(value) > 1 and all(isinstance(item, str) and item for item in value):
            yield tuple(value)
        for item in value:
            yield from _iter_selectors(item)


def _collect_reads(spec: NodeSpec, kind: AnyKind) -> frozenset[str]:
    reads = frozenset(map(_get_flow_key, _iter_selectors(spec.data)))
    return reads | {_ANSWERS} if kind.reads_answers(spec) else reads


def _list_written_variables(spec: NodeSpec, kind: AnyKind) -> tuple[Selector, ...]:
    if kind.execution is Execution.RESPONSE:
        return ((_ANSWERS,),)
    try:
        return tuple(filter(None, kind.list_writes(kind.prepare(spec))))
    except (ValidationError, EngineFault):
        return ()  # an incomplete draft, which cannot run
