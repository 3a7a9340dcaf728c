"""Kinds of other products and of missing plug-ins: imported documents keep such nodes, and the rest of them runs.

They are shown with their product's icon and exported unchanged. A placeholder stands for such a kind in a run; it keeps the
node's edges, and fails only if a run reaches it and its outputs are not pinned.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final

from workflows.engine.appearance import Appearance, Data
from workflows.engine.errors import NodeUnavailable
from workflows.engine.kinds import AnyKind, Execution, Kinds, NodeContext, NodeKind, NodeResult
from workflows.engine.language.document import Document, NodeSpec
from workflows.engine.language.failure_policy import FAIL_HANDLE
from workflows.engine.language.problems import Problem
from workflows.engine.text_rendering import as_text
from workflows.engine.texts import Text


SOURCE = "source"
TRIGGER_PREFIX = "trigger-"


class UnknownAppearance(Appearance):
    """The appearance of a kind about which nothing is known."""

    icon = "warning"
    family = "unknown"

    def summarize(self, data: Data) -> Iterable[Text]:
        """Return what the node was: its tool or provider, and the name of its kind."""
        origin = as_text(data.get("tool_name") or data.get("provider_name"))
        return [origin, as_text(data.get("type"))]


class _DifyKind(UnknownAppearance):
    dialects = ("dify",)


class _XworkflowKind(UnknownAppearance):
    dialects = ("xworkflow",)


FOREIGN_KINDS: Final[Mapping[str, Appearance]] = {
    **dict.fromkeys(
        ("datasource", "knowledge-index", "trigger-plugin"),
        _DifyKind(),
    ),
    "gather": _XworkflowKind(),
}


# Dialect of a document → the product that writes it.
PRODUCTS: Final[Mapping[str, str]] = {"dify": "Dify", "xworkflow": "xworkflow"}


class Placeholder(NodeKind[Any, Any]):
    """Stands for one missing kind in one document. ``handles`` are those from which the document's edges leave."""

    # Nobody knows what the missing kind would have returned.
    has_untrusted_outputs: ClassVar[bool] = True

    def __init__(self, name: str, handles: Mapping[str, tuple[str, ...]]) -> None:
        self._handles = handles
        is_branch = any(len(names) > 1 for names in handles.values())
        # Of one instance, where other kinds have them of their class.
        vars(self).update(name=name, title=name, execution=_choose_execution(name, is_branch))

    def prepare(self, spec: NodeSpec) -> str:
        """Return the message with which the node fails."""
        return (
            f"{spec.title or spec.id} can't run: this installation has no node type {describe_origin(spec)}."
            " Replace the node, or handle its failure; runs from the editor can use pinned outputs instead."
        )

    def check(self, spec: NodeSpec) -> list[Problem]:
        return []

    def list_handles(self, spec: NodeSpec) -> tuple[str, ...]:
        return self._handles.get(spec.id) or (SOURCE,)

    def run(self, prepared: str, ctx: NodeContext) -> NodeResult:
        raise NodeUnavailable(prepared)


def add_placeholders(kinds: Kinds, document: Document) -> Kinds:
    """Return the kinds, with a placeholder for each one that only the document knows."""
    missing = dict.fromkeys(node.kind for node in document.nodes if node.kind not in kinds)
    if not missing:
        return kinds
    handles = _collect_handles(document)
    return Kinds([*kinds.values(), *(Placeholder(name, handles) for name in missing)])


def describe_origin(spec: NodeSpec) -> str:
    """Return the node's type with its tool, and with the plug-in, the provider or the product that it belongs to."""
    origin = dict(list_origin(spec))
    tool = origin.get("tool", spec.kind)
    kind = spec.kind if tool == spec.kind else f"{spec.kind} / {tool}"
    for name in ("plug-in", "provider"):
        if name in origin:
            return f"{kind} of the {name} {origin[name]}"
    product = find_product(spec.kind)
    return f"{kind} of {product}" if product else kind


def find_product(kind: str) -> str:
    """Return the name of the other product that a missing kind belongs to, or an empty text."""
    appearance = FOREIGN_KINDS.get(kind)
    return PRODUCTS[appearance.dialects[0]] if appearance else ""


def list_origin(spec: NodeSpec) -> Iterator[tuple[str, str]]:
    """Yield what the data of a node says about where its kind comes from: the plug-in, the provider and the tool."""
    for name, keys in _ORIGIN_KEYS.items():
        values = (spec.data.get(key) for key in keys)
        value = next((value for value in values if isinstance(value, str) and value.strip()), "")
        if value:
            yield name, value.strip().split("@")[0][:200]


# What is told about a node → the keys of its data that may have it, the most exact first.
_ORIGIN_KEYS: Mapping[str, tuple[str, ...]] = {
    "plug-in": ("plugin_unique_identifier", "plugin_id"),
    "provider": ("provider_name", "provider_id"),
    "tool": ("tool_name", "datasource_name", "event_name"),
}


def _choose_execution(name: str, is_branch: bool) -> Execution:
    if is_missing_root(name):
        return Execution.ROOT
    return Execution.BRANCH if is_branch else Execution.PLAIN


def is_missing_root(name: str) -> bool:
    """Return whether runs start at nodes of a missing kind of this name."""
    return name.startswith(TRIGGER_PREFIX)


def _collect_handles(document: Document) -> dict[str, tuple[str, ...]]:
    handles: dict[str, dict[str, None]] = {}
    for edge in document.edges:
        if edge.handle != FAIL_HANDLE:
            handles.setdefault(edge.source, {})[edge.handle] = None
    return {node: tuple(names) for node, names in handles.items()}


def list_missing_kinds(document: Document, kinds: Mapping[str, AnyKind]) -> dict[str, list[str]]:
    """Return the kinds that only the document knows, each with the ids of its nodes."""
    missing: dict[str, list[str]] = {}
    for node in document.nodes:
        if node.kind not in kinds:
            missing.setdefault(node.kind, []).append(node.id)
    return missing
