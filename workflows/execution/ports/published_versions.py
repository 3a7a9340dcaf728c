"""The version of a workflow together with those of all workflows that it runs.

A person allows a call of a workflow as it is then. What runs below it is part of what they allow, so that the version is
another one as soon as any of these workflows is published anew.
"""

import hashlib
import json
from collections.abc import Collection
from functools import lru_cache
from typing import Final
from uuid import UUID

from django.db.models import Q

from workflows.engine.nodes.agent.tool_use.tool_references import iter_workflow_references
from workflows.engine.sub_workflows.children import MAX_DEPTH
from workflows.execution.memory_streams import parse_ids
from workflows.models import Snapshot, Workflow
from workflows.models.documents import from_json


_CACHED_SNAPSHOTS: Final = 1_000


def compute_version(workflow: Workflow) -> str:
    """Return the id of the published version, or a digest of it with the versions below if it runs other workflows."""
    own = str(workflow.published_version_id)
    if not (below := _find_below(workflow)):
        return own
    return hashlib.sha256(json.dumps([own, below], sort_keys=True).encode()).hexdigest()


def _find_below(workflow: Workflow) -> dict[str, str]:
    """Return the published versions of all workflows below, by the references that name them.

    It takes a statement a level, and one for each version that this process hasn't read yet.
    """
    versions: dict[str, str] = {}
    level = [workflow]
    for _depth in range(MAX_DEPTH):
        references = {name for row in level for name in _list_references(row)} - versions.keys()
        if not references:
            break
        rows = _find_rows(workflow.team_id, references)
        versions |= {name: _describe(rows.get(name)) for name in references}
        level = list(rows.values())
    return versions


def _find_rows(team_id: UUID, references: Collection[str]) -> dict[str, Workflow]:
    """Return the workflows of the team that the references name. A slug wins over an id, as in a call."""
    named = Q(slug__in=references) | Q(pk__in=parse_ids(references))
    rows = Workflow.objects.unscoped().filter(named, team_id=team_id)
    rows = rows.select_related("published_version").order_by("id")
    by_id = {str(row.pk): row for row in rows}
    by_reference = by_id | {row.slug: row for row in rows}
    return {name: by_reference[name] for name in references if name in by_reference}


def _describe(workflow: Workflow | None) -> str:
    if workflow is None or workflow.is_archived:
        return ""
    return str(workflow.published_version_id or "")


def _list_references(workflow: Workflow) -> tuple[str, ...]:
    version = workflow.published_version
    return _read_references(version.snapshot_id) if version is not None else ()


@lru_cache(maxsize=_CACHED_SNAPSHOTS)
def _read_references(snapshot_id: UUID) -> tuple[str, ...]:
    """Return the slugs and ids of the workflows that a document runs. A snapshot never changes."""
    document = from_json(Snapshot.objects.unscoped().get(pk=snapshot_id).document)
    return tuple(dict.fromkeys(iter_workflow_references(document)))
