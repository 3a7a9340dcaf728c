"""The workflows that a sub-workflow node can run: its picker, and the form of the selected one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, JsonResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.principals import Principal
from workflows import permissions, selectors
from workflows.engine.language.document import Json, NodeSpec
from workflows.engine.sub_workflows.form import (
    CallableInput,
    list_callable_inputs,
    suggest_values,
)
from workflows.models import Workflow
from workflows.services.tools.callable_workflows import (
    find_target,
    has_current_outputs,
    list_outputs,
)
from workflows.views.catalog.workflow_page import get_document
from workflows.views.request_context import find_workflow


@dataclass(frozen=True, slots=True)
class InputRow:
    """An input of the selected workflow with the value that the node gives it, as people type it."""

    input: CallableInput
    value: str
    is_unknown: bool = False  # the workflow has no such input any more


@login_required
@require_safe
def callable_outputs(request: HttpRequest, workflow_id: UUID) -> JsonResponse:
    """Return name, outputs and first inputs of the published workflow ``slug``, for a node of this workflow."""
    principal, workflow = find_workflow(request, workflow_id)
    target = find_target(principal, workflow.team_id, request.GET.get("slug", ""))
    if target is None:
        return JsonResponse({"name": "", "outputs": [], "inputs": {}})
    inputs = suggest_values(
        list_callable_inputs(target.document), get_document(principal, workflow)
    )
    return JsonResponse(
        {
            "name": target.workflow.name,
            "outputs": list_outputs(target.document),
            "inputs": inputs,
        }
    )


def build_picker_context(
    principal: Principal, workflow: Workflow, spec: NodeSpec
) -> dict[str, object]:
    """Return the choices of a sub-workflow node, and the inputs of the workflow that it has selected."""
    slug = str(spec.data.get("workflow") or "")
    target = find_target(principal, workflow.team_id, slug)
    inputs = list_callable_inputs(target.document) if target is not None else ()
    return {
        "workflow_choices": list_workflow_choices(principal, workflow),
        "callable_url": reverse("workflows:callable", args=[workflow.pk]),
        "target": target.workflow if target is not None else None,
        "has_old_outputs": target is not None and not has_current_outputs(spec, target.document),
        "input_rows": _list_rows(inputs, spec.data.get("inputs")),
    }


def list_workflow_choices(principal: Principal, workflow: Workflow) -> Sequence[tuple[str, str]]:
    """Return slug and name of the published workflows that a node of this workflow can run."""
    rows = selectors.list_workflows(principal, team_id=workflow.team_id)
    rows = rows.filter(published_version__isnull=False).exclude(pk=workflow.pk).exclude(slug="")
    return [
        (row.slug, row.name)
        for row in rows.order_by("name", "id")
        if permissions.may_run(principal, row)
    ]


def _list_rows(inputs: Sequence[CallableInput], stored: Json) -> list[InputRow]:
    values: Mapping[str, Json] = stored if isinstance(stored, Mapping) else {}
    names = {each.name for each in inputs}
    rows = [InputRow(each, _show(values.get(each.name))) for each in inputs]
    unknown = [name for name, value in values.items() if value and name not in names]
    return rows + [InputRow(CallableInput(name, ""), _show(values[name]), True) for name in unknown]


def _show(value: Json) -> str:
    """Return a value as people type it: a variable as a reference, a constant as text."""
    if isinstance(value, list | tuple) and len(value) > 1:
        return "{{#" + ".".join(map(str, value)) + "#}}"
    return "" if value is None else str(value)
