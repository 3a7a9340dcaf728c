"""A text of a node as the last run would have filled it in."""

from collections.abc import Iterator, Mapping
from functools import cache
from uuid import UUID

from asgiref.sync import async_to_sync
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.errors import NotFound
from accounts.principals import Principal
from workflows import selectors
from workflows.engine.errors import WorkflowFault
from workflows.engine.kinds import Field, Widget
from workflows.engine.language.document import Document, Json, NodeSpec, VariableSpec
from workflows.engine.language.templating import render_text
from workflows.engine.language.variables import VariablePool
from workflows.models import Run, Workflow
from workflows.models.documents import is_secret
from workflows.sandbox.templates import TemplatePool
from workflows.services.kinds import installed_kinds
from workflows.views.catalog.workflow_page import document_for
from workflows.views.request_context import typed, workflow_for


LONGEST = 20_000


@login_required
@require_safe
def rendered(request: HttpRequest, workflow_id: UUID, node_key: str) -> HttpResponse:
    """``path`` says which text: dotted, inside the node's data."""
    principal, workflow = workflow_for(request, workflow_id)
    document = document_for(principal, workflow)
    spec = node_of(document, node_key)
    path = typed(request.GET, "path").split(".")
    text = _look(spec.data, path)
    if not isinstance(text, str):
        raise NotFound
    run = selectors.runs_for(principal, workflow=workflow).first()
    context: dict[str, Json] = {"run": run}
    try:
        pool = pool_of(principal, workflow, document, run)
        context["text"] = _filled(spec, path, text, pool)[:LONGEST]
    except WorkflowFault as fault:
        context["error"] = fault.message
    return render(request, "inspector/_rendered_template.html", context)


def node_of(document: Document, key: str) -> NodeSpec:
    spec = next((one for one in document.nodes if one.id == key), None)
    if spec is None:
        raise NotFound
    return spec


def pool_of(
    principal: Principal, workflow: Workflow, document: Document, run: Run | None
) -> VariablePool:
    """What nodes could see at the end of a run, as far as it is kept; never what is secret."""
    pool = VariablePool(
        system=run.system if run else {},
        environment=_plain(document.environment),
        conversation={
            **_plain(document.conversation),
            **(run.conversation.variables if run and run.conversation else {}),
        },
    )
    for step in selectors.steps_of(principal, run) if run else ():
        if step.outputs:
            pool.set_outputs(step.node_key, step.outputs)
    return pool


def render_jinja(source: str, inputs: Mapping[str, Json]) -> str:
    return async_to_sync(_templates().render)(source, inputs)


@cache
def _templates() -> TemplatePool:
    return TemplatePool()


def _plain(variables: tuple[VariableSpec, ...]) -> dict[str, Json]:
    return {one.name: one.value for one in variables if not is_secret(one.value_type)}


def _filled(spec: NodeSpec, path: list[str], text: str, pool: VariablePool) -> str:
    if not _is_jinja(spec, path):
        return render_text(text, pool)
    return render_jinja(text, {name: pool.get_or_none(at) for name, at in _named(spec)})


def _is_jinja(spec: NodeSpec, path: list[str]) -> bool:
    if path[-1] == "jinja2_text":
        return True
    kind = installed_kinds().get(spec.kind)
    field = _field(kind.fields if kind else (), path)
    return field is not None and field.widget is Widget.JINJA


def _field(fields: tuple[Field, ...], path: list[str]) -> Field | None:
    found = next((field for field in fields if field.name == path[0]), None)
    return _field(found.fields, path[1:]) if found and found.fields and path[1:] else found


def _named(spec: NodeSpec) -> Iterator[tuple[str, list[str]]]:
    """The names a Jinja2 text of the node knows, and where their values come from."""
    config = spec.data.get("prompt_config")
    lists = (
        spec.data.get("variables"),
        config.get("jinja2_variables") if isinstance(config, Mapping) else None,
    )
    for rows in lists:
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, Mapping) and isinstance(row.get("value_selector"), list):
                yield str(row.get("variable")), [str(part) for part in row["value_selector"]]


def _look(value: Json, path: list[str]) -> Json:
    for step in path:
        if isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        elif isinstance(value, Mapping):
            value = value.get(step)
        else:
            return None
    return value
