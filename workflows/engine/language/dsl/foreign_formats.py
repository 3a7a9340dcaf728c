"""Recognizes files that are no documents of workflows, and graphs in another place.

Both would otherwise be read as documents without nodes. The files are workflow files of other products, and what Dify
exports or answers beside its apps. Where the console of Dify answers with a document inside, as people copy it from the
network tab of their browser, the document is found.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.language.dsl.limits import build_rejection
from workflows.engine.language.dsl.loading import load_tree
from workflows.engine.language.dsl.reading import Reader
from workflows.engine.language.dsl.versions import DIFY
from workflows.engine.language.problems import Problem, build_warning


Tree = Mapping[str, Json]
_MODES: Final = {True: "advanced-chat", False: "workflow"}

# The parts of a graph.
GRAPH_KEYS: Final = ("nodes", "edges", "viewport")
# Sections that are kept for another dialect or another kind of app, whatever is in them.
NO_GRAPH: Final = frozenset({"xworkflow", "model_config"})
MAX_GRAPH_DEPTH: Final = 5


def check_format(tree: Tree) -> None:
    """Raise DocumentInvalid, which names the file, if the tree is no document of a workflow."""
    for product, is_of_product in _PRODUCTS:
        if is_of_product(tree):
            message = f"This is a file of {product}. Only documents of Dify and of Mnemoflow can be imported"
            raise build_rejection("foreign", message)
    for is_kind, message in _KINDS_OF_DIFY:
        if is_kind(tree):
            raise build_rejection("foreign", message)


def move_graph(tree: Tree, reader: Reader) -> Tree:
    """Return the document with its graph in ``workflow.graph``, where other tools put it elsewhere, and warn of it."""
    workflow = tree.get("workflow")
    graph = workflow.get("graph") if isinstance(workflow, Mapping) else None
    if isinstance(graph, Mapping) and graph.get("nodes"):
        return tree
    path = _find_graph(tree)
    if path is None or (graph is not None and not isinstance(graph, Mapping)):
        return tree
    holder = tree
    for key in path:
        holder = holder[key]
    place = ".".join(path) or "the top level of the document"
    message = f"The nodes were read from {place}, instead of workflow.graph where they belong"
    reader.add_warning("document.graph_moved", message, field=".".join((*path, "nodes")))
    parts = {name: holder[name] for name in GRAPH_KEYS if name in holder}
    rest = _drop_graph(tree, path)
    rest_of_workflow = rest.get("workflow")
    other = rest_of_workflow if isinstance(rest_of_workflow, Mapping) else {}
    return {**rest, "workflow": {**other, "graph": {**(other.get("graph") or {}), **parts}}}


def unwrap_answer(tree: Tree) -> tuple[Tree, tuple[Problem, ...]]:
    """Return the document inside an answer with a warning that names the answer, or else the tree itself.

    The answer to an export has the text of the document, and that to the request of a draft has its graph. Raises
    DocumentInvalid if the text is no YAML.
    """
    text, graph = tree.get("data"), tree.get("graph")
    if tree.keys() == {"data"} and isinstance(text, str):
        return load_tree(text), (_warn("export"),)
    if isinstance(graph, Mapping) and "hash" in tree and not tree.keys() & {"app", "workflow"}:
        app = {"name": "", "mode": _MODES[_has_answer(graph)]}
        return {"kind": "app", "version": DIFY, "app": app, "workflow": tree}, (_warn("draft"),)
    return tree, ()


def _has_answer(graph: Mapping[str, Json]) -> bool:
    """Return whether the graph answers in a chat. A draft doesn't say what its app is."""
    nodes = graph.get("nodes")
    data = (
        [node.get("data") for node in nodes if isinstance(node, Mapping)]
        if isinstance(nodes, list)
        else []
    )
    return any(isinstance(each, Mapping) and each.get("type") == "answer" for each in data)


def _warn(answer: str) -> Problem:
    message = f"This is the answer of Dify's console with the {answer} of an app; the document inside it was read"
    return build_warning("document.console_answer", message)


def _is_n8n(tree: Tree) -> bool:
    """Nodes of n8n have a type such as ``n8n-nodes-base.set``, and their edges are under ``connections``."""
    if not isinstance(tree.get("connections"), Mapping):
        return False
    return any(isinstance(node.get("type"), str) for node in _iter_nodes(tree))


def _is_flowise(tree: Tree) -> bool:
    """Nodes of Flowise list the classes they can be used as."""
    return any("baseClasses" in data or "inputParams" in data for data in _iter_node_data(tree))


def _is_langflow(tree: Tree) -> bool:
    """Langflow wraps the graph in ``data``, and each node carries its component's definition."""
    graph = tree.get("data")
    if not isinstance(graph, Mapping) or "workflow" in tree:
        return False
    return any("node" in data for data in _iter_node_data(graph))


def _is_knowledge_pipeline(tree: Tree) -> bool:
    """A pipeline of Dify fills a knowledge base: it begins with a source of data and ends in an index."""
    return tree.get("kind") == "rag_pipeline" or "rag_pipeline" in tree


def _is_import_answer(tree: Tree) -> bool:
    """Dify's console answers an import with its state, and with the versions of the document."""
    return "imported_dsl_version" in tree and "workflow" not in tree


def _iter_nodes(tree: Tree) -> Iterator[Tree]:
    nodes = tree.get("nodes")
    for node in nodes if isinstance(nodes, list) else ():
        if isinstance(node, Mapping):
            yield node


def _iter_node_data(tree: Tree) -> Iterator[Tree]:
    for node in _iter_nodes(tree):
        data = node.get("data")
        if isinstance(data, Mapping):
            yield data


def _find_graph(tree: Tree) -> tuple[str, ...] | None:
    """Return the path of the mapping that has nodes, the workflow's parts first and the outermost of each."""
    pending: deque[tuple[tuple[str, ...], Tree]] = deque()
    if isinstance(tree.get("workflow"), Mapping):
        pending.append((("workflow",), tree["workflow"]))
    pending.append(((), tree))
    while pending:
        path, part = pending.popleft()
        nodes = part.get("nodes")
        if isinstance(nodes, list) and any(_is_node(node) for node in nodes):
            return path
        if len(path) < MAX_GRAPH_DEPTH:
            pending.extend(
                ((*path, key), value)
                for key, value in part.items()
                if isinstance(value, Mapping) and key not in NO_GRAPH
            )
    return None


def _is_node(node: Json) -> bool:
    return isinstance(node, Mapping) and isinstance(node.get("data"), Mapping) and "id" in node


def _drop_graph(tree: Tree, path: tuple[str, ...]) -> dict[str, Json]:
    if not path:
        return {key: value for key, value in tree.items() if key not in GRAPH_KEYS}
    return {**tree, path[0]: _drop_graph(tree[path[0]], path[1:])}


_PRODUCTS: Final[tuple[tuple[str, Callable[[Tree], bool]], ...]] = (
    ("n8n", _is_n8n),
    ("Flowise", _is_flowise),
    ("Langflow", _is_langflow),
)
_KINDS_OF_DIFY: Final[tuple[tuple[Callable[[Tree], bool], str], ...]] = (
    (
        _is_knowledge_pipeline,
        (
            "This is a knowledge pipeline of Dify, which fills a knowledge base and is no workflow."
            " Upload its documents into a knowledge base instead"
        ),
    ),
    (
        _is_import_answer,
        (
            "This is what Dify's console answers to an import, without the document."
            " Export the app in Dify, and import that file"
        ),
    ),
)
