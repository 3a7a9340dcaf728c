"""A preview of the memories that a node would recall for a chosen person and conversation.

The caller's own permissions apply, so that the preview shows no memory that the memory pages hide. The audit log
records the access.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from accounts.errors import NotFound
from accounts.principals import Principal
from accounts.tenancy import tenant
from workflows import memory_app, selectors
from workflows.engine.errors import EngineFault, SubWorkflowUnavailable
from workflows.engine.language.document import Document, Json, NodeSpec
from workflows.engine.language.memory_usage import DEFAULT_SCOPE, FORMER_FIELD, PROFILE_FIELD
from workflows.engine.nodes.memory.disagreeing import list_shown
from workflows.engine.nodes.memory.history_context import (
    MAX_WORKING_ENTRIES,
    Record,
    choose_wording,
    merge_hits,
    render_markdown,
)
from workflows.engine.nodes.memory.memory_access import extend_hits, to_entry
from workflows.engine.nodes.memory.memory_retrieval import QUERY_FIELDS
from workflows.engine.nodes.memory.profile import exclude_profile
from workflows.engine.nodes.memory.quoting import (
    join_blocks,
    render_memories,
    render_profile,
    render_quotes,
)
from workflows.engine.text_rendering import as_text
from workflows.execution.kinds import load_kinds
from workflows.execution.memory_streams import build_stream_system, find_merged
from workflows.models import Workflow
from workflows.services.runs.runs import Subject, resolve_subject
from workflows.views.catalog.workflow_page import (
    get_document,
    get_node,
    list_recent_people,
    read_person,
)
from workflows.views.editor.debugging.template_preview import build_variable_pool, render_jinja
from workflows.views.request_context import find_workflow, read_text
from workflows.views.runs.memory.recalled import (
    find_reason,
    is_weak,
    list_score_parts,
)


MAX_CONVERSATIONS = 20
MAX_VALUE_LENGTH = 2_000
MAX_FORGOTTEN = 100  # shown
POSITION_LABELS = {
    "before_system": gettext_lazy("Inserted before the system message:"),
    "after_system": gettext_lazy("Inserted after the system message:"),
    "before_user": gettext_lazy("Inserted before the user message:"),
}


@login_required
@require_safe
def recall_preview(request: HttpRequest, workflow_id: UUID, node_key: str) -> HttpResponse:
    """Show the memories for a query, by default the value of the node's query variable in the newest run."""
    principal, workflow = find_workflow(request, workflow_id)
    if not memory_app.is_on():
        raise NotFound
    document = get_document(principal, workflow)
    spec = get_node(document, node_key)
    config = _read_config(spec, workflow)
    person, conversation = read_person(request.GET), read_text(request.GET, "conversation")
    subject = resolve_subject(principal, person or None)
    run = selectors.list_runs(principal, workflow=workflow).first()
    query_variable = ".".join(config["query_selector"])
    group = read_text(request.GET, "group")
    query = request.GET.get("query")
    if query is None and query_variable:
        query = as_text(
            build_variable_pool(principal, workflow, document, run).get_or_none(
                config["query_selector"]
            )
        )
    context: dict[str, Any] = {
        "person": person,
        "people": list_recent_people(principal, workflow),
        "conversation": conversation,
        "conversations": selectors.list_recent_conversations(
            principal, workflow, subject.id, excluded_key="", limit=MAX_CONVERSATIONS
        ),
        "searches": query_variable,
        "query": query or "",
        "by_group": config["scope"] == "workflow",
        "group": group,
        "forgets": config["forgets"],
        "words_only": memory_app.explain_words_only(workflow.team_id) if query_variable else "",
    }
    identity = _build_identity(principal, workflow, document)
    context |= _build_recall_context(
        principal, workflow, config, identity, subject, conversation, group, query
    )
    return render(request, "inspector/_recall_results.html", context)


def _read_config(spec: NodeSpec, workflow: Workflow) -> dict[str, Any]:
    """Read the recall settings from the node's data; invalid parts count as missing."""
    memory_settings = spec.data.get("enhanced_memory")
    config: Mapping[str, Json] = (
        memory_settings if isinstance(memory_settings, Mapping) else spec.data
    )
    names = [f"{name}_selector" for name in ("query", *QUERY_FIELDS)]
    values = (config.get(name) for name in names)
    selector: Sequence[Json] = next((value for value in values if isinstance(value, list)), [])
    top, filter_, recency = (config.get(name) for name in ("top_k", "filter", "recency_days"))
    min_score = config.get("min_score")
    kind = load_kinds().get(spec.kind)
    default = (kind.default_scope if kind else "") or DEFAULT_SCOPE
    preview = kind.memory_preview if kind else ""
    forgets = preview == "forget"
    return {
        "scope": str(config.get("scope") or default),
        "key": config.get("key") if preview in ("recall", "forget") else None,
        "query_selector": [str(part) for part in selector],
        "top_k": MAX_FORGOTTEN if forgets else top if isinstance(top, int) and top > 0 else 10,
        "retrieves": preview == "history",
        "forgets": forgets,
        "language": str(config.get("language") or ""),
        "recency_days": recency if isinstance(recency, int | float) and recency > 0 else None,
        "min_score": min_score if _is_share(min_score) else None,
        "filter": filter_ if isinstance(filter_, Mapping) and filter_ else None,
        "position": str(config.get("injection_position") or "after_system"),
        "format": config.get("format_template") or "",
        "injects": isinstance(memory_settings, Mapping),
        "include_recent": config.get("include_recent") is True,
        "include_profile": config.get(PROFILE_FIELD) is True,
        "finds_former": config.get(FORMER_FIELD) is not False,
        # As ``NodeContext.answers_chat`` has it.
        "without_lessons": workflow.is_chat and not (kind and kind.has_parts) and not forgets,
        "is_recall": preview == "recall",
    }


def _build_identity(
    principal: Principal, workflow: Workflow, document: Document
) -> dict[str, Json]:
    """Return the system variables of the workflow. Merged ones that the reader may not run are left out."""
    merged: list[Workflow] = []
    with suppress(SubWorkflowUnavailable), tenant([workflow.team_id]):
        merged = find_merged(principal, workflow, document)
    with tenant([workflow.team_id]):
        stream = build_stream_system(workflow, merged)
    return {"app_id": str(workflow.pk), "workflow_id": str(workflow.pk), **stream}


def _is_share(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _build_recall_context(
    principal: Principal,
    workflow: Workflow,
    config: Mapping[str, Any],
    workflow_identity: Mapping[str, Json],
    subject: Subject,
    conversation: str,
    group: str,
    query: str | None,
) -> dict[str, Any]:
    identity = {**workflow_identity, "user_id": subject.id}
    if conversation:
        identity["conversation_id"] = conversation
    if group:
        identity["group_id"] = group
    if config["forgets"] and (problem := _explain_missing_selection(config)):
        return {"error": problem}
    caller = memory_app.MemoryCaller(principal, workflow.team_id, identity=identity)
    try:
        if config["retrieves"]:
            records = _recall_records(caller, config, query)
            entries = [replace(record.hit, score=record.score) for record in records]
        else:
            records, entries = [], _recall_entries(caller, config, query)
        profile: Sequence[memory_app.MemoryEntry] = ()
        if config["include_profile"]:
            profile = list_shown(memory_app.recall_profile(caller).entries)
        entries = [*exclude_profile(list_shown(entries), profile)]
        return {
            "namespace": memory_app.resolve_namespace(config["scope"], identity),
            "entries": [
                _serialize_entry(entry, is_by_key=bool(config["key"]))
                for entry in (*profile, *entries)
            ],
            "injected": _render_records(config, records, query)
            or join_blocks(render_profile(profile), _render_injection(config, entries)),
            "position_label": _get_position_label(config),
        }
    except (memory_app.MemoryFault, EngineFault) as fault:
        return {"error": _explain_fault(config["scope"], conversation, fault)}


def _recall_entries(
    caller: "memory_app.MemoryCaller", config: Mapping[str, Any], query: str | None
) -> "list[memory_app.MemoryEntry]":
    key, limit = config["key"] or None, config["top_k"]
    scope, filter_ = config["scope"], config["filter"]
    if config["forgets"]:
        return memory_app.recall(caller, scope=scope, key=key, filter=filter_, top_k=limit)
    recall = partial(
        memory_app.recall_for_node,
        caller,
        scope=scope,
        filter=filter_,
        top_k=limit,
        without_lessons=config["without_lessons"],
    )
    entries = recall(
        key=key,
        query_text=query or None,
        recency_days=config["recency_days"],
        min_score=config["min_score"],
        finds_former=config["finds_former"],
    )
    if config["include_recent"] and query and key is None and len(entries) < limit:
        return [*extend_hits(entries, recall(), limit)]
    return entries


def _recall_records(
    caller: "memory_app.MemoryCaller", config: Mapping[str, Any], query: str | None
) -> "list[Record[memory_app.MemoryEntry]]":
    """Recall as the history node does: working memory first, then the entries that match the query."""
    recall = partial(
        memory_app.recall_for_node,
        caller,
        scope=config["scope"],
        without_lessons=config["without_lessons"],
    )
    working = recall(filter={"tier": "working"}, top_k=MAX_WORKING_ENTRIES)
    if not query:
        return merge_hits(working, [])
    long_term = recall(
        query_text=query,
        filter={"tier": "long_term"},
        top_k=config["top_k"],
        recency_days=config["recency_days"],
        min_score=config["min_score"],
        finds_former=config["finds_former"],
    )
    return merge_hits(working, long_term)


def _render_records(
    config: Mapping[str, Any], records: "Sequence[Record[Any]]", query: str | None
) -> str:
    """Render the text of a node that joins the records into one text; empty for other nodes."""
    if not config["retrieves"]:
        return ""
    texts = (as_text(record.hit.value) for record in records)
    return render_markdown(records, choose_wording(config["language"], query or "", *texts))


def _explain_missing_selection(config: Mapping[str, Any]) -> str:
    """Return the reason why the preview can't list the memories to forget yet, or an empty string."""
    if "{{#" in str(config["key"] or ""):
        return _("The key is only known during the run, so there is no preview.")
    if not config["key"] and not config["filter"]:
        return _("Set a key or a metadata filter to select what to forget.")
    return ""


def _get_position_label(config: Mapping[str, Any]) -> str:
    if config["retrieves"] or config["is_recall"]:
        return _("Text for the prompt:")
    return str(POSITION_LABELS.get(config["position"], POSITION_LABELS["after_system"]))


def _explain_fault(scope: str, conversation: str, fault: Exception) -> str:
    if scope == "conversation" and not conversation:
        return _("Select a conversation. This node uses conversation scope.")
    if scope == "workflow" and isinstance(fault, memory_app.errors.InvalidInput):
        return _("Enter a group. This node uses group memory.")
    if scope == "run":
        return _("Run scope only exists during a run, so there is no preview.")
    return str(fault)


def _serialize_entry(entry: "memory_app.MemoryEntry", *, is_by_key: bool) -> dict[str, Any]:
    parts: Mapping[str, Json] = {"parts": entry.explain, "score": entry.score}
    return {
        "key": entry.key,
        "value": as_text(entry.value)[:MAX_VALUE_LENGTH],
        "score": entry.score,
        "bar": f"{max(0.0, min(1.0, entry.score or 0.0)):.3f}",
        "percent": round((entry.score or 0.0) * 100),
        "reason": find_reason(parts, is_recent=not is_by_key and is_weak(entry.score)),
        "valid_until": entry.valid_until,
        "parts": list_score_parts(entry.explain),
    }


def _render_injection(
    config: Mapping[str, Any], recalled_entries: "Sequence[memory_app.MemoryEntry]"
) -> str:
    """Return the message that a model would get, or the text for a prompt; empty if there are no entries."""
    if config["is_recall"]:
        return render_quotes(recalled_entries)
    if not recalled_entries or not config["injects"]:
        return ""
    if config["format"]:
        entries = [to_entry(entry) for entry in recalled_entries]
        inputs = {"entries": entries, "memories": entries, "results": entries}
        return render_jinja(config["format"], inputs, prints_json=True)
    return render_memories(recalled_entries)
