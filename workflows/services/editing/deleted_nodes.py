"""Names the nodes that a draft still reads from although they were deleted, by the titles that they had."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from workflows.engine.language.problems import Problem
from workflows.models import Revision, Workflow


UNKNOWN_NODE: Final = "reference.unknown_node"
# A deletion further back is not looked up; the problem then names no node.
MAX_REVISIONS: Final = 500
# As the engine says it, which knows ids only.
_MESSAGE: Final = re.compile(
    r"(?P<node>[^.]*)\.?(?P<name>.*) is unknown: there is no node (?P=node)(?P<hint>; .*)?"
)


def name_deleted_nodes(workflow: Workflow, problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems with words instead of the ids of nodes that are not there."""
    problems = list(problems)
    matches = {
        problem: match
        for problem in problems
        if problem.code == UNKNOWN_NODE and (match := _MESSAGE.fullmatch(problem.message))
    }
    if not matches:
        return problems
    titles = find_deleted_titles(workflow, {match["node"] for match in matches.values()})
    return [
        replace(problem, message=_describe(matches[problem], titles))
        if problem in matches
        else problem
        for problem in problems
    ]


def find_deleted_titles(workflow: Workflow, node_ids: Collection[str]) -> dict[str, str]:
    """Return the titles that deleted nodes had last, by id, as far as the draft's history tells."""
    inverses = (
        Revision.objects.unscoped()
        .filter(workflow=workflow)
        .order_by("-number")
        .values_list("inverse", flat=True)[:MAX_REVISIONS]
    )
    titles: dict[str, str] = {}
    for node in _iter_deleted(inverses):
        if node["id"] in node_ids and node.get("title"):
            titles.setdefault(node["id"], node["title"])
    return titles


def _iter_deleted(inverses: Iterable[list[Any]]) -> Iterator[Mapping[str, Any]]:  # Any: JSON
    """Yield the nodes that undoing these edits would add again."""
    for operations in inverses:
        for operation in operations:
            if operation.get("op") == "add":
                yield operation["node"]


def _describe(match: re.Match[str], titles: Mapping[str, str]) -> str:
    name, title = match["name"], titles.get(match["node"])
    if title and name:
        return f"Reads {title} › {name}, which was deleted"
    if title:
        return f"Reads {title}, which was deleted"
    subject = f"Reads {name} of a node" if name else "Reads a node"
    return f"{subject} that doesn't exist{match['hint'] or ''}"
