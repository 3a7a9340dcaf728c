"""Finds the knowledge pages that an answer rests on: those that a run found and that reached a model or the answer.

They are derived from what the run recorded, so that there is no second copy of them: which pages each node found, which
nodes ran, and where the document lets their outputs flow.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from workflows.engine.kinds import AnyKind, Execution
from workflows.engine.language.content_marks.untrusted import ContentFlow
from workflows.engine.language.document import Document, Json


CITATIONS: Final = "retriever_resource"  # the feature, by its name in documents
KNOWLEDGE_RETRIEVAL: Final = "knowledge-retrieval"
_PAGES: Final = "result"  # the output of that kind with the pages

LoadOutputs = Callable[[str], list[Json]]  # of a node, for each of its steps


def shows_citations(document: Document) -> bool:
    """Return whether the application shows with an answer the pages that it rests on."""
    feature = document.features.get(CITATIONS)
    return isinstance(feature, Mapping) and feature.get("enabled") is True


def find_cited_pages(
    document: Document,
    kinds: Mapping[str, AnyKind],
    *,
    pages: Mapping[str, Collection[str]],
    finished: Collection[str],
    load_outputs: LoadOutputs,
) -> set[str]:
    """Return the ids of the cited pages.

    ``pages`` are the ids of the pages that each node found, also those that it found by means of another run;
    ``finished`` are the nodes that succeeded. ``load_outputs`` is asked only for nodes between the pages and a model.
    """
    flow = _PageFlow(pages, load_outputs)
    nodes = {node.id: kinds[node.kind] for node in document.nodes if node.kind in kinds}
    for node, ids in pages.items():
        if node not in nodes:
            continue
        if asks_model(nodes[node]):  # an agent, which searched by itself
            flow.cited |= {*ids}
        elif nodes[node].name == KNOWLEDGE_RETRIEVAL:
            flow.carried[f"{node}.{_PAGES}"] = {*ids}
        else:
            flow.carried[node] = {*ids}
    content = ContentFlow(document.nodes, kinds).list_reads()
    steps = [
        (node, nodes[node], reads, outputs)
        for node, reads, outputs in content
        if node in finished and (node not in pages or nodes[node].name != KNOWLEDGE_RETRIEVAL)
    ]
    while sum(flow.follow(*step) for step in steps):
        pass
    return flow.cited


def asks_model(kind: AnyKind) -> bool:
    return "model" in kind.config_model.model_fields


class _PageFlow:
    """The pages that each variable carries, and those that a model or the answer has read."""

    def __init__(self, pages: Mapping[str, Collection[str]], load_outputs: LoadOutputs) -> None:
        self.carried: dict[str, set[str]] = {}
        self.cited: set[str] = set()
        self._all = frozenset(page for ids in pages.values() for page in ids)
        self._load_outputs = load_outputs
        self._listed: dict[str, frozenset[str]] = {}

    def follow(
        self, node: str, kind: AnyKind, reads: frozenset[str], outputs: frozenset[str]
    ) -> bool:
        """Let pages flow into a node and, unless it asks a model, on to its outputs. Return whether that was news."""
        ids = {page for name in reads & self.carried.keys() for page in self.carried[name]}
        if not ids:
            return False
        if asks_model(kind) or kind.execution is Execution.RESPONSE or kind.provides_results:
            is_news = not ids <= self.cited
            self.cited |= ids
            return is_news
        listed = self._list_pages(node)
        ids = ids & listed if listed else ids
        before = sum(len(self.carried.get(name, ())) for name in outputs)
        for name in outputs:
            self.carried[name] = self.carried.get(name, set()) | ids
        return sum(len(self.carried[name]) for name in outputs) > before

    def _list_pages(self, node: str) -> frozenset[str]:
        """Return the pages that are still items of a node's outputs, such as those that a list operator kept."""
        if node not in self._listed:
            ids = (page for value in self._load_outputs(node) for page in _iter_entry_ids(value))
            self._listed[node] = self._all.intersection(ids)
        return self._listed[node]


def _iter_entry_ids(value: Json) -> Iterator[str]:
    """Yield the entries of all pages in a value, at any depth."""
    values = [value]
    while values:
        item = values.pop()
        if isinstance(item, Mapping):
            metadata = item.get("metadata")
            if isinstance(metadata, Mapping) and metadata.get("entry_id"):
                yield str(metadata["entry_id"])
            values.extend(item.values())
        elif isinstance(item, list | tuple):
            values.extend(item)
