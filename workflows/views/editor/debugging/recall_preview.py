"""What a node would recall now, for a chosen person and conversation: the real recall, as a look.

The asking person's own permissions decide, not a run's reach: nobody sees through a node what they
couldn't see on the memory pages. Without a run there is no provenance; the audit trail has the look.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from workflows.engine.errors import WorkflowFault
from workflows.engine.language.document import Json, NodeSpec
from workflows.engine.language.memory_usage import DEFAULT_SCOPE
from workflows.engine.nodes.memory.history_context import (
    WORKING_ENTRIES,
    Record,
    choose_wording,
    merge,
    render_markdown,
)
from workflows.engine.nodes.memory.memory_access import to_entry
from workflows.engine.nodes.memory.memory_retrieval import QUERY_FIELDS
from workflows.engine.nodes.memory.quoting import list_memories
from workflows.engine.text_rendering import as_text
from workflows.models import Workflow
from workflows.services.kinds import installed_kinds
from workflows.services.runs.runs import Subject, resolve_subject
from workflows.views.catalog.workflow_page import document_for, people_of, person_of
from workflows.views.editor.debugging.template_preview import node_of, pool_of, render_jinja
from workflows.views.request_context import typed, workflow_for


CONVERSATIONS_SHOWN = 20
LONGEST_VALUE = 2_000
MOST_FORGOTTEN = 100  # that are shown


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
    subject = resolve_subject(principal, person or None)
    run = selectors.runs_for(principal, workflow=workflow).first()
    searches = ".".join(asked["query_selector"])
    group = typed(request.GET, "group")
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
        "by_group": asked["scope"] == "workflow",
        "group": group,
        "forgets": asked["forgets"],
    }
    context |= _recalled(principal, workflow, asked, subject, key, group, query)
    return render(request, "inspector/_recall_results.html", context)


def _asked(spec: NodeSpec) -> dict[str, Any]:
    """What the node's configuration asks memory for; of broken parts, as if they weren't there."""
    held = spec.data.get("enhanced_memory")
    config: Mapping[str, Json] = held if isinstance(held, Mapping) else spec.data
    names = [f"{name}_selector" for name in ("query", *QUERY_FIELDS)]
    written = (config.get(name) for name in names)
    selector: Sequence[Json] = next((one for one in written if isinstance(one, list)), [])
    top, filter_, recency = (config.get(name) for name in ("top_k", "filter", "recency_days"))
    kind = installed_kinds().get(spec.kind)
    default = (kind.default_scope if kind else "") or DEFAULT_SCOPE
    preview = kind.memory_preview if kind else ""
    forgets = preview == "forget"
    return {
        "scope": str(config.get("scope") or default),
        "key": config.get("key") if preview in ("recall", "forget") else None,
        "query_selector": [str(part) for part in selector],
        "top_k": MOST_FORGOTTEN if forgets else top if isinstance(top, int) and top > 0 else 10,
        "retrieves": preview == "history",
        "forgets": forgets,
        "language": str(config.get("language") or ""),
        "recency_days": recency if isinstance(recency, int | float) and recency > 0 else None,
        "filter": filter_ if isinstance(filter_, Mapping) and filter_ else None,
        "position": str(config.get("injection_position") or "after_system"),
        "format": config.get("format_template") or "",
        "injects": isinstance(held, Mapping),
    }


def _conversations(
    principal: Principal, workflow: Workflow, subject: Subject
) -> list[tuple[str, str]]:
    return selectors.list_recent_conversations(
        principal, workflow, subject.id, excluded_key="", limit=CONVERSATIONS_SHOWN
    )


def _recalled(
    principal: Principal,
    workflow: Workflow,
    asked: Mapping[str, Any],
    subject: Subject,
    conversation: str,
    group: str,
    query: str | None,
) -> dict[str, Any]:
    identity = {"user_id": subject.id, "app_id": str(workflow.pk), "workflow_id": str(workflow.pk)}
    if conversation:
        identity["conversation_id"] = conversation
    if group:
        identity["group_id"] = group
    if asked["forgets"] and (which := _undecided(asked)):
        return {"error": which}
    caller = memory_app.MemoryCaller(principal, workflow.team_id, identity=identity)
    try:
        if asked["retrieves"]:
            records = _retrieved(caller, asked, query)
            found = [replace(one.hit, score=one.score) for one in records]
        else:
            records, found = [], _asked_for(caller, asked, query)
        return {
            "namespace": memory_app.resolve_namespace(asked["scope"], identity),
            "entries": [_shown(entry) for entry in found],
            "injected": _written(asked, records, query) or _injected(asked, found),
            "place": _place(asked),
        }
    except (memory_app.MemoryFault, WorkflowFault) as fault:
        return {"error": _why(asked["scope"], conversation, fault)}


def _asked_for(
    caller: "memory_app.MemoryCaller", asked: Mapping[str, Any], query: str | None
) -> "list[memory_app.MemoryEntry]":
    return memory_app.recall(
        caller,
        scope=asked["scope"],
        key=asked["key"] or None,
        query_text=query or None,
        filter=asked["filter"],
        top_k=asked["top_k"],
        recency_days=asked["recency_days"],
    )


def _retrieved(
    caller: "memory_app.MemoryCaller", asked: Mapping[str, Any], query: str | None
) -> "list[Record[memory_app.MemoryEntry]]":
    """As the node does it: working memory first, the rest by what is asked."""
    scope = asked["scope"]
    working = memory_app.recall(
        caller, scope=scope, filter={"tier": "working"}, top_k=WORKING_ENTRIES
    )
    if not query:
        return merge(working, [])
    long_term = memory_app.recall(
        caller,
        scope=scope,
        query_text=query,
        filter={"tier": "long_term"},
        top_k=asked["top_k"],
        recency_days=asked["recency_days"],
    )
    return merge(working, long_term)


def _written(asked: Mapping[str, Any], records: "Sequence[Record[Any]]", query: str | None) -> str:
    """Of a node that makes one text of them."""
    if not asked["retrieves"]:
        return ""
    texts = (as_text(record.hit.value) for record in records)
    return render_markdown(records, choose_wording(asked["language"], query or "", *texts))


def _undecided(asked: Mapping[str, Any]) -> str:
    """Why it can't be said yet what a node would forget."""
    if "{{#" in str(asked["key"] or ""):
        return _("The key is only known during the run, so there is no preview.")
    if not asked["key"] and not asked["filter"]:
        return _("Set a key or a metadata filter to select what to forget.")
    return ""


def _place(asked: Mapping[str, Any]) -> str:
    if asked["retrieves"]:
        return _("Text for the prompt:")
    return _PLACES.get(asked["position"], _PLACES["after_system"])()


def _why(scope: str, conversation: str, fault: Exception) -> str:
    if scope == "conversation" and not conversation:
        return _("Select a conversation. This node uses conversation scope.")
    if scope == "workflow" and isinstance(fault, memory_app.errors.InvalidInput):
        return _("Enter a group. This node uses group memory.")
    if scope == "run":
        return _("Run scope only exists during a run, so there is no preview.")
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
    if not found or not asked["injects"]:
        return ""
    if asked["format"]:
        entries = [to_entry(one) for one in found]
        inputs = {"entries": entries, "memories": entries, "results": entries}
        return render_jinja(asked["format"], inputs)
    return list_memories(found)


_PLACES = {
    "before_system": lambda: _("Inserted before the system message:"),
    "after_system": lambda: _("Inserted after the system message:"),
    "before_user": lambda: _("Inserted before the user message:"),
}
