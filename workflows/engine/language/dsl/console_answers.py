"""Finds the document in an answer of Dify's console, as people copy it from the network tab of their browser."""

from collections.abc import Mapping
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.language.dsl.loading import load_tree
from workflows.engine.language.dsl.versions import DIFY
from workflows.engine.language.problems import Problem, build_warning


_MODES: Final = {True: "advanced-chat", False: "workflow"}


def unwrap(tree: Mapping[str, Json]) -> tuple[Mapping[str, Json], tuple[Problem, ...]]:
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
