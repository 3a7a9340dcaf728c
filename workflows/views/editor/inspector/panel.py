"""The panel at the right: the form of the selected node, or of the workflow if none is selected."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import yaml
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from accounts.errors import NotFound
from workflows import memory_app, permissions
from workflows.engine.answerers import FIELDS as ANSWERER_FIELDS
from workflows.engine.appearance import Appearance
from workflows.engine.geometry import SOURCE
from workflows.engine.initial_values import fill_in_message, find_message
from workflows.engine.kind_examples import build_example_data, list_outputs
from workflows.engine.kinds import AnyKind, Field, NodeKind, Output
from workflows.engine.language.dependencies import Source, Variable, list_node_outputs, list_sources
from workflows.engine.language.document import Document, Json, NodeSpec, Selector
from workflows.engine.language.graph import Graph
from workflows.engine.language.memory_usage import MEMORY_FIELDS
from workflows.engine.language.problems import Problem, mark_unfinished_as_errors
from workflows.engine.language.validation import validate_node
from workflows.engine.language.validation.structure import is_reachable
from workflows.engine.language.variables import SYSTEM
from workflows.engine.nodes import find_appearance
from workflows.engine.nodes.agent.agent import Agent
from workflows.engine.nodes.agent.tool import ToolNode
from workflows.execution.kinds import load_kinds
from workflows.services.editing.deleted_nodes import name_deleted_nodes
from workflows.services.editor.knowledge_problems import find_knowledge_problems
from workflows.services.editor.people_problems import find_people_problems
from workflows.services.model_prices import find_price_problems
from workflows.services.models.mappings import (
    find_model_problems,
    load_directory_for,
)
from workflows.services.tools.callable_workflows import SUB_WORKFLOW, find_call_problems
from workflows.services.tools.recalling_workflows import find_recalling_problems
from workflows.templatetags.problems import describe_problem, list_titles, replace_ids_by_titles
from workflows.views.canvas.model_marks import build_model_mark
from workflows.views.canvas.summaries import label_handles
from workflows.views.catalog.workflow_page import get_document, get_node
from workflows.views.editor.inspector import fields as form_fields
from workflows.views.editor.inspector.agents import build_agent_choices
from workflows.views.editor.inspector.callable_workflows import build_picker_context
from workflows.views.editor.inspector.form_places import list_form_places
from workflows.views.editor.inspector.knowledge import KNOWLEDGE_KINDS, build_knowledge_context
from workflows.views.editor.inspector.models import build_model_context
from workflows.views.editor.inspector.people import build_people_context
from workflows.views.editor.inspector.placeholder import build_placeholder_context
from workflows.views.editor.inspector.policy import DESCRIPTION, build_policy_controls
from workflows.views.editor.inspector.tool_node import build_tool_context
from workflows.views.editor.inspector.workflow import build_workflow_form
from workflows.views.request_context import find_workflow


ROLES = (
    ("system", gettext_lazy("System")),
    ("user", gettext_lazy("User")),
    ("assistant", gettext_lazy("Assistant")),
)


class UnknownKind(NodeKind[Any, Any]):
    """The kind of a node whose own kind isn't installed, so that the node is shown as it is stored."""

    name = ""
    title = ""


@dataclass(frozen=True, slots=True)
class FieldRow:
    field: Field
    depth: int


@login_required
@require_safe
def node(request: HttpRequest, workflow_id: UUID, node_key: str) -> HttpResponse:
    """Show the form of a node."""
    principal, workflow = find_workflow(request, workflow_id)
    document = get_document(principal, workflow)
    spec = get_node(document, node_key)
    own = replace(document, nodes=(spec,))
    models = load_directory_for(workflow.team_id, [spec])
    problems = [
        *name_deleted_nodes(workflow, validate_node(document, load_kinds(), spec.id)),
        *find_call_problems(workflow.team_id, own, workflow.pk),
        *find_model_problems(models, own),
        *find_price_problems(models, own),
        *find_knowledge_problems(workflow.team_id, models, own),
        *find_people_problems(workflow.team_id, own),
        *find_recalling_problems(workflow.team_id, own),
    ]
    context = {
        **_build_node_context(document, spec, workflow.revision, problems),
        "workflow": workflow,
        **build_model_context(principal, workflow),
        "answering": build_model_mark(spec, models),
        **(build_agent_choices(principal, workflow) if spec.kind == Agent.name else {}),
        **(build_tool_context(principal, workflow, spec) if spec.kind == ToolNode.name else {}),
        **(build_knowledge_context(principal, workflow) if spec.kind in KNOWLEDGE_KINDS else {}),
        **(build_people_context(principal, workflow, spec) if spec.kind in ANSWERER_FIELDS else {}),
        **(build_placeholder_context(workflow, spec) if spec.kind not in load_kinds() else {}),
        "can_edit": permissions.may_edit(principal, workflow),
        **(build_picker_context(principal, workflow, spec) if spec.kind == SUB_WORKFLOW else {}),
        "last_url": reverse("workflows:last_step", args=[workflow.pk, spec.id]),
        "check_url": reverse("workflows:check_code", args=[workflow.pk]),
        "rendered_url": reverse("workflows:rendered", args=[workflow.pk, spec.id]),
        "recalled_url": reverse("workflows:recall_preview", args=[workflow.pk, spec.id]),
    }
    return render(request, "inspector/_node.html", context)


@login_required
@require_safe
def overview(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Show the panel for several selected nodes, an edge, or no selection."""
    principal, workflow = find_workflow(request, workflow_id)
    document = get_document(principal, workflow)
    context: dict[str, Any] = {
        "workflow": workflow,
        "can_edit": permissions.may_edit(principal, workflow),
    }
    if node_ids := request.GET.getlist("node"):
        context["nodes"] = [_serialize_node(spec) for spec in document.nodes if spec.id in node_ids]
        return render(request, "inspector/_selection.html", context)
    if edge_id := request.GET.get("edge"):
        context |= _build_edge_context(document, edge_id)
        return render(request, "inspector/_edge.html", context)
    context |= build_workflow_form(workflow, document)
    return render(request, "inspector/_workflow.html", context)


def _build_node_context(
    document: Document, spec: NodeSpec, revision: int, problems: Sequence[Problem]
) -> dict[str, Any]:
    kinds = load_kinds()
    kind = kinds.get(spec.kind) or UnknownKind()
    appearance = find_appearance(spec.kind, kinds)
    if is_reachable(Graph.from_document(document), kinds, spec.id):
        problems = mark_unfinished_as_errors(problems)
    # Without the memory app, the language has no such fields.
    fields = fill_in_message(
        (f for f in kind.fields if f.name not in MEMORY_FIELDS or memory_app.is_on()),
        _find_message(document),
    )
    controls = form_fields.build_controls(fields, spec.data)
    advanced_controls = [control for control in controls if control.field.is_advanced]
    policy = build_policy_controls(kind, spec)
    outputs = list_node_outputs(document, kinds, spec.id)
    return {
        "node": spec,
        "kind": kind,
        "is_unknown": spec.kind not in kinds,
        "icon": appearance.icon,
        "family": appearance.family,
        "controls": [control for control in controls if not control.field.is_advanced],
        "advanced_controls": advanced_controls,
        "advanced_open": any(control.is_changed for control in advanced_controls),
        "description": form_fields.build_control(DESCRIPTION, spec.data),
        "policy": policy,
        "outputs": (*outputs, *_list_built_in_variables(document, spec)),
        "docs": build_docs(kind, spec, outputs),
        "policy_open": any(spec.data.get(control.key) for control in policy),
        "roles": ROLES,
        "operators": form_fields.list_operator_choices(),
        "metadata_operators": form_fields.METADATA_OPERATORS,
        "condition_blank": form_fields.BLANK_CONDITION,
        "empty_list": [],
        "types": form_fields.TYPES,
        "form_types": form_fields.FORM_TYPES,
        "answer_types": form_fields.ANSWER_TYPES,
        "file_keys": form_fields.FILE_KEYS,
        # The panel of a missing type says this itself.
        "script_data": _build_script_data(
            document,
            spec,
            kind,
            [problem for problem in problems if problem.code != "kind.unknown"],
            revision,
        ),
    }


def _list_built_in_variables(document: Document, spec: NodeSpec) -> list[Output]:
    """Return the variables that every run has from its start, as outputs of the Start node; none for other nodes."""
    if spec.kind != "start":
        return []
    return [
        Output(".".join(variable.selector), variable.type, variable.help)
        for source in list_sources(document, load_kinds(), spec.id)
        if source.id == SYSTEM and source.position == "built-in"
        for variable in source.variables
    ]


def _find_message(document: Document) -> Selector | None:
    starts = [(spec.id, spec.data) for spec in document.nodes if spec.kind == "start"]
    return find_message(document.mode, starts)


def _build_script_data(
    document: Document, spec: NodeSpec, kind: AnyKind, problems: Iterable[Problem], revision: int
) -> dict[str, Json]:
    """Return the node's data for the scripts; the form around it is HTML.

    ``revision`` was read before the document, so an edit in between is in both this and the next response.
    """
    return {
        "revision": revision,
        "id": spec.id,
        "kind": spec.kind,
        "title": spec.title,
        "data": dict(spec.data),
        "problems": _serialize_problems(problems, list_titles(document, load_kinds())),
        "sources": [
            *list_form_places(spec),
            *map(_serialize_source, list_sources(document, load_kinds(), spec.id)),
        ],
        "operators": form_fields.list_operators_by_type(),
        "unary": form_fields.UNARY_OPERATORS,
        "assignments": form_fields.list_assignments_by_type(),
        "shown": _collect_defaults(form_fields.build_controls(kind.fields, spec.data), spec.data),
    }


def _collect_defaults(
    controls: Iterable[form_fields.Control], data: Mapping[str, Json]
) -> dict[str, Json]:
    """Return the displayed defaults that are not stored; the first edit inside a default stores all of it."""
    return {
        control.key: control.value
        for row in controls
        for control in (row, row.unit_control)
        if control is not None and control.value is not None and control.key not in data
    }


def _serialize_problems(problems: Iterable[Problem], titles: Mapping[str, str]) -> list[Json]:
    return [
        {
            "severity": problem.severity.value,
            "message": replace_ids_by_titles(describe_problem(problem), titles),
            "field": problem.field,
            "is_empty": problem.code == "config.empty",
        }
        for problem in problems
    ]


def _serialize_source(source: Source) -> dict[str, Json]:
    is_node = source.position != "built-in"
    appearance = find_appearance(source.kind, load_kinds()) if is_node else Appearance()
    return {
        "head": source.id,
        "title": _get_source_title(source),
        "icon": appearance.icon,
        "family": appearance.family,
        "place": source.position,
        "variables": [_serialize_variable(variable) for variable in source.variables],
    }


def _get_source_title(source: Source) -> str:
    names = {"sys": _("System"), "env": _("Environment"), "conversation": _("Conversation")}
    return names.get(source.id, source.title) if source.position == "built-in" else source.title


def _serialize_variable(variable: Variable) -> dict[str, Json]:
    return {
        "at": list(variable.selector),
        "type": variable.type,
        "help": _(variable.help) if variable.help else "",
        "reference": variable.reference,
        "parts": [_serialize_variable(part) for part in variable.parts],
    }


def _serialize_node(spec: NodeSpec) -> dict[str, str]:
    appearance = find_appearance(spec.kind, load_kinds())
    return {
        "id": spec.id,
        "title": spec.title or spec.id,
        "icon": appearance.icon,
        "family": appearance.family,
    }


def _build_edge_context(document: Document, edge_id: str) -> Mapping[str, Any]:
    edge = next((edge for edge in document.edges if edge.id == edge_id), None)
    if edge is None:
        raise NotFound
    nodes = {spec.id: _serialize_node(spec) for spec in document.nodes}
    return {
        "edge": edge,
        "source": nodes.get(edge.source),
        "target": nodes.get(edge.target),
        "handle": "" if edge.handle == "source" else edge.handle,
        "meaning": _describe_branch(document, edge.source, edge.handle),
    }


def _describe_branch(document: Document, node_id: str, handle: str) -> str:
    """Describe briefly the condition under which a run takes this branch."""
    if handle in ("fail-branch", "false"):
        return _("On failure") if handle == "fail-branch" else _("No condition is met")
    spec = next((node_spec for node_spec in document.nodes if node_spec.id == node_id), None)
    for case in (spec.data.get("cases") or ()) if spec else ():
        if isinstance(case, dict) and str(case.get("case_id") or case.get("id")) == handle:
            return _format_conditions(case)
    if spec is None or handle == SOURCE:
        return ""
    [label] = label_handles(spec, load_kinds(), (handle,))
    return label.text or label.word


def _format_conditions(case: Mapping[str, Json]) -> str:
    separator = _(" or ") if case.get("logical_operator") == "or" else _(" and ")
    return separator.join(
        " ".join(
            [
                ".".join(map(str, condition.get("variable_selector") or ())),
                str(condition.get("comparison_operator") or ""),
                str(condition.get("value") or ""),
            ]
        ).strip()
        for condition in case.get("conditions") or ()
        if isinstance(condition, dict)
    )


def build_docs(kind: AnyKind, spec: NodeSpec, outputs: tuple[Output, ...]) -> dict[str, Any]:
    """Return the reference of a kind, with the node's own outputs and branches."""
    return {
        "kind": kind,
        "fields": _list_field_rows(kind.fields),
        "outputs": outputs or list_outputs(kind),
        "handles": _list_handles(kind, spec),
        "example": yaml.safe_dump(build_example_data(kind), allow_unicode=True, sort_keys=False),
    }


def _list_field_rows(fields: tuple[Field, ...], depth: int = 0) -> tuple[FieldRow, ...]:
    rows: list[FieldRow] = []
    for field in fields:
        rows += [FieldRow(field, depth), *_list_field_rows(field.fields, depth + 1)]
    return tuple(rows)


def _list_handles(kind: AnyKind, spec: NodeSpec) -> tuple[str, ...]:
    """Return the names of the branches; none if there is only one, or if the data is incomplete."""
    try:
        handles = kind.list_handles(spec)
    except (ValueError, TypeError, KeyError, AttributeError):
        return ()
    return handles if len(handles) > 1 else ()
