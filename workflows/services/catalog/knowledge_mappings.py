"""The knowledge bases of a team that answer for the data sets which documents of other installations name.

A choice is written into the nodes, where a run finds it and an export takes it along, and is remembered for the next
document that names the same data set. A model is mapped when a node asks it; a knowledge base is written down instead,
because an author may give a node others than those of its data sets.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.errors import NotFound
from accounts.tenancy import tenant
from workflows import memory_app, permissions
from workflows.engine.editing.ops import Op, Set
from workflows.engine.import_report.data_sets import (
    KNOWLEDGE_BASES,
    arrange_knowledge_bases,
    list_data_sets,
    list_knowledge_bases,
)
from workflows.engine.language.document import Document, Json, NodeSpec
from workflows.models import KnowledgeMapping, Workflow
from workflows.services.editing.changes import Change
from workflows.services.editing.gestures import edit
from workflows.services.editor.drafts import load_draft
from workflows.services.editor.knowledge_problems import load_mappings


MAX_DATA_SET = 255  # characters of an id that is remembered


def list_choices(principal: Principal, team_id: UUID) -> "list[memory_app.ChoosableKnowledgeBase]":
    """Return the knowledge bases of the team that the principal may view."""
    if not memory_app.is_on():
        return []
    return memory_app.list_choosable_knowledge_bases(memory_app.MemoryCaller(principal, team_id))


def find_knowledge_bases(
    principal: Principal, team_id: UUID, data_sets: Iterable[str]
) -> Mapping[str, str]:
    """Return the knowledge bases that answer for these data sets, as far as the principal may view them.

    An id that is the name of a knowledge base of the team stands for that one.
    """
    ids = list(dict.fromkeys(data_sets))
    if not ids:
        return {}
    names = {choice.namespace for choice in list_choices(principal, team_id)}
    mapped = load_mappings(team_id, ids)
    bases = {data_set: mapped.get(data_set, data_set) for data_set in ids}
    return {data_set: name for data_set, name in bases.items() if name in names}


def apply_mappings(principal: Principal, team_id: UUID, document: Document) -> Document:
    """Return the document with the known knowledge bases in the nodes that have none. Other nodes stay as they are."""
    data_sets = [each for node in document.nodes for each in list_data_sets(node)]
    bases = find_knowledge_bases(principal, team_id, data_sets)
    if not bases:
        return document
    nodes = tuple(
        node if list_knowledge_bases(node) else _add_known(node, bases) for node in document.nodes
    )
    return replace(document, nodes=nodes)


def replace_data_set(
    principal: Principal, *, workflow: Workflow, data_set: str, knowledge_base: str
) -> Change:
    """Let every node that names the data set search a knowledge base of the team, and remember it for the team.

    The one that was chosen for it before leaves the nodes, unless it also answers for another of their data sets. Undo
    brings the old ones back. Raises NotFound for a knowledge base that the principal may not view.
    """
    permissions.check_edit(principal, workflow)
    names = {each.namespace: each.name for each in list_choices(principal, workflow.team_id)}
    if knowledge_base not in names:
        raise NotFound
    nodes = [node for node in load_draft(workflow).nodes if data_set in list_data_sets(node)]
    ids = [each for node in nodes for each in list_data_sets(node)]
    old_bases = find_knowledge_bases(principal, workflow.team_id, ids)
    bases = {**old_bases, data_set: knowledge_base}
    ops: list[Op] = [
        Set(
            node.id,
            (KNOWLEDGE_BASES,),
            _arrange(_without(node, old_bases.get(data_set), bases), [knowledge_base], bases),
        )
        for node in nodes
    ]
    label = _("Search %(new)s for the knowledge base %(name)s") % {
        "name": data_set[:100],
        "new": names[knowledge_base][:100],
    }
    change = edit(principal, workflow=workflow, ops=ops, label=label)
    if len(data_set) <= MAX_DATA_SET:
        _remember(workflow.team_id, data_set, knowledge_base)
    return change


def _add_known(node: NodeSpec, bases: Mapping[str, str]) -> NodeSpec:
    names = [bases[data_set] for data_set in list_data_sets(node) if data_set in bases]
    if not names:
        return node
    return replace(node, data={**node.data, KNOWLEDGE_BASES: _arrange(node, names, bases)})


def _without(node: NodeSpec, base: str | None, bases: Mapping[str, str]) -> NodeSpec:
    """Return the node without the knowledge base, unless it answers for one of the node's data sets."""
    if base is None or base in map(bases.get, list_data_sets(node)):
        return node
    names = [name for name in list_knowledge_bases(node) if name != base]
    return replace(node, data={**node.data, KNOWLEDGE_BASES: names})


def _arrange(node: NodeSpec, new: Iterable[str], bases: Mapping[str, str]) -> list[Json]:
    return arrange_knowledge_bases(node, new, lambda data_set: bases.get(data_set, ""))


def _remember(team_id: UUID, data_set: str, knowledge_base: str) -> None:
    with tenant([team_id]):
        KnowledgeMapping.objects.unscoped().update_or_create(
            team_id=team_id, data_set=data_set, defaults={"knowledge_base": knowledge_base}
        )
