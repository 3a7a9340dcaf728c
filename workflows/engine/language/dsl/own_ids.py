"""Gives each node of a document an id of its own, so that one in which several nodes have the same id opens, too."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from workflows.engine.kinds import AnyKind, Execution
from workflows.engine.language.document import Document, NodeSpec, Note
from workflows.engine.language.dsl.write_dify import ABSOLUTE
from workflows.engine.language.problems import Problem, build_warning


MAX_LENGTH: Final = 40  # of what is kept of an id, before its number


def give_own_ids(
    document: Document, kinds: Mapping[str, AnyKind]
) -> tuple[Document, list[Problem]]:
    """Return the document and a warning for each id that several nodes had.

    The first node keeps the id, and edges and references mean this one. What is inside a container of that id stays in it.
    """
    counts = Counter(node.id for node in document.nodes)
    counts.update(note.id for note in document.notes)
    twice = {id_: count for id_, count in counts.items() if count > 1}
    if not twice:
        return document, []
    find_free = _build_names(set(counts))
    used_ids: set[str] = set()
    parents: dict[str, str] = {}  # the id of several nodes → the first container among them
    nodes = []
    for node in document.nodes:
        own = find_free(node.id) if node.id in used_ids else node.id
        used_ids.add(node.id)
        nodes.append(replace(node, id=own))
        kind = kinds.get(node.kind)
        if node.id in twice and kind is not None and kind.execution is Execution.CONTAINER:
            parents.setdefault(node.id, own)
    notes = []
    for note in document.notes:
        notes.append(replace(note, id=find_free(note.id) if note.id in used_ids else note.id))
        used_ids.add(note.id)
    changed = replace(
        document,
        nodes=tuple(replace(node, **_move(node, parents)) for node in nodes),
        notes=tuple(replace(note, **_move(note, parents)) for note in notes),
    )
    return changed, [*_iter_warnings(twice)]


def _move(item: NodeSpec | Note, parents: Mapping[str, str]) -> dict[str, Any]:
    """Return what changes of an item whose container got another id. Dify's copy of its position is about the old one."""
    parent = parents.get(item.parent or "", item.id)
    if parent in (item.id, item.parent):
        return {}
    extra = {name: value for name, value in item.extra.items() if name != ABSOLUTE}
    return {"parent": parent, "extra": extra}


def _build_names(taken: set[str]) -> Callable[[str], str]:
    """Return a function that finds an id that nobody has, such as ``a_2`` for ``a``."""
    numbers: Counter[str] = Counter()

    def find_free(id_: str) -> str:
        while True:
            numbers[id_] += 1
            free = f"{id_[:MAX_LENGTH]}_{numbers[id_] + 1}"
            if free not in taken:
                taken.add(free)
                return free

    return find_free


def _iter_warnings(twice: Mapping[str, int]) -> Iterator[Problem]:
    for id_, count in twice.items():
        message = (
            f"{count} nodes had the ID {id_}: the first one keeps it, and edges lead to it; "
            "check the edges and the variables of the others"
        )
        yield build_warning("node.id_given", message, node=id_)
