"""The names of the memory streams of runs, and the workflows that a run merges.

Each workflow has a stream of its own. Merged workflows have an additional one, which none of them reads alone: chat and
desktop have ``chat-desktop``. A name belongs to the same workflows for ever, whatever they are called later.
"""

import hashlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Q

from accounts.access import Principal
from workflows import permissions
from workflows.engine.errors import SubWorkflowUnavailable
from workflows.engine.language.document import Document, Json
from workflows.engine.sub_workflows.merging import list_merged
from workflows.models import StreamName, Workflow
from workflows.models.workflow import MAX_STREAM_NAME, iter_names


_LONGEST_STEM: Final = MAX_STREAM_NAME - 8  # leaves room for a number
_MAX_TRIES: Final = 5


def build_stream_system(workflow: Workflow, merged: Sequence[Workflow] = ()) -> dict[str, Json]:
    """Return the system variables that select the stream of the workflow, or of the merged ones."""
    if not merged:
        return {"stream_name": workflow.stream_name}
    workflows = [workflow, *merged]
    return {
        "stream_name": name_merged_stream(workflows),
        "workflow_names": [str(each.pk) for each in workflows],
    }


def find_merged(principal: Principal, workflow: Workflow, document: Document) -> list[Workflow]:
    """Return the workflows that the document's agents merge, in their order.

    Raises SubWorkflowUnavailable for one that does not exist or that the principal may not run: to the principal, both
    are the same.
    """
    references = [each for each in list_merged(document) if not _is_own(workflow, each)]
    if not references:
        return []
    named = Q(slug__in=references) | Q(pk__in=parse_ids(references))
    rows = Workflow.objects.visible_to(principal).filter(named, team_id=workflow.team_id)
    by_reference = {reference: row for row in rows for reference in (str(row.pk), row.slug)}
    merged = []
    for reference in references:
        row = by_reference.get(reference)
        if row is None or not permissions.may_run(principal, row):
            message = f"This workflow merges {reference!r}, and there is no such workflow that you may run"
            raise SubWorkflowUnavailable(message)
        if row not in merged:
            merged.append(row)
    return merged


def name_merged_stream(workflows: Sequence[Workflow]) -> str:
    """Return the name of the stream of these workflows in this order, which is chosen at its first use."""
    ids = [each.pk for each in workflows]
    team_id = workflows[0].team_id
    for _try in range(_MAX_TRIES):
        if name := find_stream_name(team_id, ids):
            return name
        try:
            with transaction.atomic():
                StreamName.objects.create(
                    team_id=team_id, workflow_ids=ids, name=_choose_name(team_id, workflows)
                )
        except IntegrityError:
            continue  # another transaction was faster; its name counts
    raise SubWorkflowUnavailable("The memory of the merged workflows got no name", retryable=True)


def find_stream_name(team_id: UUID, workflow_ids: Sequence[UUID]) -> str:
    """Return the name of the stream of a workflow, or of merged ones, or an empty text."""
    rows = StreamName.objects.unscoped().filter(team_id=team_id, workflow_ids=list(workflow_ids))
    return rows.values_list("name", flat=True).first() or ""


def _choose_name(team_id: UUID, workflows: Sequence[Workflow]) -> str:
    stem = "-".join(each.stream_name for each in workflows)
    if len(stem) > _LONGEST_STEM:
        digest = hashlib.sha256(stem.encode()).hexdigest()[:16]
        stem = f"{stem[: _LONGEST_STEM - len(digest) - 1]}-{digest}"
    rows = StreamName.objects.unscoped().filter(team_id=team_id, name__startswith=stem)
    used = set(rows.values_list("name", flat=True))
    return next(name for name in iter_names(stem) if name not in used)


def parse_ids(references: Iterable[str]) -> list[UUID]:
    """Return the ids among references, which may be slugs, too."""
    ids = []
    for reference in references:
        with suppress(ValueError):
            ids.append(UUID(reference))
    return ids


def _is_own(workflow: Workflow, reference: str) -> bool:
    return reference in (workflow.slug, str(workflow.pk))
