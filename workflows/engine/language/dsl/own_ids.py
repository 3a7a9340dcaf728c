"""Gives each node an id and each variable a name of its own, so that a document in which several share one opens, too."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from workflows.engine.kinds import AnyKind, Execution
from workflows.engine.language.document import Document, NodeSpec, Note, VariableSpec
from workflows.engine.language.dsl.reading import ABSOLUTE
from workflows.engine.language.problems import Problem, build_warning


MAX_LENGTH: Final = 40  # of what is kept of an id, before its number
MAX_NAME_LENGTH: Final = (
    24  # of what is kept of a name; references find names of up to 30 characters
)


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
    find_free = _build_names(set(counts), MAX_LENGTH)
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


def give_own_names(document: Document) -> tuple[Document, list[Problem]]:
    """Return the document and a warning for each name that several variables of one list had.

    The last variable keeps the name, since its value is the one that references find where such a document was made.
    """
    environment, notes = _name_variables(document.environment, "environment_variables")
    conversation, more_notes = _name_variables(document.conversation, "conversation_variables")
    if not notes and not more_notes:
        return document, []
    changed = replace(document, environment=environment, conversation=conversation)
    return changed, [*notes, *more_notes]


def _name_variables(
    variables: tuple[VariableSpec, ...], field: str
) -> tuple[tuple[VariableSpec, ...], list[Problem]]:
    positions: dict[str, list[int]] = {}
    for position, variable in enumerate(variables):
        positions.setdefault(variable.name, []).append(position)
    find_free = _build_names(set(positions), MAX_NAME_LENGTH)
    renamed, warnings = [*variables], []
    for name, same in positions.items():
        new_names = [find_free(name) for _position in same[:-1]]
        for position, new_name in zip(same, new_names, strict=False):
            renamed[position] = replace(variables[position], name=new_name)
        if new_names:
            message = (
                f"{len(same)} variables were named {name}: the last one keeps the name, and references read it; "
                f"the others are {', '.join(new_names)} now"
            )
            warnings.append(build_warning("variable.name_given", message, field=field))
    return tuple(renamed), warnings


def _move(item: NodeSpec | Note, parents: Mapping[str, str]) -> dict[str, Any]:
    """Return what changes of an item whose container got another id. Dify's copy of its position is about the old one."""
    parent = parents.get(item.parent or "", item.id)
    if parent in (item.id, item.parent):
        return {}
    extra = {name: value for name, value in item.extra.items() if name != ABSOLUTE}
    return {"parent": parent, "extra": extra}


def _build_names(taken: set[str], max_length: int) -> Callable[[str], str]:
    """Return a function that finds an id or a name that nobody has, such as ``a_2`` for ``a``."""
    numbers: Counter[str] = Counter()

    def find_free(id_: str) -> str:
        while True:
            numbers[id_] += 1
            free = f"{id_[:max_length]}_{numbers[id_] + 1}"
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
