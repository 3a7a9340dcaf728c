"""Finds the nodes that untrusted content reaches: content from the web or a tool is passed on by every reader.

Kinds that bring it in are known from the document, before a run. Memory entries with such content are known only
during the run; the step records them with its inputs, so that a run that continues after a crash has the same
knowledge. Untrusted content in the answer or the variables of a conversation is passed to the next turn. This is
cautious on purpose, since a model that read a web page may repeat the page's instructions.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final

from pydantic import ValidationError

from workflows.engine.kinds import AnyKind, Execution
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.templating import list_references
from workflows.engine.language.variables import CONVERSATION


# The origins of content, as the memory gate names them.
WEB: Final = "web"
_UNTRUSTED_ORIGINS: Final = frozenset({WEB, "tool"})
# Entries of these scopes are recalled where their origin is no longer known.
_REVIEWED_SCOPES: Final = frozenset({"user", "global"})
# The previous answers, which later turns of the conversation read.
_ANSWERS: Final = "sys.answers"
_VARIABLES: Final = f"{CONVERSATION}."


class Flow:
    """The flow of content in a document, from the nodes that output it to every reader.

    ``sources`` are the nodes that bring untrusted content in.
    """

    def __init__(self, nodes: Iterable[NodeSpec], kinds: Mapping[str, AnyKind]) -> None:
        self._nodes = [(spec, kinds[spec.kind]) for spec in nodes if spec.kind in kinds]
        self.sources = frozenset(
            spec.id for spec, kind in self._nodes if kind.has_untrusted_outputs
        )

    def find_untrusted(self, additional: Collection[str] = ()) -> frozenset[str]:
        """Return the nodes whose outputs may be untrusted, by id, and such conversation variables, dotted.

        ``additional`` are nodes that received untrusted content from memory, and the untrusted variables of earlier
        turns.
        """
        return self.propagate(self.sources.union(additional)) if additional else self._initial

    def propagate(self, untrusted: frozenset[str]) -> frozenset[str]:
        """Return these nodes and variables, and all others that their content reaches."""
        count = 0
        while len(untrusted) > count:
            count = len(untrusted)
            for node, reads, outputs in self._flows:
                if node in untrusted or not untrusted.isdisjoint(reads):
                    untrusted |= outputs
        return untrusted

    @cached_property
    def _initial(self) -> frozenset[str]:
        return self.propagate(self.sources)

    @cached_property
    def _flows(self) -> list[tuple[str, frozenset[str], frozenset[str]]]:
        return [
            (
                spec.id,
                _collect_reads(spec, kind),
                frozenset({spec.id, *map(_get_flow_key, _list_written(spec, kind))}),
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


def needs_scope_review(scope: str, *, trusted: bool) -> bool:
    """Return whether untrusted content has to be reviewed before it is stored in the scope."""
    return scope in _REVIEWED_SCOPES and not trusted


def _get_flow_key(selector: Selector) -> str:
    """Return the unit that flows together: all outputs of a node, but each conversation variable separately."""
    return ".".join(selector[:2]) if selector[0] == CONVERSATION else selector[0]


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


def _list_written(spec: NodeSpec, kind: AnyKind) -> tuple[Selector, ...]:
    if kind.execution is Execution.RESPONSE:
        return ((_ANSWERS,),)
    try:
        return tuple(kind.list_writes(kind.prepare(spec)))
    except ValidationError:
        return ()  # an incomplete draft, which cannot run
