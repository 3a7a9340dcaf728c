"""The panel at the right: the form of the node that is chosen, or of the workflow when none is."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from accounts.errors import NotFound
from accounts.principals import Principal
from workflows import memory_app, permissions, selectors
from workflows.engine.appearance import Appearance
from workflows.engine.kinds import AnyKind, NodeKind
from workflows.engine.language.dependencies import Source, Variable, outputs_given, reach
from workflows.engine.language.document import Document, Json, NodeSpec
from workflows.engine.language.problems import Problem
from workflows.engine.language.validation import validate_node
from workflows.engine.nodes import find_appearance
from workflows.llm.config import canonical
from workflows.models import Workflow
from workflows.services.kinds import installed_kinds
from workflows.templatetags.problems import by_title, in_words, titles_in
from workflows.views.catalog.workflow_page import document_for
from workflows.views.editor.inspector import fields as forms
from workflows.views.editor.inspector.docs import docs_of
from workflows.views.editor.inspector.policy import DESCRIPTION, policy_controls
from workflows.views.editor.inspector.workflow import workflow_form
from workflows.views.request_context import workflow_for


ROLES = (
    ("system", gettext_lazy("System")),
    ("user", gettext_lazy("User")),
    ("assistant", gettext_lazy("Assistant")),
)


class UnknownKind(NodeKind[Any, Any]):
    """Stands in for a kind that isn't installed: its node is shown as it is written."""

    name = ""
    title = ""


@login_required
@require_safe
def node(request: HttpRequest, workflow_id: UUID, node_key: str) -> HttpResponse:
    principal, workflow = workflow_for(request, workflow_id)
    document = document_for(principal, workflow)
    spec = next((one for one in document.nodes if one.id == node_key), None)
    if spec is None:
        raise NotFound
    providers = _providers(principal, workflow)
    context = {
        **_node_page(document, spec, workflow.revision),
        "workflow": workflow,
        "providers": providers,
        "provider_names": [name for name, _model in providers],
        "can_edit": permissions.may_edit(principal, workflow),
        "last_url": _last_url(workflow, spec),
        "check_url": reverse("workflows:check_code", args=[workflow.pk]),
        "rendered_url": reverse("workflows:rendered", args=[workflow.pk, spec.id]),
        "recalled_url": reverse("workflows:recall_preview", args=[workflow.pk, spec.id]),
    }
    return render(request, "inspector/_node.html", context)


@login_required
@require_safe
def overview(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """What is chosen when it isn't one node: several of them, an edge, or nothing at all."""
    principal, workflow = workflow_for(request, workflow_id)
    document = document_for(principal, workflow)
    context: dict[str, Any] = {
        "workflow": workflow,
        "can_edit": permissions.may_edit(principal, workflow),
    }
    if keys := request.GET.getlist("node"):
        context["nodes"] = [_named(one) for one in document.nodes if one.id in keys]
        return render(request, "inspector/_selection.html", context)
    if key := request.GET.get("edge"):
        context |= _edge_page(document, key)
        return render(request, "inspector/_edge.html", context)
    context |= workflow_form(workflow, document)
    return render(request, "inspector/_workflow.html", context)


def _node_page(document: Document, spec: NodeSpec, revision: int) -> dict[str, Any]:
    kinds = installed_kinds()
    kind = kinds.get(spec.kind) or UnknownKind()
    shown = find_appearance(spec.kind, kinds)
    problems = validate_node(document, kinds, spec.id)
    # Where there is no memory the language has no such field.
    fields = [f for f in kind.fields if f.name != "enhanced_memory" or memory_app.is_on()]
    policy = policy_controls(kind, spec)
    outputs = outputs_given(document, kinds, spec.id)
    return {
        "node": spec,
        "kind": kind,
        "is_unknown": spec.kind not in kinds,
        "icon": shown.icon,
        "family": shown.family,
        "controls": forms.controls(fields, spec.data),
        "description": forms.control(DESCRIPTION, spec.data),
        "policy": policy,
        "outputs": outputs,
        "docs": docs_of(kind, spec, outputs),
        "policy_open": any(spec.data.get(one.key) for one in policy),
        "roles": ROLES,
        "operators": forms.operator_choices(),
        "condition_blank": forms.CONDITION,
        "empty_list": [],
        "types": forms.TYPES,
        "form_types": forms.FORM_TYPES,
        "file_keys": forms.FILE_KEYS,
        "held": _held(document, spec, kind, problems, revision),
    }


def _held(
    document: Document, spec: NodeSpec, kind: AnyKind, problems: Iterable[Problem], revision: int
) -> dict[str, Json]:
    """What the scripts know about the node; the form around it is HTML.

    ``revision`` was read before the document: an edit in between is in both this and the next answer.
    """
    return {
        "revision": revision,
        "id": spec.id,
        "title": spec.title,
        "data": dict(spec.data),
        "problems": _said(problems, titles_in(document, installed_kinds())),
        "sources": [_source(one) for one in reach(document, installed_kinds(), spec.id)],
        "operators": forms.operators_by_type(),
        "unary": forms.UNARY_OPERATORS,
        "assignments": forms.assignments_by_type(),
        "shown": _shown(forms.controls(kind.fields, spec.data), spec.data),
    }


def _shown(found: Iterable[forms.Control], data: Mapping[str, Json]) -> dict[str, Json]:
    """What the form shows although nobody wrote it: a first edit inside writes it whole."""
    return {one.key: one.value for one in found if one.value is not None and one.key not in data}


def _said(problems: Iterable[Problem], titles: Mapping[str, str]) -> list[Json]:
    return [
        {
            "severity": problem.severity.value,
            "message": by_title(in_words(problem), titles),
            "field": problem.field,
        }
        for problem in problems
    ]


def _source(source: Source) -> dict[str, Json]:
    is_node = source.place != "built-in"
    shown = find_appearance(source.kind, installed_kinds()) if is_node else Appearance()
    return {
        "head": source.head,
        "title": _head(source),
        "icon": shown.icon,
        "family": shown.family,
        "place": source.place,
        "variables": [_variable(one) for one in source.variables],
    }


def _head(source: Source) -> str:
    names = {"sys": _("System"), "env": _("Environment"), "conversation": _("Conversation")}
    return names.get(source.head, source.title) if source.place == "built-in" else source.title


def _variable(variable: Variable) -> dict[str, Json]:
    return {
        "at": list(variable.selector),
        "type": variable.type,
        "help": _(variable.help) if variable.help else "",
        "reference": variable.reference,
        "parts": [_variable(one) for one in variable.parts],
    }


def _providers(principal: Principal, workflow: Workflow) -> Sequence[tuple[str, str]]:
    """Names a model may be asked of, and the model each offers by itself."""
    found = {"offline": "offline"}
    if permissions.may_view_credentials(principal, workflow.team_id):
        for row in selectors.providers_for(principal, workflow.team_id).filter(enabled=True):
            found[canonical(row.name)] = row.default_model
    return [*found.items()]


def _last_url(workflow: Workflow, spec: NodeSpec) -> str:
    """The last run's part; nothing where runs aren't shown."""
    try:
        return reverse("workflows:last_step", args=[workflow.pk, spec.id])
    except NoReverseMatch:
        return ""


def _named(spec: NodeSpec) -> dict[str, str]:
    shown = find_appearance(spec.kind, installed_kinds())
    return {
        "id": spec.id,
        "title": spec.title or spec.id,
        "icon": shown.icon,
        "family": shown.family,
    }


def _edge_page(document: Document, key: str) -> Mapping[str, Any]:
    edge = next((one for one in document.edges if one.id == key), None)
    if edge is None:
        raise NotFound
    named = {one.id: _named(one) for one in document.nodes}
    return {
        "edge": edge,
        "source": named.get(edge.source),
        "target": named.get(edge.target),
        "handle": "" if edge.handle == "source" else edge.handle,
        "meaning": _meaning(document, edge.source, edge.handle),
    }


def _meaning(document: Document, node_id: str, handle: str) -> str:
    """What must hold for a run to go this way, in a few words."""
    if handle in ("fail-branch", "false"):
        return _("On failure") if handle == "fail-branch" else _("No condition is met")
    spec = next((one for one in document.nodes if one.id == node_id), None)
    for case in (spec.data.get("cases") or ()) if spec else ():
        if isinstance(case, dict) and str(case.get("case_id") or case.get("id")) == handle:
            return _conditions(case)
    return ""


def _conditions(case: Mapping[str, Json]) -> str:
    joined = _(" or ") if case.get("logical_operator") == "or" else _(" and ")
    return joined.join(
        " ".join(
            [
                ".".join(map(str, one.get("variable_selector") or ())),
                str(one.get("comparison_operator") or ""),
                str(one.get("value") or ""),
            ]
        ).strip()
        for one in case.get("conditions") or ()
        if isinstance(one, dict)
    )
