"""The memory stream of a run: the memory of its workflow, or one that it shares with a group or other workflows.

Each workflow has its own stream, and merged workflows have an additional stream, which none of them can read alone.
The names of streams are those of ``execution.memory_streams``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.errors import NotFound
from config.ids import is_identifier, normalize_identifier
from workflows import permissions
from workflows.engine.errors import SubWorkflowUnavailable
from workflows.engine.language.document import Document, Json
from workflows.errors import INVALID_IDENTIFIER, InvalidValue
from workflows.execution.memory_streams import build_stream_system, find_merged
from workflows.models import Workflow


MAX_MERGED: Final = 8
STREAM_VARIABLES: Final = ("group_id", "workflow_names", "stream_name")


@dataclass(frozen=True, slots=True)
class MemoryStream:
    """The requested stream: the id of a group, and the workflows that share a memory with the one that runs."""

    group: str | None = None
    merged: tuple[Workflow, ...] = ()


def build_stream_variables(
    principal: Principal, workflow: Workflow, document: Document, stream: MemoryStream | None
) -> dict[str, Json]:
    """Return the stream's system variables. Merging workflows requires the permission to run each of them.

    The request can merge workflows, and so can the agents of the document.
    """
    system: dict[str, Json] = {}
    if stream is not None and stream.group is not None:
        group_id = normalize_identifier(stream.group)
        if not is_identifier(group_id):
            raise InvalidValue(INVALID_IDENTIFIER, field="group_id")
        system["group_id"] = group_id
    merged = _check_merged(principal, workflow, stream.merged if stream else ())
    try:
        merged += [w for w in find_merged(principal, workflow, document) if w not in merged]
    except SubWorkflowUnavailable as missing:
        raise InvalidValue(missing.message, field="merge") from missing
    return {**system, **build_stream_system(workflow, merged)}


def _check_merged(
    principal: Principal, workflow: Workflow, merged: Sequence[Workflow]
) -> list[Workflow]:
    """Return the workflows that the request merges. Raises NotFound for one that the principal may not run."""
    ids = {each.pk for each in (workflow, *merged)}
    if len(merged) > MAX_MERGED or len(ids) <= len(merged):
        raise InvalidValue(_("Merge different workflows, and not too many."), field="merge")
    for other in merged:
        if other.team_id != workflow.team_id:
            raise NotFound(field="merge")
        permissions.check_run(principal, other)
    return [*merged]


def copy_stream_variables(system: Mapping[str, Json]) -> dict[str, Json]:
    """Return those of the system variables that select the memory stream, for a run that reuses this run's results."""
    return {name: system[name] for name in STREAM_VARIABLES if name in system}
