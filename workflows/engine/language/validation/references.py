"""Warns of references to variables that don't exist, or that are not available when the node reads them.

These are warnings and not errors, because a document may intend them: depending on the field, a reference to nothing
prints its name, becomes null or fails the node.
"""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from workflows.engine.kinds import AnyKind, Execution, NodeKind
from workflows.engine.language.config_errors import HALF_MADE
from workflows.engine.language.document import Document, Json, NodeSpec, Selector
from workflows.engine.language.failure_policy import ERROR_OUTPUTS
from workflows.engine.language.graph import Graph
from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.language.templating import REFERENCE, list_references
from workflows.engine.language.validation.skipped_sources import SkipFinder
from workflows.engine.language.validation.suggestions import Suggester
from workflows.engine.language.variables import (
    CONVERSATION,
    ENVIRONMENT,
    SYSTEM,
    normalize_selector,
)


SYSTEM_VARIABLES: Final = frozenset(
    {
        *("files", "user_id", "app_id", "workflow_id", "workflow_run_id", "timestamp", "query"),
        *("conversation_id", "dialogue_count", "invoke_from", "document_id", "batch"),
        *("original_document_id", "dataset_id", "datasource_type", "datasource_info"),
        *("execution_id", "group_id", "run_id"),
    }
)
_REFERENCE_LIKE: Final = re.compile(r"\{\{#([^#{}\n]{1,200})#\}\}")
_UNCLOSED: Final = re.compile(r"\{\{#(?![^#{}\n]{0,200}#\}\})[\w.]*")
# The texts of a node with their paths in its data.
Texts = Sequence[tuple[str, str]]

# The names of the sources that are no nodes, as messages say them.
_BUILT_IN: Final[Mapping[str, str]] = {
    SYSTEM: "system variable",
    ENVIRONMENT: "environment variable",
    CONVERSATION: "conversation variable",
}

OPENING: Final = "{{"
# Problems of references that are listed. A document with more is wrong as a whole.
MAX_PROBLEMS: Final = 500
_SPECIAL: Final = frozenset({"context", "url", "histories", "query"})  # Dify's own placeholders


def find_reference_problems(
    document: Document,
    graph: Graph,
    kinds: Mapping[str, AnyKind],
    invalid_nodes: Container[str],
    only_node: str | None = None,
    disabled: Container[str] = frozenset(),
) -> Iterator[Problem]:
    """Yield the problems of references. ``disabled`` are the ids of disabled nodes, which the graph does not contain."""
    checker = _ReferenceChecker(document, graph, kinds, invalid_nodes, disabled)
    for number, problem in enumerate(_iter_problems(checker, only_node)):
        if number == MAX_PROBLEMS:
            message = (
                f"More than {MAX_PROBLEMS} references have problems; the others are not listed"
            )
            yield build_warning("reference.more", message, node=problem.node)
            return
        yield problem


def _iter_problems(checker: "_ReferenceChecker", only_node: str | None) -> Iterator[Problem]:
    graph, kinds, invalid_nodes = checker.graph, checker.kinds, checker.invalid_nodes
    for node in graph.nodes.values() if only_node is None else [graph.nodes[only_node]]:
        reported: set[Selector] = set()
        texts = [*_iter_texts(node, kinds)]
        for field, selector in _iter_references(node, texts, kinds, invalid_nodes):
            if selector not in reported:
                reported.add(selector)
                yield from checker.find_problems(node, selector, field)
        for field, text in _iter_malformed(texts):
            message = f"{{{{#{text}#}}}} is not a valid reference and is kept as text"
            yield build_warning("reference.malformed", message, node=node.id, field=field)
        for field, text in _iter_unclosed(texts):
            message = f"{text} is not closed with #}}}} and is kept as text"
            yield build_warning("reference.unclosed", message, node=node.id, field=field)


@dataclass
class _ReferenceChecker:
    """Checks references against the names that a node can read."""

    document: Document
    graph: Graph
    kinds: Mapping[str, AnyKind]
    invalid_nodes: Container[str]
    disabled: Container[str] = frozenset()

    def __post_init__(self) -> None:
        self._names: dict[str, frozenset[str] | None] = {
            SYSTEM: SYSTEM_VARIABLES,
            ENVIRONMENT: frozenset(variable.name for variable in self.document.environment),
            CONVERSATION: frozenset(variable.name for variable in self.document.conversation),
            "rag": None,
            "__scope__": None,
        }
        self._suggester = Suggester()
        self._skips = SkipFinder(self.graph, self.kinds)
        self._starts = {node.id for node in self.document.nodes if node.kind == "start"}
        # A loop of the xworkflow dialect offers its variables under this id; their names are not checked.
        if any(node.kind == "loop" and "condition" in node.data for node in self.document.nodes):
            self._names["loop"] = None

    def find_problems(
        self, node: NodeSpec, selector: Selector, field: str | None
    ) -> Iterator[Problem]:
        """Yield a warning if the node cannot read the variable, or if there is none of that name."""
        if selector[0] in self._starts:
            selector = tuple(normalize_selector(selector))
        reference = ".".join(selector)
        source = selector[0]
        if source in self._names and source not in self.graph.nodes:
            yield from self._check_name(node, selector, self._names[source], field)
        elif source in self.disabled:
            message = f"{reference} is never available: {source} is disabled"
            yield build_warning("reference.disabled_node", message, node=node.id, field=field)
        elif source not in self.graph.nodes:
            close = self._suggester.find_close(source, self.graph.nodes)
            hint = f"; did you mean {'.'.join((close, *selector[1:]))}?" if close else ""
            message = f"{reference} is unknown: there is no node {source}{hint}"
            yield build_warning("reference.unknown_node", message, node=node.id, field=field)
        else:
            if source != node.id and not self.graph.is_visible(source, node.id):
                yield self._build_unavailable(node, selector, field)
            elif self._prints_names(node):
                yield from self._check_branches(node, selector, field)
            yield from self._check_output(node, selector, field)

    def _prints_names(self, node: NodeSpec) -> bool:
        """Return whether people are shown the name of a variable that is missing in a run."""
        kind = self.kinds.get(node.kind)
        is_response = kind is not None and kind.execution is Execution.RESPONSE
        return kind is not None and is_response and not kind.provides_results

    def _check_branches(
        self, node: NodeSpec, selector: Selector, field: str | None
    ) -> Iterator[Problem]:
        """Yield a warning if a run may come to the node without the variable."""
        source = selector[0]
        if len(selector) > 1 and selector[1] in ERROR_OUTPUTS:
            return
        branch = self._skips.find_branch(source, node.id)
        if branch is not None:
            message = (
                f"{'.'.join(selector)} may be missing: a run can come here from {branch} without it;"
                " the reply then shows the name instead"
            )
            yield build_warning("reference.may_be_missing", message, node=node.id, field=field)

    def _check_output(
        self, node: NodeSpec, selector: Selector, field: str | None
    ) -> Iterator[Problem]:
        names, source = self._list_names(node, selector[0]), self.graph.nodes[selector[0]]
        kind = self.kinds.get(source.kind)
        if kind is None or not kind.keeps_undeclared_outputs(source):
            yield from self._check_name(node, selector, names, field)
        # A node that declares nothing says nothing about its outputs either.
        elif names and len(selector) > 1 and selector[1] not in names:
            message = (
                f"{'.'.join(selector)} is not declared as an output of {source.id};"
                " it is empty unless the code returns it"
            )
            yield build_warning("reference.undeclared_output", message, node=node.id, field=field)

    def _list_names(self, node: NodeSpec, source: str) -> frozenset[str] | None:
        """Return the names of the source's variables that the node can read; None if they are unknown."""
        if source in self.graph.list_containers(node.id):
            return self._list_inner_outputs(source)
        names = self._list_outputs(source)
        inner = self._list_inner_outputs(source) if source == node.id else frozenset()
        return None if names is None or inner is None else names | inner

    def _build_unavailable(self, node: NodeSpec, selector: Selector, field: str | None) -> Problem:
        reference, source = ".".join(selector), selector[0]
        enclosing = {None, node.id, *self.graph.list_containers(node.id)}
        parent = self.graph.nodes[source].parent
        if parent not in enclosing:
            message = (
                f"{reference} is inside {parent}; only the outputs of {parent} are available here"
            )
            return build_warning("reference.inside_container", message, node=node.id, field=field)
        message = f"{reference} is not available yet: {source} doesn't run before this node"
        return build_warning("reference.not_upstream", message, node=node.id, field=field)

    def _check_name(
        self, node: NodeSpec, selector: Selector, names: frozenset[str] | None, field: str | None
    ) -> Iterator[Problem]:
        if names is None or len(selector) < 2 or selector[1] in names:
            return
        close = self._suggester.find_close(selector[1], names)
        hint = f"; did you mean {selector[0]}.{close}?" if close else ""
        built_in = _BUILT_IN.get(selector[0]) if selector[0] not in self.graph.nodes else None
        subject = f"There is no {built_in}" if built_in else f"{selector[0]} has no output"
        message = f"{subject} {selector[1]}{hint}"
        # Documents of xworkflow name conversation variables that they don't declare, and run all the same.
        kind = "undeclared" if selector[0] == CONVERSATION else "unknown_variable"
        yield build_warning(f"reference.{kind}", message, node=node.id, field=field)

    def _list_outputs(self, node_id: str) -> frozenset[str] | None:
        """Return the names of a node's outputs; None when they are unknown."""
        if node_id not in self._names:
            self._names[node_id] = self._read_outputs(self.graph.nodes[node_id])
        return self._names[node_id]

    def _read_outputs(self, spec: NodeSpec) -> frozenset[str] | None:
        kind = self.kinds.get(spec.kind)
        if kind is None or spec.id in self.invalid_nodes:
            return None
        if type(kind).list_outputs is NodeKind.list_outputs:
            return None
        errors = ERROR_OUTPUTS if spec.data.get("error_strategy") else ()
        try:
            return frozenset((*(output.name for output in kind.list_outputs(spec)), *errors))
        except HALF_MADE:
            return None

    def _list_inner_outputs(self, container: str) -> frozenset[str] | None:
        """Return the names of a container's variables that its inner nodes can read; None if they are unknown."""
        spec = self.graph.nodes[container]
        kind = self.kinds.get(spec.kind)
        if kind is None or container in self.invalid_nodes:
            return None
        try:
            return frozenset(output.name for output in kind.list_inner_outputs(spec))
        except HALF_MADE:
            return None


def _iter_references(
    node: NodeSpec, texts: Texts, kinds: Mapping[str, AnyKind], invalid_nodes: Container[str]
) -> Iterator[tuple[str | None, Selector]]:
    for field, text in texts:
        for selector in list_references(text):
            yield field, selector
    kind = kinds.get(node.kind)
    if kind is not None and node.id not in invalid_nodes:
        reads = (selector for selector in kind.list_reads(node) if selector)
        selectors = [
            selector for selector in reads if all(isinstance(part, str) for part in selector)
        ]
        fields = _locate_selectors(node) if selectors else {}
        for selector in selectors:
            yield fields.get(selector), selector


def _iter_malformed(texts: Texts) -> Iterator[tuple[str, str]]:
    for field, text in texts:
        for match in _REFERENCE_LIKE.finditer(text):
            content = match[1]
            if not REFERENCE.fullmatch(match[0]) and content not in _SPECIAL and content[0] != "$":
                yield field, content


def _iter_unclosed(texts: Texts) -> Iterator[tuple[str, str]]:
    for field, text in texts:
        for match in _UNCLOSED.finditer(text):
            yield field, match[0]
        lone = text.find(OPENING, text.rfind("}}") + 1)
        if lone != -1 and not text.startswith(f"{OPENING}#", lone):
            yield field, OPENING


def _locate_selectors(node: NodeSpec) -> dict[Selector, str]:
    """Return the paths of the fields in a node's data that hold selectors."""
    fields: dict[Selector, str] = {}
    pending: list[tuple[str, Json]] = [*node.data.items()]
    while pending:
        path, value = pending.pop()
        if isinstance(value, Mapping):
            pending.extend((f"{path}.{key}", part) for key, part in value.items())
        elif isinstance(value, list | tuple):
            if all(isinstance(part, str) for part in value):
                fields.setdefault(tuple(value), path)
            else:
                pending.extend((f"{path}.{index}", part) for index, part in enumerate(value))
    return fields


def _iter_texts(node: NodeSpec, kinds: Mapping[str, AnyKind]) -> Iterator[tuple[str, str]]:
    """Yield every string in a node's data that may contain references, with its path."""
    kind = kinds.get(node.kind)
    skipped = {"title", "desc", "sub_graph"} | (kind.code_fields if kind else frozenset())
    pending: list[tuple[str, Json]] = [
        (key, value) for key, value in node.data.items() if key not in skipped
    ]
    pending.reverse()
    while pending:
        path, value = pending.pop()
        if isinstance(value, str):
            if OPENING in value:
                yield path, value
        elif isinstance(value, Mapping):
            pending.extend((f"{path}.{key}", part) for key, part in reversed([*value.items()]))
        elif isinstance(value, list | tuple):
            parts = [(f"{path}.{index}", part) for index, part in enumerate(value)]
            pending.extend(reversed(parts))
