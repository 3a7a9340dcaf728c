"""The page of what came with a document: what works here, what is missing, and a replacement for each missing thing."""

import json
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.errors import NotFound
from accounts.principals import Principal
from config.http import strict_json
from workflows import permissions, selectors
from workflows.engine.editing import EditRefused
from workflows.engine.foreign_kinds.placeholders import TRIGGER_PREFIX
from workflows.engine.import_report.report import Effect, Finding, ImportReport, Need
from workflows.engine.tool_calls import ToolReference
from workflows.errors import EditConflict, NothingToUndo
from workflows.execution.kinds import load_kinds
from workflows.models import ModelProvider, Workflow
from workflows.services.catalog import importing, knowledge_mappings
from workflows.services.catalog.import_reports import report_workflow
from workflows.services.catalog.kind_replacements import replace_kind
from workflows.services.catalog.model_replacements import replace_models
from workflows.services.catalog.replacements import replace_tool
from workflows.services.editing.changes import Change
from workflows.services.editing.undo import Resolution, undo
from workflows.services.editor.drafts import load_draft
from workflows.services.tools.catalog import ToolGroup, find_tool, list_tool_groups
from workflows.templatetags.problems import list_titles
from workflows.views.catalog.report_columns import place_parts
from workflows.views.catalog.report_rows import (
    build_plugin_rows,
    build_sections,
    build_setting_rows,
    group_problems,
    list_links,
)
from workflows.views.editor.inspector.placeholder import list_replacements
from workflows.views.model_choices import list_groups
from workflows.views.phrases import translate_text
from workflows.views.request_context import find_workflow, is_htmx, parse_id, read_text


@login_required
@require_safe
def import_report(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Show what the workflow's draft wants."""
    principal, workflow = find_workflow(request, workflow_id)
    context = _build_context(principal, workflow)
    return render(request, "workflows/import_report/page.html", context)


@login_required
@require_POST
def use_model(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Let the nodes that name a model ask one of the team instead; with ``all``, those of every missing model."""
    principal, workflow = find_workflow(request, workflow_id, "edit")
    target, target_model = _find_model(principal, workflow, read_text(request.POST, "choice"))
    if target is None:
        return _show(request, principal, workflow)
    if "all" in request.POST:
        names = {(each.provider, each.name) for each in _list_missing_models(principal, workflow)}
    else:
        names = {(read_text(request.POST, "provider"), read_text(request.POST, "model"))}
    change = replace_models(
        principal, workflow=workflow, names=names, target=target, target_model=target_model
    )
    return _show(request, principal, workflow, change)


@login_required
@require_POST
def use_tool(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Let a tool of the team take the place of one that the document names, in all its nodes."""
    principal, workflow = find_workflow(request, workflow_id, "edit")
    groups = list_tool_groups(principal, workflow.team_id, except_workflow=workflow.pk)
    choice = read_text(request.POST, "choice")
    if not choice:
        return _show(request, principal, workflow)
    tool = find_tool(groups, _parse_reference(choice))
    if tool is None:
        raise NotFound
    change = replace_tool(
        principal,
        workflow=workflow,
        provider=read_text(request.POST, "provider"),
        name=read_text(request.POST, "name"),
        tool=tool,
    )
    return _show(request, principal, workflow, change)


@login_required
@require_POST
def use_knowledge_base(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Let a knowledge base of the team answer for a data set that the document names, in all its nodes."""
    principal, workflow = find_workflow(request, workflow_id, "edit")
    data_set, choice = read_text(request.POST, "data_set"), read_text(request.POST, "choice")
    if not choice:
        return _show(request, principal, workflow)
    change = knowledge_mappings.replace_data_set(
        principal, workflow=workflow, data_set=data_set, knowledge_base=choice
    )
    return _show(request, principal, workflow, change)


@login_required
@require_POST
def use_kind(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Let nodes of an available type take the place of all nodes of a missing one."""
    principal, workflow = find_workflow(request, workflow_id, "edit")
    missing, choice = read_text(request.POST, "kind"), read_text(request.POST, "choice")
    if not choice:
        return _show(request, principal, workflow)
    kinds = load_kinds()
    groups = list_replacements(workflow.mode, missing)
    if missing in kinds or choice not in {item.kind for group in groups for item in group.items}:
        raise NotFound
    try:
        change = replace_kind(
            principal, workflow=workflow, missing_kind=missing, kind=kinds[choice]
        )
    except EditRefused as refused:
        return _show(request, principal, workflow, refusal=str(refused))
    return _show(request, principal, workflow, change)


@login_required
@require_POST
def undo_replacement(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Undo a replacement, if it is still the caller's last edit."""
    principal, workflow = find_workflow(request, workflow_id, "edit")
    number = read_text(request.POST, "revision")
    if not number.isdecimal():
        return _show(request, principal, workflow)
    try:
        change = undo(
            principal, workflow=workflow, resolution=Resolution(int(number[:9]), choices={})
        )
    except (EditConflict, NothingToUndo):
        text = _("You or somebody else has edited this since. Undo it in the editor's history.")
        return _show(request, principal, workflow, refusal=text)
    return _show(request, principal, workflow, change, is_undone=True)


def _show(
    request: HttpRequest,
    principal: Principal,
    workflow: Workflow,
    change: Change | None = None,
    *,
    refusal: str = "",
    is_undone: bool = False,
) -> HttpResponse:
    """Show the report after a change, and what was changed."""
    if not is_htmx(request):
        if refusal:
            messages.warning(request, refusal)
        elif change is not None and change.revision is not None:
            text = _("Undone: %(edit)s") if is_undone else "%(edit)s"
            messages.success(request, text % {"edit": change.revision.label})
        return redirect("workflows:import_report", workflow.pk)
    context = {
        **_build_context(principal, workflow),
        "change": _describe_change(change, is_undone=is_undone),
        "refusal": refusal,
    }
    return render(request, "workflows/import_report/_report.html", context)


def _describe_change(change: Change | None, *, is_undone: bool) -> dict[str, Any] | None:
    if change is None or change.revision is None:
        return None
    titles = {item.id: item.title for item in change.items}
    return {
        "label": change.revision.label,
        "number": change.revision.number,
        "nodes": [*list_links(change.touched_parts.nodes, titles)],
        "is_undone": is_undone,
    }


def _build_context(principal: Principal, workflow: Workflow) -> dict[str, Any]:
    report = report_workflow(principal, workflow)
    document = load_draft(workflow)
    titles = list_titles(document, load_kinds())
    can_edit = permissions.may_edit(principal, workflow)
    needs = {finding.need for finding in (*report.findings, *report.present)}
    knowledge_bases = (
        knowledge_mappings.list_choices(principal, workflow.team_id)
        if Need.DATA_SET in needs
        else []
    )
    names = {base.namespace: base.name for base in knowledge_bases}
    problem_groups, problem_count = group_problems(report, titles, _("The whole workflow"))
    sections = build_sections(report, titles, names)
    settings = build_setting_rows(report, titles)
    notes = importing.list_notes(workflow)
    plugins = build_plugin_rows(report, titles)
    used_plugins = [row for row in plugins if row.finding.effect is not Effect.UNUSED]
    has_models = bool(report.demo_nodes) or Need.MODEL in needs
    return {
        "workflow": workflow,
        "report": report,
        "titles": titles,
        "sections": sections,
        "settings": settings,
        "columns": place_parts(
            [*(section.rows for section in sections), used_plugins],
            [
                ("workflows/import_report/_settings.html", [settings]),
                (
                    "workflows/import_report/_problems.html",
                    [group.problems for group in problem_groups],
                ),
                ("workflows/import_report/_notes.html", [notes]),
            ],
        ),
        "plugins": used_plugins,
        "unused_plugins": [row for row in plugins if row.finding.effect is Effect.UNUSED],
        "problem_groups": problem_groups,
        "problem_count": problem_count,
        "error_count": report.error_count,
        "notes": notes,
        "demo_links": [*list_links(report.demo_nodes, titles)],
        "knowledge_bases": knowledge_bases,
        "can_edit": can_edit,
        **(_build_model_context(principal, workflow, report) if has_models else {}),
        **(_build_tool_context(principal, workflow) if Need.TOOL in needs and can_edit else {}),
        **(_build_kind_context(workflow) if Need.NODE_TYPE in needs and can_edit else {}),
    }


def _build_model_context(
    principal: Principal, workflow: Workflow, report: ImportReport
) -> dict[str, Any]:
    """Return the models of the team to choose from, and whether the caller may connect more."""
    options = []
    if permissions.may_view_credentials(principal, workflow.team_id):
        rows = selectors.list_providers(principal, workflow.team_id).filter(enabled=True)
        options = list_groups(rows)
    return {
        "options": [group for group in options if group.options],
        "has_missing_models": bool(report.list_findings(Need.MODEL)),
        "can_connect": permissions.may_manage(principal, workflow.team_id),
    }


def _build_tool_context(principal: Principal, workflow: Workflow) -> dict[str, Any]:
    groups = list_tool_groups(principal, workflow.team_id, except_workflow=workflow.pk)
    return {"tool_groups": [(group.label, _list_tool_options(group)) for group in groups]}


def _build_kind_context(workflow: Workflow) -> dict[str, Any]:
    """Return the types that can take the place of a missing one: of one that starts runs, and of any other one."""
    return {
        "kind_groups": list_replacements(workflow.mode, ""),
        "root_groups": list_replacements(workflow.mode, TRIGGER_PREFIX),
    }


def _list_tool_options(group: ToolGroup) -> list[tuple[str, str]]:
    """Return value and title of each tool."""
    return [
        (
            json.dumps([tool.reference.source, tool.reference.name, tool.reference.provider]),
            translate_text(tool.title) if group.source == "builtin" else tool.title,
        )
        for tool in group.tools
    ]


def _list_missing_models(principal: Principal, workflow: Workflow) -> list[Finding]:
    report = report_workflow(principal, workflow, with_problems=False)
    return report.list_findings(Need.MODEL)


def _find_model(
    principal: Principal, workflow: Workflow, value: str
) -> tuple[ModelProvider | None, str]:
    """Return the provider and the model of an option. Raises NotFound for one that the team has not connected."""
    if not value:
        return None, ""
    provider_id, _separator, model = value.partition(":")
    provider = selectors.find_provider(principal, parse_id(provider_id))
    if not provider.enabled or provider.team_id != workflow.team_id:
        raise NotFound
    return provider, model


def _parse_reference(text: str) -> ToolReference:
    try:
        source, name, provider = map(str, strict_json.loads(text))
    except (ValueError, TypeError) as error:
        raise NotFound from error
    return ToolReference(source, name, provider)  # type: ignore[arg-type]  # compared with those there are
