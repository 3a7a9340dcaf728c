"""A preview of a node's text, filled with the values of the last run."""

from collections.abc import Iterator, Mapping
from functools import cache
from uuid import UUID

from asgiref.sync import async_to_sync
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.errors import NotFound
from accounts.principals import Principal
from accounts.request_transaction import without_connection
from workflows import selectors
from workflows.engine.errors import EngineFault
from workflows.engine.kinds import Field, Widget
from workflows.engine.language.document import Document, Json, NodeSpec, VariableSpec
from workflows.engine.language.templating import list_references, render_text
from workflows.engine.language.variables import VariablePool
from workflows.execution.kinds import load_kinds
from workflows.models import Run, Workflow
from workflows.models.documents import is_secret
from workflows.sandbox.templates import TemplatePool
from workflows.templatetags.problems import list_titles
from workflows.views.catalog.workflow_page import get_document, get_node
from workflows.views.request_context import find_workflow, read_text
from workflows.views.value_text import format_value


MAX_LENGTH = 20_000

# The templates whose text enters a prompt, where lists and objects are printed as JSON.
_PROMPT_FIELDS = frozenset({"jinja2_text", "format_template"})


@login_required
@require_safe
def preview_template(request: HttpRequest, workflow_id: UUID, node_key: str) -> HttpResponse:
    """Render the text at ``path``, which is dotted and inside the node's data.

    ``value.<selector>`` is a test value, which takes the place of that of the last run.
    """
    principal, workflow = find_workflow(request, workflow_id)
    document = get_document(principal, workflow)
    spec = get_node(document, node_key)
    path = read_text(request.GET, "path").split(".")
    text = _get_value(spec.data, path)
    if not isinstance(text, str):
        raise NotFound
    run = selectors.list_runs(principal, workflow=workflow).first()
    context: dict[str, Json] = {"run": run}
    try:
        pool = build_variable_pool(principal, workflow, document, run)
        context["values"] = _apply_test_values(request.GET, text, pool)
        context["sources"] = {"sys": _("System"), **list_titles(document, load_kinds())}
        context["is_tested"] = any(name.startswith("value.") for name in request.GET)
        context["text"] = _render_template(spec, path, text, pool)[:MAX_LENGTH]
    except EngineFault as fault:
        context["error"] = fault.message
    return render(request, "inspector/_rendered_template.html", context)


def _apply_test_values(
    query: Mapping[str, str], text: str, pool: VariablePool
) -> list[dict[str, Json]]:
    """Put the test values of the query into the pool. Return the variables of the text with their values."""
    rows: list[dict[str, Json]] = []
    for selector in dict.fromkeys(list_references(text)):
        name = f"value.{'.'.join(selector)}"
        if name in query and len(selector) == 2:
            pool.set(selector, query[name])
        value = pool.get_or_none(selector)
        rows.append(
            {
                "name": name,
                "node": selector[0],
                "variable": ".".join(selector[1:]),
                "text": "" if value is None else format_value(value),
                "is_fixed": len(selector) > 2,
            }
        )
    return rows


def build_variable_pool(
    principal: Principal, workflow: Workflow, document: Document, run: Run | None
) -> VariablePool:
    """Return the variables that nodes could read at the end of the run, without secret ones."""
    pool = VariablePool(
        system=run.system if run else {},
        environment=_collect_public_values(document.environment),
        conversation={
            **_collect_public_values(document.conversation),
            **(run.conversation.variables if run and run.conversation else {}),
        },
    )
    for step in selectors.list_steps(principal, run) if run else ():
        if step.outputs:
            pool.set_outputs(step.node_key, step.outputs)
    return pool


def render_jinja(source: str, inputs: Mapping[str, Json], *, prints_json: bool = False) -> str:
    """Render a Jinja2 template in a sandboxed process."""
    with without_connection(is_required=False):
        return async_to_sync(_get_template_pool().render)(source, inputs, prints_json=prints_json)


@cache
def _get_template_pool() -> TemplatePool:
    return TemplatePool()


def _collect_public_values(variables: tuple[VariableSpec, ...]) -> dict[str, Json]:
    return {
        variable.name: variable.value
        for variable in variables
        if not is_secret(variable.value_type)
    }


def _render_template(spec: NodeSpec, path: list[str], text: str, pool: VariablePool) -> str:
    if not _is_jinja(spec, path):
        return render_text(text, pool)
    inputs = {name: pool.get_or_none(selector) for name, selector in _list_jinja_variables(spec)}
    return render_jinja(text, inputs, prints_json=path[-1] in _PROMPT_FIELDS)


def _is_jinja(spec: NodeSpec, path: list[str]) -> bool:
    if path[-1] == "jinja2_text":
        return True
    kind = load_kinds().get(spec.kind)
    field = _find_field(kind.fields if kind else (), path)
    return field is not None and field.widget is Widget.JINJA


def _find_field(fields: tuple[Field, ...], path: list[str]) -> Field | None:
    match = next((field for field in fields if field.name == path[0]), None)
    return _find_field(match.fields, path[1:]) if match and match.fields and path[1:] else match


def _list_jinja_variables(spec: NodeSpec) -> Iterator[tuple[str, list[str]]]:
    """Yield the variable names of the node's Jinja2 text with the selectors of their values."""
    config = spec.data.get("prompt_config")
    variable_lists = (
        spec.data.get("variables"),
        config.get("jinja2_variables") if isinstance(config, Mapping) else None,
    )
    for rows in variable_lists:
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, Mapping) and isinstance(row.get("value_selector"), list):
                yield str(row.get("variable")), [str(part) for part in row["value_selector"]]


def _get_value(value: Json, path: list[str]) -> Json:
    """Return the value at a path of names and indexes, or None if there is none."""
    for step in path:
        if isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        elif isinstance(value, Mapping):
            value = value.get(step)
        else:
            return None
    return value
