"""What a node would recall now, for a chosen person and conversation: the real recall, as a look.

The asking person's own permissions decide, not a run's reach: nobody sees through a node what they
couldn't see on the memory pages. Without a run there is no provenance; the audit trail has the look.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.errors import NotFound
from accounts.principals import Principal
from workflows import memory_app, selectors
from workflows.engine.document import Json, NodeSpec
from workflows.engine.errors import WorkflowFault
from workflows.engine.prompting import MEMORY_HEADING
from workflows.engine.rendering import as_text
from workflows.models import Workflow
from workflows.services.runs import Subject, subject_of
from workflows.views.editor.template_preview import node_of, pool_of, render_jinja
from workflows.views.finding import typed, workflow_for
from workflows.views.workflow_page import document_for, people_of, person_of


CONVERSATIONS_SHOWN = 20
LONGEST_VALUE = 2_000


@login_required
@require_safe
def recall_preview(request: HttpRequest, workflow_id: UUID, node_key: str) -> HttpResponse:
    principal, workflow = workflow_for(request, workflow_id)
    if not memory_app.is_on():
        raise NotFound
    document = document_for(principal, workflow)
    spec = node_of(document, node_key)
    asked = _asked(spec)
    person, key = person_of(request.GET), typed(request.GET, "conversation")
    subject = subject_of(principal, person or None)
    run = selectors.runs_for(principal, workflow=workflow).first()
    searches = ".".join(asked["query_selector"])
    query = request.GET.get("query")
    if query is None and searches:
        query = as_text(
            pool_of(principal, workflow, document, run).get_or_none(asked["query_selector"])
        )
    context: dict[str, Any] = {
        "person": person,
        "people": people_of(principal, workflow),
        "conversation": key,
        "conversations": _conversations(principal, workflow, subject),
        "searches": searches,
        "query": query or "",
    }
    context |= _recalled(principal, workflow, spec, asked, subject, key, query)
    return render(request, "inspector/_recalled.html", context)


def _asked(spec: NodeSpec) -> dict[str, Any]:
    """What the node's configuration asks memory for; of broken parts, as if they weren't there."""
    held = spec.data.get("enhanced_memory")
    config: Mapping[str, Json] = held if isinstance(held, Mapping) else spec.data
    selector, top = config.get("query_selector"), config.get("top_k")
    filter_ = config.get("filter")
    return {
        "scope": str(config.get("scope") or "conversation"),
        "key": config.get("key") if spec.kind.startswith("memory-recall") else None,
        "query_selector": [str(part) for part in selector] if isinstance(selector, list) else [],
        "top_k": top if isinstance(top, int) and top > 0 else 10,
        "filter": filter_ if isinstance(filter_, Mapping) and filter_ else None,
        "position": str(config.get("injection_position") or "after_system"),
        "format": config.get("format_template") or "",
        "injects": isinstance(held, Mapping),
    }


def _conversations(
    principal: Principal, workflow: Workflow, subject: Subject
) -> list[tuple[str, str]]:
    return selectors.conversations_begun(
        principal, workflow, subject.id, but="", limit=CONVERSATIONS_SHOWN
    )


def _recalled(
    principal: Principal,
    workflow: Workflow,
    spec: NodeSpec,
    asked: Mapping[str, Any],
    subject: Subject,
    conversation: str,
    query: str | None,
) -> dict[str, Any]:
    identity = {"user_id": subject.id, "app_id": str(workflow.pk), "workflow_id": str(workflow.pk)}
    if conversation:
        identity["conversation_id"] = conversation
    caller = memory_app.MemoryCaller(principal, workflow.team_id, identity=identity)
    try:
        found = memory_app.recall(
            caller,
            scope=asked["scope"],
            key=asked["key"] or None,
            query_text=query or None,
            filter=asked["filter"],
            top_k=asked["top_k"],
        )
        return {
            "namespace": memory_app.resolve_namespace(asked["scope"], identity),
            "entries": [_shown(entry) for entry in found],
            "injected": _injected(asked, found) if asked["injects"] else "",
            "place": _PLACES.get(asked["position"], _PLACES["after_system"])(),
        }
    except (memory_app.MemoryFault, WorkflowFault) as fault:
        return {"error": _why(asked["scope"], conversation, fault)}


def _why(scope: str, conversation: str, fault: Exception) -> str:
    if scope == "conversation" and not conversation:
        return _("Choose a conversation: this node remembers by conversation.")
    if scope == "run":
        return _("A run's own notes last as long as the run; there is nothing to look at now.")
    return str(fault)


def _shown(entry: "memory_app.MemoryEntry") -> dict[str, Any]:
    return {
        "key": entry.key,
        "value": as_text(entry.value)[:LONGEST_VALUE],
        "score": entry.score,
        "bar": f"{max(0.0, min(1.0, entry.score or 0.0)):.3f}",
        "parts": sorted(entry.explain.items()),
    }


def _injected(asked: Mapping[str, Any], found: "Sequence[memory_app.MemoryEntry]") -> str:
    """The message a model would be sent; nothing recalled, nothing injected."""
    if not found:
        return ""
    if asked["format"]:
        entries = [
            {
                "id": one.id,
                "namespace": one.namespace,
                "key": one.key,
                "value": one.value,
                "metadata": dict(one.metadata or {}),
                "score": one.score,
            }
            for one in found
        ]
        inputs = {"entries": entries, "memories": entries, "results": entries}
        return render_jinja(asked["format"], inputs)
    return "\n".join([MEMORY_HEADING, *(f"- {one.key}: {as_text(one.value)}" for one in found)])


_PLACES = {
    "before_system": lambda: _("Put before the system message:"),
    "after_system": lambda: _("Put after the system message:"),
    "before_user": lambda: _("Put before the question:"),
}
