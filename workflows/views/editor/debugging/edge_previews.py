"""The beginning of what steps gave, for the labels on the edges that lead on from them."""

import json
from collections.abc import Mapping
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from workflows import selectors
from workflows.engine.language.document import Json
from workflows.views.request_context import run_for


LONGEST = 40  # characters: what an edge has room for
MOST = 200  # nodes asked about at once
# The output that says most of those that kinds commonly have.
TELLING = ("text", "answer", "output", "result", "results", "body", "class_name")


@login_required
@require_safe
def previews(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Of the nodes named; of a node that ran several rounds, its last."""
    principal, run = run_for(request, run_id)
    asked = request.GET.getlist("node")[:MOST]
    steps = selectors.steps_of(principal, run).filter(node_key__in=asked)
    found = {
        step.node_key: preview_of(step.outputs)
        for step in steps.only("node_key", "outputs", "started_at")
    }
    return JsonResponse({"previews": found})


def preview_of(outputs: Mapping[str, Json]) -> dict[str, str]:
    """The name of the output that says most, and how its value begins; nothing where nothing came out."""
    names = [name for name in outputs if outputs[name] not in (None, "", [], {})]
    if not names:
        return {"name": "", "text": ""}
    name = next((name for name in TELLING if name in names), names[0])
    return {"name": name, "text": _begun(outputs[name])}


def _telling_of(item: Mapping[str, Json]) -> str:
    """Of a memory, or whatever else a list is made of, the text people would read first."""
    found = (item.get(name) for name in ("value", "title", "name", *TELLING))
    return next((text for text in found if isinstance(text, str) and text.strip()), "")


def _begun(value: Json) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value = _telling_of(value[0]) or value
    elif isinstance(value, list) and value and not isinstance(value[0], list | dict):
        value = ", ".join(str(item) for item in value[:LONGEST])
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    words = " ".join(text[: LONGEST * 4].split())
    return words if len(words) <= LONGEST else f"{words[:LONGEST].rstrip()}…"
