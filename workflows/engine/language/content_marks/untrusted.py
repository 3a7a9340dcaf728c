"""Finds the nodes that untrusted content, which comes from the web or from tools, reaches.

Every node that reads untrusted content has untrusted outputs, since a model that read a web page may repeat the page's
instructions. The document tells which nodes bring such content in, but which memory entries contain it is known only
during the run. A step records their keys with its inputs, so that a run that continues after a crash finds the same
nodes. Untrusted content in the answer or the variables of a conversation reaches the next turn.

A branch that such content chose, also that for a failure, and a container whose rounds it decides, decide whether other
nodes run at all. These are marked, too: their outputs are untrusted, and what they store passes the same review, whatever they read. So are all
nodes of another workflow that such content chose to run.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from functools import cached_property
from typing import Final

from pydantic import ValidationError

from workflows.engine.errors import EngineFault
from workflows.engine.kinds import AnyKind, Execution
from workflows.engine.language.content_marks.decisions import (
    ROUND_VALUES,
    Decisions,
    build_chosen_mark,
    build_chosen_marks,
)
from workflows.engine.language.document import EdgeSpec, Json, NodeSpec, Selector
from workflows.engine.language.graph import Graph
from workflows.engine.language.templating import list_references
from workflows.engine.language.variables import CONVERSATION, SYSTEM, normalize_selector
from workflows.engine.triggers.calls import WEBHOOK_CALL


# The origins of content, as the memory gate names them.
WEB: Final = "web"
_UNTRUSTED_ORIGINS: Final = frozenset({WEB, "tool"})
# Scopes whose entries other conversations recall, which cannot tell where the content came from.
_REVIEWED_SCOPES: Final = frozenset({"user", "global"})
# The previous answers, which later turns of the conversation read.
ANSWERS: Final = "sys.answers"
_VARIABLES: Final = f"{CONVERSATION}."
# What a webhook was called with, which a node may name as a system variable.
_WEBHOOK: Final = f"{SYSTEM}.{WEBHOOK_CALL}"


class ContentFlow:
    """The flow of content in a document from node to node. ``sources`` are the nodes that bring untrusted content in."""

    def __init__(
        self,
        nodes: Iterable[NodeSpec],
        kinds: Mapping[str, AnyKind],
        edges: Iterable[EdgeSpec] = (),
    ) -> None:
        by_id = {spec.id: spec for spec in nodes}
        self._nodes = [(spec, kinds[spec.kind]) for spec in by_id.values() if spec.kind in kinds]
        self._graph = Graph(
            by_id, tuple(edge for edge in edges if {edge.source, edge.target} <= by_id.keys())
        )
        self._decisions = Decisions(self._nodes, self._graph)
        sources = [each for each in self._nodes if each[1].brings_untrusted_content(each[0])]
        self.sources = frozenset(spec.id for spec, _kind in sources)
        # The other sources say in their steps whether they have read untrusted content.
        self._certain_sources = frozenset(
            spec.id for spec, kind in sources if not kind.records_untrusted_content
        )

    def find_untrusted(self, more_sources: Collection[str] = ()) -> frozenset[str]:
        """Return the ids of nodes whose outputs may be untrusted, and the names of such conversation variables.

        ``more_sources`` are nodes that received untrusted content from memory, and the untrusted variables of earlier
        turns. A variable's name begins with ``conversation.``. The answers of this run are for later turns.
        """
        if not more_sources:
            return self._initial
        sources = self._certain_sources.union(more_sources, self._called)
        return self.propagate(sources, with_answers=False)

    def propagate(
        self,
        untrusted: frozenset[str],
        among: Collection[str] | None = None,
        *,
        with_answers: bool = True,
    ) -> frozenset[str]:
        """Return these nodes and variables, and all others that their content reaches or decides about.

        With ``among``, it goes only through these nodes, and those that didn't run because untrusted content decided so:
        who reads what they would have left, such as a variable, learns of the decision.
        """
        marked = set(untrusted)
        for spec, kind in self._nodes:
            # A person who read untrusted content decides freely, and anybody may be the one who has the link.
            if spec.id in untrusted and kind.execution is Execution.BRANCH:
                marked |= self._decisions.list_decided(spec, kind)
        previous_count = -1
        while len(marked) > previous_count:
            previous_count = len(marked)
            for (spec, kind), (node, reads, outputs) in zip(self._nodes, self._flows, strict=True):
                if not (among is None or node in among or build_chosen_mark(node) in marked):
                    continue
                if node in marked or not marked.isdisjoint(reads):
                    marked |= outputs if with_answers else outputs - {ANSWERS}
                if self._decisions.decides(spec, kind, reads, marked):
                    marked |= self._decisions.list_decided(spec, kind)
                if node in marked:
                    marked |= self._decisions.list_behind_failure(node)
        return frozenset(marked)

    def find_left(
        self, finished_nodes: Collection[str], more_sources: Collection[str]
    ) -> frozenset[str]:
        """Return what is untrusted at the end of a run, in which only these nodes have finished."""
        kinds = {spec.id: kind for spec, kind in self._nodes}
        finished = {*finished_nodes}
        for node in finished_nodes:
            if node in kinds and kinds[node].execution is Execution.CONTAINER:
                finished |= self._graph.list_inside(node)  # other workers may have run the rounds
        sources = (self._certain_sources & finished).union(more_sources, self._called)
        return self.propagate(sources, finished)

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

    def list_chosen_marks(self) -> frozenset[str]:
        """Return the marks of all nodes, for a run that untrusted content has chosen: everything in it runs because of that."""
        return build_chosen_marks(spec.id for spec, _kind in self._nodes)

    def reaches_outputs(self, untrusted: Collection[str]) -> bool:
        """Return whether a node whose outputs are those of the run is among these."""
        return not self._responses.isdisjoint(untrusted)

    def reaches_failure(self, untrusted: Collection[str], failed_node: str | None) -> bool:
        """Return whether these are the cause of a run's failure, or its error has their words: a caller reads that.

        A container fails with an error inside it. At a limit of the run, any node that ran before may be the cause.
        """
        if failed_node is None:
            return bool(untrusted)
        return not {failed_node, *self._graph.list_inside(failed_node)}.isdisjoint(untrusted)

    def _list_reads_of(self, spec: NodeSpec, kind: AnyKind) -> frozenset[str]:
        reads = _collect_reads(spec, kind) | self._decisions.list_failing_inside(spec, kind)
        return reads | ROUND_VALUES if spec.id in self._containers_with_values else reads

    def _list_round_values(self, spec: NodeSpec, kind: AnyKind) -> frozenset[str]:
        """Return the names under which others read what a round gives: of its End, and of the container around it."""
        if kind.provides_results and spec.parent is not None:
            return ROUND_VALUES | {spec.parent}
        return ROUND_VALUES if spec.id in self._containers_with_values else frozenset()

    @cached_property
    def _containers_with_values(self) -> frozenset[str]:
        """Return the containers whose rounds end with an End, or whose nodes name the values of rounds themselves."""
        inside = {
            spec.parent
            for spec, kind in self._nodes
            if spec.parent is not None
            and (kind.provides_results or not ROUND_VALUES.isdisjoint(_list_sources(spec)))
        }
        return frozenset(
            spec.id
            for spec, kind in self._nodes
            if kind.execution is Execution.CONTAINER
            and not inside.isdisjoint({spec.id, *self._graph.list_inside(spec.id)})
        )

    @cached_property
    def _responses(self) -> frozenset[str]:
        return frozenset(
            spec.id for spec, kind in self._nodes if kind.execution is Execution.RESPONSE
        )

    @cached_property
    def _initial(self) -> frozenset[str]:
        return self.propagate(self._certain_sources | self._called, with_answers=False)

    @cached_property
    def _called(self) -> frozenset[str]:
        """Return the name of the call of a webhook, if a node reads that itself."""
        return (
            frozenset({_WEBHOOK})
            if any(_WEBHOOK in reads for _, reads, _ in self._flows)
            else frozenset()
        )

    @cached_property
    def _flows(self) -> list[tuple[str, frozenset[str], frozenset[str]]]:
        return [
            (
                spec.id,
                self._list_reads_of(spec, kind),
                frozenset({spec.id, *map(_get_flow_key, _list_written_variables(spec, kind))})
                | self._list_round_values(spec, kind),
            )
            for spec, kind in self._nodes
        ]


def select_carried_over(untrusted: Iterable[str]) -> tuple[str, ...]:
    """Return the part of the untrusted content that the conversation's next turn may read."""
    return tuple(sorted(key for key in untrusted if key == ANSWERS or key.startswith(_VARIABLES)))


def has_untrusted_source(selectors: Iterable[Selector | None], untrusted: Set[str]) -> bool:
    # A selector in which nothing was chosen yet reads nothing.
    return any(_get_flow_key(selector) in untrusted for selector in selectors if selector)


def is_influenced(node_id: str, selectors: Iterable[Selector | None], untrusted: Set[str]) -> bool:
    """Return whether what a node does with these variables is under the influence of untrusted content.

    It is if one of them is untrusted, or if untrusted content decided that the node runs.
    """
    return is_chosen(node_id, untrusted) or has_untrusted_source(selectors, untrusted)


def is_chosen(node_id: str, untrusted: Set[str]) -> bool:
    """Return whether untrusted content decided that the node runs."""
    return build_chosen_mark(node_id) in untrusted


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
    selector = tuple(normalize_selector(selector))
    is_alone = selector[0] == CONVERSATION or selector[:2] == (SYSTEM, WEBHOOK_CALL)
    return ".".join(selector[:2]) if is_alone else selector[0]


def _list_names(selectors: Iterable[Selector]) -> Iterator[str]:
    """Yield the names of variables in ``ContentFlow.recalled``: of their nodes, and of their outputs."""
    for selector in filter(None, selectors):
        yield from (selector[0], ".".join(selector[:2]))


def _iter_selectors(value: Json) -> Iterator[Selector]:
    """Yield every reference to a variable, anywhere in a node's configuration."""
    if isinstance(value, str):
        yield from list_references(value)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _iter_selectors(item)
    elif isinstance(value, list | tuple):
        # The id of a node may be written as a number.
        if len(value) > 1 and all(isinstance(item, str | int) and item for item in value):
            yield tuple(map(str, value))
        for item in value:
            yield from _iter_selectors(item)


def _collect_reads(spec: NodeSpec, kind: AnyKind) -> frozenset[str]:
    defaults = {each.name: each.default for each in kind.fields if each.name not in spec.data}
    reads = frozenset(map(_get_flow_key, _iter_selectors({**defaults, **spec.data})))
    reads |= {build_chosen_mark(spec.id)}
    # Who reads the earlier turns reads the question after them, too.
    return reads | {ANSWERS, SYSTEM} if kind.reads_answers(spec) else reads


def _list_sources(spec: NodeSpec) -> Iterator[str]:
    """Yield the first name of every variable that the configuration names, to read it or to set it."""
    return (selector[0] for selector in _iter_selectors(spec.data))


def _list_written_variables(spec: NodeSpec, kind: AnyKind) -> tuple[Selector, ...]:
    if kind.execution is Execution.RESPONSE:
        return ((ANSWERS,),)
    try:
        return tuple(filter(None, kind.list_writes(kind.prepare(spec))))
    except (ValidationError, EngineFault):
        return ()  # an incomplete draft, which cannot run
