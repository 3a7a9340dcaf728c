"""Previews of the outputs of steps, as labels on their outgoing edges."""

import json
from collections.abc import Mapping
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from workflows import selectors
from workflows.engine.language.document import Json
from workflows.views.request_context import find_run


MAX_LENGTH = 40  # characters that fit on an edge
MAX_NODES = 200  # in one request
# The usual outputs of node kinds, the most informative first.
PREFERRED_OUTPUTS = ("text", "answer", "output", "result", "results", "body", "class_name")


@login_required
@require_safe
def list_previews(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Return the previews of the requested nodes, each from its last round."""
    principal, run = find_run(request, run_id)
    node_keys = request.GET.getlist("node")[:MAX_NODES]
    steps = selectors.list_steps(principal, run).filter(node_key__in=node_keys)
    previews = {
        step.node_key: build_preview(step.outputs)
        for step in steps.only("node_key", "outputs", "started_at")
    }
    return JsonResponse({"previews": previews})


def build_preview(outputs: Mapping[str, Json]) -> dict[str, str]:
    """Return the name and the beginning of the most informative output; both empty without outputs."""
    names = [name for name in outputs if outputs[name] not in (None, "", [], {})]
    if not names:
        return {"name": "", "text": ""}
    name = next((name for name in PREFERRED_OUTPUTS if name in names), names[0])
    return {"name": name, "text": _shorten(outputs[name])}


def _choose_text(item: Mapping[str, Json]) -> str:
    """Return the most informative text of a list item, such as a memory's value."""
    texts = (item.get(name) for name in ("value", "title", "name", *PREFERRED_OUTPUTS))
    return next((text for text in texts if isinstance(text, str) and text.strip()), "")


def _shorten(value: Json) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value = _choose_text(value[0]) or value
    elif isinstance(value, list) and value and not isinstance(value[0], list | dict):
        value = ", ".join(str(item) for item in value[:MAX_LENGTH])
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    words = " ".join(text[: MAX_LENGTH * 4].split())
    return words if len(words) <= MAX_LENGTH else f"{words[:MAX_LENGTH].rstrip()}…"
