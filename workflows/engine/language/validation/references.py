"""Does every reference lead to something that can be there when it is looked at.

All of these are warnings: a reference to nothing prints its name, ends up null or fails its node,
depending on where it stands, and a document may mean just that.
"""

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from workflows.engine.kinds import AnyKind, NodeKind
from workflows.engine.language.document import Document, Json, NodeSpec, Selector
from workflows.engine.language.graph import Graph
from workflows.engine.language.problems import Problem, warning
from workflows.engine.language.templating import REFERENCE, references
from workflows.engine.language.variables import CONVERSATION, ENVIRONMENT, SYSTEM


SYSTEM_VARIABLES: Final = frozenset(
    {
        *("files", "user_id", "app_id", "workflow_id", "workflow_run_id", "timestamp", "query"),
        *("conversation_id", "dialogue_count", "invoke_from", "document_id", "batch"),
        *("original_document_id", "dataset_id", "datasource_type", "datasource_info"),
        *("execution_id", "group_id", "run_id"),
    }
)
ERROR_OUTPUTS: Final = ("error_message", "error_type")
_LOOKS_LIKE_ONE: Final = re.compile(r"\{\{#([^#{}\n]{1,200})#\}\}")
_SPECIAL: Final = frozenset({"context", "url", "histories", "query"})


def reference_problems(
    document: Document,
    graph: Graph,
    kinds: Mapping[str, AnyKind],
    broken: Container[str],
    only: str | None = None,
    off: Container[str] = frozenset(),
) -> Iterator[Problem]:
    """``off``: nodes the document had before those that are switched off were left out."""
    sight = _Sight(document, graph, kinds, broken, off)
    for node in graph.nodes.values() if only is None else [graph.nodes[only]]:
        told: set[Selector] = set()
        for field, selector in _uses(node, kinds, broken):
            if selector not in told:
                told.add(selector)
                yield from sight.problems(node, selector, field)
        for field, text in _malformed(node, kinds):
            message = f"{{{{#{text}#}}}} is not a valid reference and is kept as text"
            yield warning("reference.malformed", message, node=node.id, field=field)


@dataclass
class _Sight:
    """What can be seen from where."""

    document: Document
    graph: Graph
    kinds: Mapping[str, AnyKind]
    broken: Container[str]
    off: Container[str] = frozenset()

    def __post_init__(self) -> None:
        self._names: dict[str, frozenset[str] | None] = {
            SYSTEM: SYSTEM_VARIABLES,
            ENVIRONMENT: frozenset(variable.name for variable in self.document.environment),
            CONVERSATION: frozenset(variable.name for variable in self.document.conversation),
            "rag": None,
            "__scope__": None,
        }
        # A loop of xworkflow's shows its variables under this head.
        if any(node.kind == "loop" and "condition" in node.data for node in self.document.nodes):
            self._names["loop"] = None

    def problems(self, node: NodeSpec, selector: Selector, field: str | None) -> Iterator[Problem]:
        written = ".".join(selector)
        head = selector[0]
        if head in self._names and head not in self.graph.nodes:
            yield from self._unknown_name(node, selector, self._names[head], field)
        elif head in self.off:
            message = f"{written} is never available: {head} is disabled"
            yield warning("reference.disabled_node", message, node=node.id, field=field)
        elif head not in self.graph.nodes:
            close = get_close_matches(head, list(self.graph.nodes), n=1)
            hint = f"; did you mean {'.'.join((close[0], *selector[1:]))}?" if close else ""
            message = f"{written} is unknown: there is no node {head}{hint}"
            yield warning("reference.unknown_node", message, node=node.id, field=field)
        else:
            if head != node.id and not self.graph.is_visible(head, node.id):
                yield self._out_of_sight(node, selector, field)
            yield from self._unknown_name(node, selector, self._seen(node, head), field)

    def _seen(self, node: NodeSpec, head: str) -> frozenset[str] | None:
        """Names under a node's id; a container shows others to what is inside it."""
        if head in self.graph.containers_around(node.id):
            return self._inner_outputs(head)
        names = self._outputs(head)
        inner = self._inner_outputs(head) if head == node.id else frozenset()
        return None if names is None or inner is None else names | inner

    def _out_of_sight(self, node: NodeSpec, selector: Selector, field: str | None) -> Problem:
        written, head = ".".join(selector), selector[0]
        outside = {None, node.id, *self.graph.containers_around(node.id)}
        parent = self.graph.nodes[head].parent
        if parent not in outside:
            message = (
                f"{written} is inside {parent}; only the outputs of {parent} are available here"
            )
            return warning("reference.inside_container", message, node=node.id, field=field)
        message = f"{written} is not available yet: {head} doesn't run before this node"
        return warning("reference.not_upstream", message, node=node.id, field=field)

    def _unknown_name(
        self, node: NodeSpec, selector: Selector, names: frozenset[str] | None, field: str | None
    ) -> Iterator[Problem]:
        if names is None or len(selector) < 2 or selector[1] in names:
            return
        close = get_close_matches(selector[1], sorted(names), n=1)
        hint = f"; did you mean {selector[0]}.{close[0]}?" if close else ""
        message = f"{'.'.join(selector)} is unknown: {selector[0]} has no {selector[1]}{hint}"
        yield warning("reference.unknown_variable", message, node=node.id, field=field)

    def _outputs(self, node_id: str) -> frozenset[str] | None:
        """Names a node gives; None when nobody can say."""
        if node_id not in self._names:
            self._names[node_id] = self._read_outputs(self.graph.nodes[node_id])
        return self._names[node_id]

    def _read_outputs(self, spec: NodeSpec) -> frozenset[str] | None:
        kind = self.kinds.get(spec.kind)
        if kind is None or spec.id in self.broken or type(kind).outputs is NodeKind.outputs:
            return None
        errors = ERROR_OUTPUTS if spec.data.get("error_strategy") else ()
        return frozenset((*(output.name for output in kind.outputs(spec)), *errors))

    def _inner_outputs(self, container: str) -> frozenset[str] | None:
        """Names the nodes inside a container see under its id."""
        spec = self.graph.nodes[container]
        kind = self.kinds.get(spec.kind)
        if kind is None or container in self.broken:
            return None
        return frozenset(output.name for output in kind.inner_outputs(spec))


def _uses(
    node: NodeSpec, kinds: Mapping[str, AnyKind], broken: Container[str]
) -> Iterator[tuple[str | None, Selector]]:
    for field, text in _texts(node, kinds):
        for selector in references(text):
            yield field, selector
    kind = kinds.get(node.kind)
    if kind is not None and node.id not in broken:
        for selector in kind.reads(node):
            if selector:
                yield _place(node, selector), selector


def _malformed(node: NodeSpec, kinds: Mapping[str, AnyKind]) -> Iterator[tuple[str, str]]:
    for field, text in _texts(node, kinds):
        for match in _LOOKS_LIKE_ONE.finditer(text):
            inside = match[1]
            if not REFERENCE.fullmatch(match[0]) and inside not in _SPECIAL and inside[0] != "$":
                yield field, inside


def _place(node: NodeSpec, selector: Selector) -> str | None:
    """Where in a node's data a selector is written: the field a form leads to."""
    todo: list[tuple[str, Json]] = [*node.data.items()]
    while todo:
        path, value = todo.pop()
        if isinstance(value, Mapping):
            todo.extend((f"{path}.{key}", part) for key, part in value.items())
        elif isinstance(value, list | tuple):
            if tuple(value) == selector:
                return path
            todo.extend((f"{path}.{index}", part) for index, part in enumerate(value))
    return None


def _texts(node: NodeSpec, kinds: Mapping[str, AnyKind]) -> Iterator[tuple[str, str]]:
    """Yield every text in a node's data that may hold references, with its path."""
    kind = kinds.get(node.kind)
    skipped = {"title", "desc", "sub_graph"} | (kind.code_fields if kind else frozenset())
    todo: list[tuple[str, Json]] = [
        (key, value) for key, value in node.data.items() if key not in skipped
    ]
    todo.reverse()
    while todo:
        path, value = todo.pop()
        if isinstance(value, str):
            if "{{#" in value:
                yield path, value
        elif isinstance(value, Mapping):
            todo.extend((f"{path}.{key}", part) for key, part in reversed([*value.items()]))
        elif isinstance(value, list | tuple):
            parts = [(f"{path}.{index}", part) for index, part in enumerate(value)]
            todo.extend(reversed(parts))
