"""What the panel shows of a node whose type this installation lacks: where it comes from and its settings, read-only."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from accounts.errors import NotFound
from workflows.engine.foreign_kinds.placeholders import find_product, is_missing_root, list_origin
from workflows.engine.foreign_kinds.replacement import ORIGIN_KEYS, Replacement, plan_replacement
from workflows.engine.language.document import Document, Json, NodeSpec
from workflows.execution.kinds import load_kinds
from workflows.models import Workflow
from workflows.services.debugging.pins import load_pins
from workflows.templatetags.problems import list_titles
from workflows.views.catalog.workflow_page import get_document, get_node
from workflows.views.editor.palette import PaletteGroup, list_palette_groups
from workflows.views.request_context import find_workflow, read_text


# What tells where a node comes from → the sentence about it, the most exact first.
ORIGIN_SENTENCES: Final[Mapping[str, str | Promise]] = {
    "plug-in": _("This node comes from a plug-in that isn't installed here."),
    "provider": _("This node comes from a provider of tools that isn't available here."),
    "product": _("This node is a feature of %(product)s that isn't offered here."),
    "": _(
        "The type of this node isn't known here. It may come from a plug-in or from a newer version."
    ),
}
ORIGIN_LABELS: Final[Mapping[str, str | Promise]] = {
    "plug-in": _("Plug-in"),
    "provider": _("Provider"),
    "tool": _("Tool"),
}
MAX_SETTINGS: Final = 200
MAX_LENGTH: Final = 2_000
# What other parts of the panel show, and what only the canvas of the other product used.
_HIDDEN: Final = ORIGIN_KEYS | {"desc", "error_strategy", "default_value", "retry_config"}


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting with the path of its name, such as ``rules › 1 › from``."""

    name: str
    text: str
    is_long: bool


def build_placeholder_context(workflow: Workflow, spec: NodeSpec) -> dict[str, Any]:
    """Build the context of the panel: the origin of the node, its settings, and the types that may replace it."""
    settings = _iter_settings(spec.data)
    return {
        "origin_sentence": _describe_origin(spec),
        "replacement_url": reverse("workflows:replacement", args=[workflow.pk, spec.id]),
        "origin": [(ORIGIN_LABELS[name], value) for name, value in list_origin(spec)],
        "settings": [*islice(settings, MAX_SETTINGS)],
        "replacements": list_replacements(workflow.mode, spec.kind),
    }


def _describe_origin(spec: NodeSpec) -> str:
    names = dict(list_origin(spec))
    product = find_product(spec.kind)
    origin = next(
        (name for name in ORIGIN_SENTENCES if name in names), "product" if product else ""
    )
    return str(ORIGIN_SENTENCES[origin]) % {"product": product}


@login_required
@require_safe
def replacement(request: HttpRequest, workflow_id: UUID, node_key: str) -> HttpResponse:
    """Show what a new node of the ``kind`` keeps of this node, and what is lost; its data is in the fragment."""
    principal, workflow = find_workflow(request, workflow_id, "edit")
    document = get_document(principal, workflow)
    spec, kinds = get_node(document, node_key), load_kinds()
    kind = kinds.get(read_text(request.GET, "kind"))
    if kind is None or spec.kind in kinds:
        raise NotFound
    is_pinned = spec.id in load_pins(workflow)
    plan = plan_replacement(document, kinds, spec, kind, may_rename=not is_pinned)
    titles = list_titles(document, kinds)
    context = {
        "plan": plan,
        "data": json.dumps(dict(plan.data)),
        "changes": json.dumps(
            [
                {"op": "set", "id": id_, "path": path, "value": value}
                for id_, path, value in plan.changes
            ]
        ),
        "renames": [
            (each.old, each.new, [titles[reader] for reader in each.readers])
            for each in plan.renames
        ],
        "kept": [*_list_kept(document, spec, plan, is_pinned=is_pinned)],
        "readers": [titles[reader] for reader in plan.readers],
        "kind_title": gettext(kind.title),
    }
    return render(request, "inspector/_replacement.html", context)


def _list_kept(
    document: Document, spec: NodeSpec, plan: Replacement, *, is_pinned: bool
) -> Iterator[str]:
    edges = sum(spec.id in (edge.source, edge.target) for edge in document.edges)
    yield ngettext(
        "title, position, ID and %(edges)s edge", "title, position, ID and %(edges)s edges", edges
    ) % {"edges": edges}
    if is_pinned:
        yield gettext("the pinned output")
    if plan.kept_labels:
        yield gettext("settings: %(names)s") % {"names": ", ".join(map(gettext, plan.kept_labels))}


def list_replacements(mode: str, missing_kind: str) -> list[PaletteGroup]:
    """Return the types that may stand where a missing one stands: those that start a run, or those that don't."""
    is_root = is_missing_root(missing_kind)
    groups = [
        PaletteGroup(
            group.name,
            group.title,
            tuple(item for item in group.items if item.has_input is not is_root),
        )
        for group in list_palette_groups(mode)
    ]
    return [group for group in groups if group.items]


def _iter_settings(data: Mapping[str, Json]) -> Iterator[Setting]:
    settings = {name: value for name, value in data.items() if name not in _HIDDEN}
    for path, value in _flatten(settings, ()):
        text = value if isinstance(value, str) else _describe_value(value)
        yield Setting(
            " › ".join(path), text[:MAX_LENGTH], is_long="\n" in text.strip() or len(text) > 80
        )


def _flatten(value: Json, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Json]]:
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _flatten(part, (*path, str(name)))
    elif isinstance(value, list | tuple) and not all(isinstance(item, str) for item in value):
        for number, part in enumerate(value, start=1):
            yield from _flatten(part, (*path, str(number)))
    elif isinstance(value, list | tuple):
        yield path, ", ".join(value)
    elif value not in (None, ""):
        yield path, value


def _describe_value(value: Json) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
